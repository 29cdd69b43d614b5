package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// A Result is the result of a Put.
type Result struct {
	ID      string
	Rev     uint64    // the revision of the timer
	At      time.Time // when it is due; zero in the results of Batch, if the server does not say
	Created bool      // false: it has replaced a timer; always false in the results of Batch
}

// Put makes or replaces a timer. If it returns nil, the timer is kept and will fire.
func (c *Client) Put(ctx context.Context, t Timer, on ...If) (Result, error) {
	path, err := timerPath(t.ID)
	if err != nil {
		return Result{}, fmt.Errorf("client: put timer %q: %w", t.ID, err)
	}
	var put Timer
	resp, err := c.send(ctx, request{
		method: http.MethodPut,
		path:   path,
		header: conditions(on),
		body: func(elapsed time.Duration) ([]byte, error) {
			w := t.body(elapsed)
			w.ID = "" // it is in the path
			return encode(w)
		},
		max:     maxOne,
		changes: true,
		due:     t.due(time.Now()),
	}, &put)
	if err != nil {
		return Result{}, fmt.Errorf("client: put timer %q: %w", t.ID, err)
	}
	return Result{ID: t.ID, Rev: put.Rev, At: put.At, Created: resp.status == http.StatusCreated}, nil
}

// Batch makes or replaces timers, at most 1,000: all of them or none. The results are in the order of the timers.
func (c *Client) Batch(ctx context.Context, timers []Timer) ([]Result, error) {
	var put struct{ Timers []Timer }
	_, err := c.send(ctx, request{
		method: http.MethodPost,
		path:   "/v1/timers",
		body: func(elapsed time.Duration) ([]byte, error) {
			wire := make([]wireTimer, len(timers))
			for i := range timers {
				wire[i] = timers[i].body(elapsed)
			}
			return encode(map[string][]wireTimer{"timers": wire})
		},
		max:     maxOne,
		changes: true,
		once:    true,
	}, &put)
	if err == nil && len(put.Timers) != len(timers) {
		err = fmt.Errorf("%w: %d timers were sent, and the response has %d", ErrUncertain, len(timers), len(put.Timers))
	}
	if err != nil {
		return nil, fmt.Errorf("client: put %d timers: %w", len(timers), err)
	}
	results := make([]Result, len(timers))
	for i, t := range put.Timers {
		results[i] = Result{ID: t.ID, Rev: t.Rev, At: t.At}
	}
	return results, nil
}

// Get returns a timer, or ErrNotFound.
func (c *Client) Get(ctx context.Context, id string) (Timer, error) {
	var t Timer
	path, err := timerPath(id)
	if err == nil {
		_, err = c.send(ctx, request{method: http.MethodGet, path: path, max: maxOne}, &t)
	}
	if err != nil {
		return Timer{}, fmt.Errorf("client: get timer %q: %w", id, err)
	}
	return t, nil
}

// Cancel cancels a timer. If it returns nil, the timer does not fire from now on. ErrNotFound says that nothing was armed: the
// timer has fired, was cancelled before, or was never made.
func (c *Client) Cancel(ctx context.Context, id string, on ...If) error {
	path, err := timerPath(id)
	if err == nil {
		_, err = c.send(ctx, request{method: http.MethodDelete, path: path, header: conditions(on), max: maxOne, changes: true}, nil)
	}
	if err != nil {
		return fmt.Errorf("client: cancel timer %q: %w", id, err)
	}
	return nil
}

// Ready returns nil if the server is ready. ErrUnavailable says that it is not, and a *Problem what it waits for. The request is
// not repeated.
func (c *Client) Ready(ctx context.Context) error {
	if _, _, err := c.attempt(ctx, request{method: http.MethodGet, path: "/readyz", max: maxOne}, 0); err != nil {
		return fmt.Errorf("client: ready: %w", err)
	}
	return nil
}

// encode returns the JSON of a body.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: the payload is not JSON: %v", ErrInvalid, err)
	}
	return b.Bytes(), nil
}

func timerPath(id string) (string, error) { return pathOf("/v1/timers/", id) }

// pathOf returns the path of a timer. The server checks the ID. An ID that would make another path is refused here.
func pathOf(prefix, id string) (string, error) {
	switch {
	case id == "":
		return "", fmt.Errorf("%w: the ID is empty", ErrInvalid)
	case !utf8.ValidString(id):
		return "", fmt.Errorf("%w: the ID is not UTF-8", ErrInvalid)
	}
	segment := url.PathEscape(id)
	if id == "." || id == ".." { // these mean folders, unless they are escaped
		segment = strings.ReplaceAll(id, ".", "%2E")
	}
	return prefix + segment, nil
}
