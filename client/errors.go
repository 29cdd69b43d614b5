package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Errors of this package. Test for them with errors.Is: they are wrapped by an error that says more.
var (
	// ErrInvalid is returned if the server refuses a request because something in it is wrong: status 400. It is also
	// returned for what cannot be sent, such as an empty ID.
	ErrInvalid = errors.New("invalid")

	// ErrUnauthorized is returned if the token is missing or wrong: status 401.
	ErrUnauthorized = errors.New("unauthorized")

	// ErrForbidden is returned if the server does not serve this client: status 403.
	ErrForbidden = errors.New("forbidden")

	// ErrNotFound is returned if there is no such timer: status 404. Of Cancel it says that nothing is armed.
	ErrNotFound = errors.New("not found")

	// ErrConflict is returned if a condition does not hold, or if there is a timer in the way: status 409 or 412.
	ErrConflict = errors.New("conflict")

	// ErrTooLarge is returned if the server refuses a request because it is too large: status 413. It is also returned for a
	// response that is larger than this package reads.
	ErrTooLarge = errors.New("too large")

	// ErrUnavailable is returned if the server cannot be reached or cannot serve the request now: a failed connection, no
	// response in time, or status 429, 502, 503 or 504.
	ErrUnavailable = errors.New("unavailable")

	// ErrUncertain is returned if a change may or may not have been made, because the response was lost. The package comment
	// says when. Read the timer with Get, and decide.
	ErrUncertain = errors.New("the change may or may not have been made")
)

// A Problem is an error that the server has sent, by RFC 9457.
type Problem struct {
	Status int    // of HTTP
	Title  string // what went wrong, in general
	Detail string // what went wrong this time, and what to do about it; may be empty
	Type   string // a URI that names the kind of problem; mostly empty

	// RetryAfter is the time that the server asks to wait before the request is repeated. It is 0 if it does not say.
	RetryAfter time.Duration
}

// Error returns the detail, or the title if there is none.
func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if text == "" {
		text = "no reason was given"
	}
	return fmt.Sprintf("%s (status %d)", text, p.Status)
}

// Is reports whether target is the error that the status stands for.
func (p *Problem) Is(target error) bool {
	switch p.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType:
		return target == ErrInvalid
	case http.StatusUnauthorized:
		return target == ErrUnauthorized
	case http.StatusForbidden, http.StatusMisdirectedRequest:
		return target == ErrForbidden
	case http.StatusNotFound:
		return target == ErrNotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return target == ErrConflict
	case http.StatusRequestEntityTooLarge:
		return target == ErrTooLarge
	}
	return p.temporary() && target == ErrUnavailable
}

// temporary reports whether the same request may succeed later.
func (p *Problem) temporary() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// uncertain reports whether a change may have been made although the server responds with the problem. A gateway sends 502,
// 503 or 504 for a request that it has passed on; 500 is sent for a write whose result is not known.
func (p *Problem) uncertain() bool { return p.Status >= 500 }

const (
	maxProblem = 64 << 10 // bytes of the body of a problem that are read
	maxText    = 2 << 10  // bytes of a title or a detail that are kept
)

// needsTLS is in the body that a server of net/http sends for a request without TLS to a port with TLS.
const needsTLS = "Client sent an HTTP request to an HTTPS server"

// problemOf returns the problem of a response. The token is removed from its texts, in case the server repeats it.
func problemOf(status int, header http.Header, body []byte, token string) *Problem {
	p := &Problem{Status: status, RetryAfter: retryAfter(header.Get("Retry-After"), time.Now())}
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case status/100 == 3:
		p.Title = "Redirect"
		p.Detail = "the server redirects to " + strconv.Quote(header.Get("Location")) + ", and redirects are not followed; use the address of the server itself"
	case media == "application/problem+json" || media == "application/json":
		var wire struct{ Type, Title, Detail string }
		if json.Unmarshal(body, &wire) == nil {
			p.Type, p.Title, p.Detail = wire.Type, wire.Title, wire.Detail
		}
	case status == http.StatusBadRequest && bytes.Contains(body, []byte(needsTLS)):
		p.Detail = "the server speaks https; use an address that begins with https://"
	case media == "text/plain":
		p.Detail = strings.TrimSpace(string(body))
	}
	if p.Title == "" {
		p.Title = http.StatusText(status)
	}
	for _, text := range []*string{&p.Type, &p.Title, &p.Detail} {
		*text = printable(*text, token)
	}
	return p
}

// printable returns a text of the server for a person: without the token, without control characters, and not too long.
func printable(text, token string) string {
	if token != "" {
		text = strings.ReplaceAll(text, token, "[token]")
	}
	if len(text) > maxText {
		text = text[:maxText] + "…"
	}
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// retryAfter parses the header Retry-After: a number of seconds or a date. It returns 0 for anything else.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// An unavailableError is an error of a connection. It is ErrUnavailable and whatever err is.
type unavailableError struct{ err error }

func (e unavailableError) Error() string        { return e.err.Error() }
func (e unavailableError) Unwrap() error        { return e.err }
func (e unavailableError) Is(target error) bool { return target == ErrUnavailable }
