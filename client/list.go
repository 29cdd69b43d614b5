package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A Query selects timers. The zero value selects all, in the order of their IDs.
type Query struct {
	Prefix   string    // of the ID
	Kind     string    // only timers of this kind
	From, To time.Time // only timers that are due at From or later, and before To; zero: no bound
	ByDue    bool      // in the order of their times
	Limit    int       // the largest number of timers; 0: all
}

// pageSize is the number of timers in a page. With payloads of full size, it stays well below maxPage.
const pageSize = 200

// List returns the timers that a query selects. It reads a page at a time: timers that are made, changed or cancelled
// meanwhile may be in it or not. After an error it ends.
func (c *Client) List(ctx context.Context, q Query) iter.Seq2[Timer, error] {
	values := make(url.Values)
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("prefix", q.Prefix)
	set("kind", q.Kind)
	if !q.From.IsZero() {
		values.Set("from", q.From.Format(time.RFC3339Nano))
	}
	if !q.To.IsZero() {
		values.Set("to", q.To.Format(time.RFC3339Nano))
	}
	if q.ByDue {
		values.Set("order", "due")
	}
	return pages[Timer](ctx, c, "/v1/timers", "timers", values, q.Limit)
}

// A DeadTimer is an occurrence of a timer that gave up: all its attempts have failed.
type DeadTimer struct {
	ID       string    `json:"id"`
	Rev      uint64    `json:"rev"`
	Key      string    `json:"key"` // names the occurrence, as in Fire
	Attempts int       `json:"attempts"`
	Error    string    `json:"error"` // of the last attempt
	At       time.Time `json:"at"`    // when it was due
}

// Dead returns the dead timers, at most limit of them, or all if limit is 0. After an error it ends.
func (c *Client) Dead(ctx context.Context, limit int) iter.Seq2[DeadTimer, error] {
	return pages[DeadTimer](ctx, c, "/v1/dead", "dead", make(url.Values), limit)
}

// Redrive arms a dead timer again, for now. ErrNotFound says that there is none, and ErrConflict that a timer with the ID is armed.
func (c *Client) Redrive(ctx context.Context, id string) error {
	path, err := pathOf("/v1/dead/", id)
	if err == nil {
		_, err = c.send(ctx, request{method: http.MethodPost, path: path + "/redrive", max: maxOne, changes: true, once: true}, nil)
	}
	if err != nil {
		return fmt.Errorf("client: redrive timer %q: %w", id, err)
	}
	return nil
}

// Discard removes a dead timer. ErrNotFound says that there is none.
func (c *Client) Discard(ctx context.Context, id string) error {
	path, err := pathOf("/v1/dead/", id)
	if err == nil {
		_, err = c.send(ctx, request{method: http.MethodDelete, path: path, max: maxOne, changes: true}, nil)
	}
	if err != nil {
		return fmt.Errorf("client: discard timer %q: %w", id, err)
	}
	return nil
}

// pages returns the values of all pages, at most limit of them. field is the name of the list in the JSON of a page.
func pages[T any](ctx context.Context, c *Client, path, field string, values url.Values, limit int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if limit < 0 {
			yield(none, fmt.Errorf("client: list %s: %w: the limit is negative", field, ErrInvalid))
			return
		}
		for cursor, n := "", 0; ; {
			size := pageSize
			if limit > 0 {
				size = min(size, limit-n)
			}
			query := url.Values{"limit": {strconv.Itoa(size)}}
			for name, value := range values {
				query[name] = value
			}
			if cursor != "" {
				query.Set("cursor", cursor)
			}
			page, next, err := onePage[T](ctx, c, path, field, query)
			if err == nil && next == cursor && cursor != "" {
				err = fmt.Errorf("the server has sent the same cursor twice")
			}
			if err != nil {
				yield(none, fmt.Errorf("client: list %s: %w", field, err))
				return
			}
			for _, v := range page {
				if !yield(v, nil) {
					return
				}
				if n++; n == limit {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}

func onePage[T any](ctx context.Context, c *Client, path, field string, query url.Values) (values []T, next string, err error) {
	var page map[string]json.RawMessage
	if _, err = c.send(ctx, request{method: http.MethodGet, path: path, query: query, max: maxPage}, &page); err != nil {
		return nil, "", err
	}
	for name, to := range map[string]any{field: &values, "next": &next} {
		if text, ok := page[name]; ok {
			if err = json.Unmarshal(text, to); err != nil {
				return nil, "", fmt.Errorf("the response cannot be read: %w", err)
			}
		} else if name == field {
			return nil, "", fmt.Errorf("the response has no %q; is the address that of foliot serve?", field)
		}
	}
	return values, next, nil
}
