package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"
)

const (
	maxOne  = 4 << 20  // bytes of a response about one timer
	maxPage = 64 << 20 // bytes of a response with several timers
)

// A request is one call of the API, which may take several attempts.
type request struct {
	method string
	path   string // escaped
	query  url.Values
	header map[string]string

	// body returns the body of an attempt, which begins some time after the first one. nil: no body.
	body func(elapsed time.Duration) ([]byte, error)

	// max is the largest size of the response in bytes.
	max int64

	// changes says that the request changes something, so that its outcome may be uncertain.
	changes bool

	// once says that the request is not repeated if it may have changed something.
	once bool

	// due is the time from which such a request is not repeated, because the timer may have fired. Zero: no such time.
	due time.Time
}

// A response is a response with a status of 2xx.
type response struct {
	status int
	header http.Header
	body   []byte
}

// decode decodes a JSON body.
func (r *response) decode(v any) error {
	if media, _, _ := mime.ParseMediaType(r.header.Get("Content-Type")); media != "application/json" {
		return fmt.Errorf("the response is not JSON but %q; is the address that of foliot serve?", media)
	}
	if err := json.Unmarshal(r.body, v); err != nil {
		return fmt.Errorf("the response cannot be read: %w", err)
	}
	return nil
}

// send sends a request, repeats it as the package comment says, and decodes the response into v, unless that is nil.
func (c *Client) send(ctx context.Context, r request, v any) (*response, error) {
	resp, err := c.attempts(ctx, r)
	if err != nil || v == nil {
		return resp, err
	}
	if err := resp.decode(v); err != nil {
		if r.changes {
			return nil, fmt.Errorf("%w: %w", ErrUncertain, err)
		}
		return nil, err
	}
	return resp, nil
}

func (c *Client) attempts(ctx context.Context, r request) (*response, error) {
	begin := time.Now()
	var lost error            // of the first attempt that may have changed something
	var elapsed time.Duration // 0 in the first attempt
	for n := 1; ; n++ {
		resp, reached, err := c.attempt(ctx, r, elapsed)
		if err == nil {
			return resp, nil
		}
		var p *Problem
		isProblem := errors.As(err, &p)
		if lost != nil && isProblem && ambiguous(p) {
			// The problem must not be wrapped: it may be the success of the attempt that was lost.
			return nil, fmt.Errorf("%w: the response to the first attempt was lost (%v), and a repeated one was refused: %v", ErrUncertain, lost, p)
		}
		if lost == nil && r.changes && reached && (!isProblem || p.uncertain()) {
			lost = err
		}
		if lost != nil {
			err = fmt.Errorf("%w: %w", ErrUncertain, err)
		}
		if n == c.retry.Attempts || ctx.Err() != nil || !repeatable(err) || lost != nil && r.once {
			return nil, err
		}
		pause := c.pause(n)
		if isProblem && p.RetryAfter > pause {
			pause = p.RetryAfter
			if pause > c.retry.MaxWait {
				return nil, err
			}
		}
		next := time.Now().Add(pause)
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(next) {
			return nil, err
		}
		if lost != nil && !r.due.IsZero() && !next.Before(r.due) {
			return nil, fmt.Errorf("%w; it is not repeated, because the timer would be due by then and may have fired", err)
		}
		if !sleep(ctx, pause) {
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		elapsed = time.Since(begin)
	}
}

// ambiguous reports whether a problem of a repeated request may be the effect of the first one: a condition that no longer
// holds, or something that is no longer there.
func ambiguous(p *Problem) bool {
	return errors.Is(p, ErrConflict) || errors.Is(p, ErrNotFound)
}

// repeatable reports whether a request that has failed may succeed later.
func repeatable(err error) bool {
	var cert *tls.CertificateVerificationError
	return errors.Is(err, ErrUnavailable) && !errors.As(err, &cert) && !errors.Is(err, http.ErrSchemeMismatch)
}

// pause returns the time before the attempt after the n-th.
func (c *Client) pause(n int) time.Duration {
	d := c.retry.Min
	for ; n > 1 && d < c.retry.Max; n-- {
		d *= 2
	}
	d = min(d, c.retry.Max)
	return d/2 + rand.N(d/2+1)
}

// sleep waits, and returns false if the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt sends a request once. It also reports whether the request may have reached the server.
func (c *Client) attempt(ctx context.Context, r request, elapsed time.Duration) (resp *response, reached bool, err error) {
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	sent := &sending{}
	req, err := c.newRequest(httptrace.WithClientTrace(within, sent.trace()), r, elapsed)
	if err != nil {
		return nil, false, err
	}
	got, err := c.http.Do(req)
	if err != nil {
		return nil, sent.reached(), c.connectionError(ctx, within, err)
	}
	defer got.Body.Close()
	limit := r.max
	if got.StatusCode/100 != 2 {
		limit = maxProblem
	}
	body, err := io.ReadAll(io.LimitReader(got.Body, limit+1))
	switch {
	case got.StatusCode/100 != 2: // the status says enough
		return nil, true, problemOf(got.StatusCode, got.Header, body, c.token)
	case err != nil:
		return nil, true, c.connectionError(ctx, within, err)
	case int64(len(body)) > limit:
		return nil, true, fmt.Errorf("%w: the response has more than %d bytes", ErrTooLarge, limit)
	}
	return &response{got.StatusCode, got.Header, body}, true, nil
}

func (c *Client) newRequest(ctx context.Context, r request, elapsed time.Duration) (*http.Request, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		text, err := r.body(elapsed)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "foliot-client")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// connectionError returns the error of a connection. ctx is that of the caller, and within the one with the time limit.
func (c *Client) connectionError(ctx, within context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) { // it has the whole address, which the error of the call repeats
		err = wrapped.Err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case within.Err() != nil:
		return unavailableError{fmt.Errorf("%s sent no response within %v", c.base, c.timeout)}
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		err = fmt.Errorf("the server speaks http; use an address that begins with http:// (%w)", err)
	}
	return unavailableError{fmt.Errorf("%s: %w", c.base, err)}
}

// A sending knows whether a request may have reached the server. Its fields belong to the goroutine that sends the request:
// the transport calls both hooks on it. With a transport that calls none of them, the request may have reached the server.
type sending struct {
	asked     bool // for a connection
	connected bool
}

// trace returns the hooks. The transport asks for a connection again only if nothing was sent on the first one, or if the
// request changes nothing.
func (s *sending) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { s.asked, s.connected = true, false },
		GotConn: func(httptrace.GotConnInfo) { s.connected = true },
	}
}

func (s *sending) reached() bool { return !s.asked || s.connected }
