package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// sendTimeout is how long a receiver may take for its response.
	sendTimeout = 30 * time.Second

	// slowAfter is how long a send takes whose host counts as slow.
	slowAfter = 5 * time.Second

	dialTimeout = 10 * time.Second

	// bodyMax is how much of a response is read, so that its connection can be used again.
	bodyMax = 16 << 10

	// retryAfterMax is the longest Retry-After that is honoured.
	retryAfterMax = 24 * time.Hour
)

// Options configure a Sender.
type Options struct {
	Policy    *Policy
	Sends     int           // that run at a time
	Room      int           // sends that may wait; one host has half of it at most
	Timeout   time.Duration // of a send; 0 means 30 s
	UserAgent string
	Resolver  *net.Resolver // nil means that of the system
}

// A Sender sends webhooks. Its methods may be called from any goroutine.
type Sender struct {
	opts      Options
	queue     *queue
	transport *http.Transport // without an http.Client, which would follow redirects and copy each header for that
	signer    atomic.Pointer[Signer]
}

// NewSender returns a Sender that signs nothing.
func NewSender(o Options) *Sender {
	if o.Timeout == 0 {
		o.Timeout = sendTimeout
	}
	q := newQueue(o.Sends, o.Room)
	return &Sender{opts: o, queue: q, transport: &http.Transport{
		Proxy:                  nil, // a proxy would connect to addresses that the policy does not see
		DialContext:            o.Policy.dialContext(o.Resolver),
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConns:           o.Sends,
		MaxIdleConnsPerHost:    q.share,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}}
}

// Stop ends all requests that wait for a place. Those that are being sent go on.
func (s *Sender) Stop() { s.queue.stop() }

// SetSigner changes the secrets.
func (s *Sender) SetSigner(signer *Signer) { s.signer.Store(signer) }

// Load returns the number of sends that run, and of those that wait for a place.
func (s *Sender) Load() (sending, waiting int) { return s.queue.load(s.opts.Sends) }

// A Request is one attempt to send a webhook.
type Request struct {
	URL     string
	Headers map[string]string
	Key     string // names the occurrence
	Body    []byte
}

// A Result is what became of an attempt.
type Result struct {
	Status     int           // of the response; 0: there was none
	RetryAfter time.Duration // what a response with status 429 or 503 asked for; 0: nothing
	Unsent     bool          // no connection was tried: too many wait for the host, or Stop was called, or the context has ended
	Err        error         // nil if Status is 2xx or 410; it has no part of the URL but the host
}

// Send waits for a place and sends a webhook.
func (s *Sender) Send(ctx context.Context, r Request) Result {
	u, err := url.Parse(r.URL)
	if err != nil {
		return Result{Err: errors.New("the address of the webhook is not valid")}
	}
	place, err := s.queue.enter(ctx, hostKey(u.Host))
	if err != nil {
		return Result{Unsent: true, Err: fmt.Errorf("the webhook was not sent to %s: %w", u.Host, err)}
	}
	begin := time.Now()
	res := s.post(ctx, u, r)
	place.leave(res.Status == 0 || time.Since(begin) > slowAfter)
	return res
}

func (s *Sender) post(ctx context.Context, u *url.URL, r Request) Result {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(r.Body)) // u is parsed already
	if err != nil {
		return Result{Err: errors.New("the webhook is not valid")}
	}
	u.Host = strings.TrimSuffix(u.Host, ":") // of an empty port
	req.URL, req.Host = u, u.Host
	req.Header = make(http.Header, len(r.Headers)+5)
	req.Header.Set("User-Agent", s.opts.UserAgent)
	for name, value := range r.Headers {
		if !reserved(name) {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set("Content-Type", "application/json")
	if err := s.signer.Load().sign(req.Header, r.Key, time.Now(), r.Body); err != nil {
		return Result{Err: fmt.Errorf("the webhook cannot be signed: %w", err)}
	}
	resp, err := s.transport.RoundTrip(req)
	if err != nil {
		return Result{Err: describe(ctx, u, s.opts.Timeout, err)}
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, bodyMax) // the status decides
	res := Result{Status: resp.StatusCode}
	switch {
	case res.Status >= 200 && res.Status <= 299, res.Status == http.StatusGone:
		return res
	case res.Status == http.StatusTooManyRequests, res.Status == http.StatusServiceUnavailable:
		res.RetryAfter = parseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	res.Err = fmt.Errorf("%s returned status %d", u.Host, res.Status)
	return res
}

// describe returns an error without the URL, which may have secrets in it.
func describe(ctx context.Context, u *url.URL, limit time.Duration, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s sent no response within %v", u.Host, limit)
	}
	return fmt.Errorf("%s cannot be reached: %w", u.Host, err)
}

// parseRetryAfter returns the pause that a Retry-After asks for, 0 if there is none.
func parseRetryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, retryAfterMax)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), retryAfterMax)
	}
	return 0
}
