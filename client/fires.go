package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// An Outcome is the outcome of an attempt.
type Outcome string

// The outcomes of attempts.
const (
	Done    Outcome = "done"    // the receiver has it
	Failed  Outcome = "retry"   // it has failed, and is tried again
	Dead    Outcome = "dead"    // it has failed, and was the last attempt
	Dropped Outcome = "dropped" // the receiver wants it no more
)

// A Fire is one attempt to deliver a timer.
type Fire struct {
	EventID string // of the event, for FireQuery.LastEventID
	ID      string
	Rev     uint64
	Key     string        // names the occurrence: it is the same for each attempt
	Kind    string        // empty: the timer has a webhook
	Attempt int           // 1 for the first one
	Late    time.Duration // how long after its time the attempt began
	Outcome Outcome
	Status  int             // of the response of the webhook; 0: none
	Payload json.RawMessage // nil: none
	Error   string          // why the attempt has failed; empty: it has not, or the server does not say
	At      time.Time       // when the attempt began; zero: the server does not say
}

// wireFire is a fire in the JSON of the API.
type wireFire struct {
	EventID string          `json:"event_id,omitempty"` // the API has it as the ID of the event
	ID      string          `json:"id"`
	Rev     uint64          `json:"rev"`
	Key     string          `json:"key"`
	Kind    string          `json:"kind,omitempty"`
	Attempt int             `json:"attempt"`
	LateUS  int64           `json:"late_us"`
	Outcome Outcome         `json:"outcome"`
	Status  int             `json:"status,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Error   string          `json:"error,omitempty"`
	At      time.Time       `json:"at,omitzero"`
}

// MarshalJSON returns the fire as the API has it, and its EventID as event_id.
func (f Fire) MarshalJSON() ([]byte, error) {
	return json.Marshal(wireFire{f.EventID, f.ID, f.Rev, f.Key, f.Kind, f.Attempt, f.Late.Microseconds(), f.Outcome, f.Status, f.Payload, f.Error, f.At})
}

// UnmarshalJSON sets the fire from the JSON of the API. EventID stays if there is no event_id.
func (f *Fire) UnmarshalJSON(text []byte) error {
	w := wireFire{EventID: f.EventID}
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*f = Fire{w.EventID, w.ID, w.Rev, w.Key, w.Kind, w.Attempt, time.Duration(w.LateUS) * time.Microsecond, w.Outcome, w.Status, w.Payload, w.Error, w.At}
	return nil
}

// A FireQuery says what Fires listens to.
type FireQuery struct {
	Kind string // only timers of this kind; empty: all, those with webhooks as well

	// LastEventID is the EventID of the last fire that was seen. What came after it is sent first, as far as the server has
	// kept it. Empty: only what comes from now on.
	LastEventID string

	// Silence is the time without a byte from the server after which the connection is taken as lost. 0: 1 min. It must be
	// longer than the time between two signs of life of the server.
	Silence time.Duration

	// OnMissed, if it is not nil, is called when the server says that it has not kept events that Fires has not delivered: the
	// program was too slow, or the connection was lost for too long, or the server was started again. The numbers are those of
	// the first and the last event, of all kinds; some of them may never have been given to an event.
	OnMissed func(from, to uint64)

	// OnConnect, if it is not nil, is called when the server has accepted the connection, the first one and each further one.
	OnConnect func()

	// OnReconnect, if it is not nil, is called when the connection was lost or could not be made, before it is made again.
	OnReconnect func(error)
}

const (
	defaultSilence = time.Minute
	maxLine        = 1 << 20 // bytes of a line of an event
	maxEvent       = 1 << 20 // bytes of the data of an event
	maxEventID     = 1 << 10
)

// Fires listens to attempts as they happen, until the context ends. If the connection is lost, Fires connects again and
// continues after the last event, or where the stream began if there was none: the server keeps the last 10,000.
// FireQuery.OnMissed receives what is lost. Only the first connection must succeed within Options.Retry.Attempts. A request
// that the server refuses ends it. The last pair has the error, which is that of the context if the context has ended.
func (c *Client) Fires(ctx context.Context, q FireQuery) iter.Seq2[Fire, error] {
	return func(yield func(Fire, error) bool) {
		setDefault(&q.Silence, defaultSilence)
		s := &stream{client: c, query: q, last: q.LastEventID}
		ended := false // the loop body wants no more
		deliver := func(f Fire) bool {
			ended = !yield(f, nil)
			return !ended
		}
		for failures := 0; ; {
			s.alive = false
			err := s.listen(ctx, deliver)
			if ended {
				return
			}
			if s.alive {
				failures = 0
			}
			failures++
			if ctx.Err() != nil || !repeatable(err) || !s.connected && failures == c.retry.Attempts {
				yield(Fire{}, fmt.Errorf("client: listen to fires: %w", err))
				return
			}
			if q.OnReconnect != nil {
				q.OnReconnect(err)
			}
			pause := max(c.pause(failures), s.retry)
			var p *Problem
			if errors.As(err, &p) {
				pause = max(pause, min(p.RetryAfter, c.retry.MaxWait))
			}
			if !sleep(ctx, pause) {
				yield(Fire{}, fmt.Errorf("client: listen to fires: %w", context.Cause(ctx)))
				return
			}
		}
	}
}

// A stream is the state of Fires that outlives a connection.
type stream struct {
	client    *Client
	query     FireQuery
	last      string        // the ID of the last event
	retry     time.Duration // the pause that the server asks for
	connected bool          // the server has accepted a connection once
	alive     bool          // this connection has brought an event or a comment
}

// listen makes a connection and delivers its events, until it ends or deliver returns false.
func (s *stream) listen(ctx context.Context, deliver func(Fire) bool) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := s.client.timeout
	silence := time.AfterFunc(limit, cancel)
	defer silence.Stop()
	failed := func(err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case within.Err() != nil:
			return unavailableError{fmt.Errorf("%s sent nothing for %v", s.client.base, limit)}
		case errors.Is(err, bufio.ErrTooLong):
			return fmt.Errorf("%w: a line of an event has more than %d bytes", ErrTooLarge, maxLine)
		}
		return s.client.connectionError(ctx, within, err)
	}

	r := request{method: http.MethodGet, path: "/v1/fires", header: map[string]string{"Accept": "text/event-stream"}}
	if s.query.Kind != "" {
		r.query = url.Values{"kind": {s.query.Kind}}
	}
	if s.last != "" {
		r.header["Last-Event-ID"] = s.last
	}
	req, err := s.client.newRequest(within, r, 0)
	if err != nil {
		return err
	}
	resp, err := s.client.http.Do(req)
	if err != nil {
		return failed(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem)) // the status says enough
		return problemOf(resp.StatusCode, resp.Header, body, s.client.token)
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != "text/event-stream" {
		return fmt.Errorf("the response is not a stream of events but %q; is the address that of foliot serve?", media)
	}
	s.connected = true
	if s.query.OnConnect != nil {
		silence.Stop() // the call may take its time
		s.query.OnConnect()
	}
	limit = s.query.Silence
	silence.Reset(limit)

	lines := newLines(resp.Body)
	e := event{id: s.last}
	for lines.Scan() {
		silence.Reset(limit)
		s.alive = true
		complete, err := e.add(lines.Bytes())
		if err != nil {
			return err
		}
		if e.retry > 0 {
			s.retry = min(e.retry, s.client.retry.MaxWait)
		}
		if !complete {
			continue
		}
		s.last = e.id  // also if there was no event: it is where the stream begins
		silence.Stop() // what follows may take its time
		more, err := s.dispatch(&e, deliver)
		if err != nil || !more {
			return err
		}
		silence.Reset(limit)
		e = event{id: e.id}
	}
	err = lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return failed(err)
}

// dispatch hands an event that is complete to the program. It returns false if that wants no more.
func (s *stream) dispatch(e *event, deliver func(Fire) bool) (more bool, err error) {
	switch e.name {
	case "fire":
		f := Fire{EventID: e.id}
		if err := json.Unmarshal(e.data, &f); err != nil {
			return false, fmt.Errorf("an event cannot be read: %w", err)
		}
		return deliver(f), nil
	case "missed":
		var gap struct{ From, To uint64 }
		if err := json.Unmarshal(e.data, &gap); err != nil {
			return false, fmt.Errorf("an event cannot be read: %w", err)
		}
		if s.query.OnMissed != nil {
			s.query.OnMissed(gap.From, gap.To)
		}
	}
	return true, nil
}

// newLines returns a scanner of lines that end with CR, LF or both, as those of server-sent events do. A mark of the byte order
// at the beginning is skipped.
func newLines(r io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	first, afterCR := true, false
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		skip := 0
		if afterCR && len(data) > 0 { // a CR ends its line at once: an LF may not come
			if data[0] == '\n' {
				skip = 1
			}
			afterCR = false
		}
		i := bytes.IndexAny(data[skip:], "\r\n")
		if i < 0 {
			return skip, nil, nil // a line without an end does not count
		}
		line := data[skip : skip+i]
		if first {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		first = false
		afterCR = data[skip+i] == '\r'
		return skip + i + 1, line, nil
	})
	return lines
}

// An event is a server-sent event that is being read.
type event struct {
	id    string // stays from one event to the next
	name  string
	data  []byte
	retry time.Duration
}

// add adds a line to an event. It returns true if the line completes it.
func (e *event) add(line []byte) (bool, error) {
	if len(line) == 0 {
		return true, nil
	}
	field, value, _ := strings.Cut(string(line), ":")
	value = strings.TrimPrefix(value, " ")
	switch field {
	case "event":
		e.name = value
	case "data":
		if len(e.data) > 0 {
			e.data = append(e.data, '\n')
		}
		if len(e.data)+len(value) > maxEvent {
			return false, fmt.Errorf("%w: an event has more than %d bytes", ErrTooLarge, maxEvent)
		}
		e.data = append(e.data, value...)
	case "id":
		if len(value) > maxEventID || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return false, fmt.Errorf("the ID of an event is longer than %d bytes or not printable ASCII", maxEventID)
		}
		e.id = value
	case "retry":
		if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
			e.retry = time.Duration(ms) * time.Millisecond
		}
	}
	return false, nil
}
