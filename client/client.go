package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options are the options of New. The zero value is for a server that needs no token.
type Options struct {
	// Token is sent with each request. It is the text in the file that "foliot serve" has as --token-file.
	Token string

	// HTTPClient sends the requests, for example with your own certificates. nil: a new one, with its own connection pool.
	// New makes a copy that does not follow redirects. Its Timeout is used as that of Options, if that is 0.
	HTTPClient *http.Client

	// Timeout is the time that one attempt of a request may take, until the response is read. 0: 30 s. For Fires it is the
	// time until the response begins.
	Timeout time.Duration

	// Retry says how requests are repeated. The package comment says which.
	Retry Retry
}

// Retry says how often and when a request is repeated. The first repetition comes after about Min, and each further one after
// twice the time, up to Max. Half of each time is random, so that clients that fail together do not come back together.
type Retry struct {
	Attempts int           // in all, with the first one; 0: 4; 1: requests are not repeated
	Min      time.Duration // 0: 100 ms
	Max      time.Duration // 0: 5 s

	// MaxWait is the longest time that a server can ask to wait with Retry-After. If it asks for more, the request is not
	// repeated. 0: 30 s.
	MaxWait time.Duration
}

const (
	defaultTimeout  = 30 * time.Second
	defaultAttempts = 4
	defaultMin      = 100 * time.Millisecond
	defaultMax      = 5 * time.Second
	defaultMaxWait  = 30 * time.Second
)

// A Client sends requests to a server. It is safe for concurrent use. Its fields do not change after New.
type Client struct {
	base    string // without a slash at the end
	token   string
	http    http.Client
	timeout time.Duration
	retry   Retry
}

// New returns a client of the server at an address such as http://127.0.0.1:7357 or https://timers.example/prefix. It does not
// connect yet.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		// The error of Parse has the whole address, and with it a password.
		return nil, errors.New("client: the address of the server must be like http://127.0.0.1:7357 or https://timers.example")
	case u.User != nil:
		return nil, errors.New("client: the address of the server has a user name; use Options.Token instead")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("client: the address %s of the server has a query or a fragment; remove it", base)
	case !validToken(o.Token):
		return nil, errors.New("client: the token has a space or a character that is not printable ASCII; was it read from a file with more than one line?")
	case o.Timeout < 0 || o.Retry.Attempts < 0 || o.Retry.Min < 0 || o.Retry.Max < 0 || o.Retry.MaxWait < 0:
		return nil, errors.New("client: an option is negative")
	}
	c := &Client{base: strings.TrimRight(u.String(), "/"), token: o.Token, timeout: o.Timeout, retry: o.Retry}
	if o.HTTPClient != nil {
		c.http = *o.HTTPClient
		setDefault(&c.timeout, c.http.Timeout)
		c.http.Timeout = 0 // it would end Fires
	} else {
		c.http.Transport = newTransport()
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	setDefault(&c.timeout, defaultTimeout)
	setDefault(&c.retry.Attempts, defaultAttempts)
	setDefault(&c.retry.Min, defaultMin)
	setDefault(&c.retry.Max, defaultMax)
	setDefault(&c.retry.MaxWait, defaultMaxWait)
	return c, nil
}

// setDefault sets a value that is zero.
func setDefault[T comparable](value *T, to T) {
	var zero T
	if *value == zero {
		*value = to
	}
}

// validToken reports whether a token can be sent in a header.
func validToken(token string) bool {
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return false
		}
	}
	return true
}

// newTransport returns a connection pool for many concurrent requests to one host.
func newTransport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program has replaced it
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	t.MaxResponseHeaderBytes = 256 << 10
	return t
}
