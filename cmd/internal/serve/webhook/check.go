package webhook

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

const (
	maxURL         = 4 << 10 // 4 KiB
	maxHeaders     = 64
	maxHeaderBytes = 8 << 10 // of all names and values: 8 KiB
)

// CheckURL returns an error if a webhook cannot have an address. It does not look the name up: that happens
// when the connection is made.
func CheckURL(raw string) error {
	if len(raw) > maxURL {
		return fmt.Errorf("it has %d bytes; at most %d are allowed", len(raw), maxURL)
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || raw == "":
		return errors.New("it is not a URL; write it as https://example.com/path")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("it must begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("it has no host; write it as https://example.com/path")
	case u.User != nil:
		return errors.New("it has a user name; put the header Authorization into headers instead")
	case !validPort(u.Port()):
		return errors.New("its port is not a number from 1 to 65535")
	case u.Fragment != "":
		return errors.New("it has a fragment, which is never sent; leave out # and the rest")
	}
	for _, c := range raw {
		if c <= ' ' || c == 0x7f {
			return errors.New("it has a space or a control character; percent-encode it")
		}
	}
	return nil
}

// validPort reports whether a port is empty or can be connected to.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// CheckHeaders returns an error if a webhook cannot have headers.
func CheckHeaders(headers map[string]string) error {
	if len(headers) > maxHeaders {
		return fmt.Errorf("there are %d; at most %d are allowed", len(headers), maxHeaders)
	}
	size := 0
	seen := make(map[string]bool, len(headers))
	for name, value := range headers {
		size += len(name) + len(value)
		lower := strings.ToLower(name)
		twice := seen[lower]
		seen[lower] = true
		switch {
		case twice:
			return fmt.Errorf("%q occurs twice, in upper and lower case; send it once", lower)
		case !httpguts.ValidHeaderFieldName(name):
			return fmt.Errorf("%q is not the name of a header", name)
		case !httpguts.ValidHeaderFieldValue(value):
			return fmt.Errorf("the value of %q has a control character", name)
		case reserved(name):
			return fmt.Errorf("%q is set by the server; leave it out", name)
		}
	}
	if size > maxHeaderBytes {
		return fmt.Errorf("they have %d bytes; at most %d are allowed", size, maxHeaderBytes)
	}
	return nil
}

// reserved reports whether only the server sets a header.
func reserved(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "host", "content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive",
		"upgrade", "te", "trailer", "expect":
		return true
	}
	return strings.HasPrefix(name, "webhook-") || strings.HasPrefix(name, "proxy-")
}
