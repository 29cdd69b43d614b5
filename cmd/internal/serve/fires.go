package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/foliot-go/foliot/cmd/internal/serve/stream"
	"github.com/foliot-go/foliot/durable"
)

// A FireEvent is one attempt and its outcome, as listeners of /v1/fires get it.
type FireEvent struct {
	ID      string         `json:"id"`
	Rev     uint64         `json:"rev"`
	Key     string         `json:"key" doc:"Names the occurrence. It is the same for each attempt."`
	Attempt int            `json:"attempt"`
	At      time.Time      `json:"at" doc:"When the attempt began."`
	LateUs  int64          `json:"late_us" doc:"How long after its time the attempt began, in microseconds."`
	Outcome string         `json:"outcome" doc:"done, retry, dead or dropped." enum:"done,retry,dead,dropped"`
	Status  int            `json:"status" doc:"Of the response of the webhook; 0 if there was none."`
	Error   string         `json:"error,omitzero" doc:"Why the attempt failed, in at most 1 KiB."`
	Kind    string         `json:"kind,omitzero"`
	Payload jsontext.Value `json:"payload,omitzero"`
}

// The outcomes of an attempt.
const (
	outcomeDone    = "done"
	outcomeRetry   = "retry"
	outcomeDead    = "dead"
	outcomeDropped = "dropped"
)

const (
	keepEvents     = 10_000
	keepEventBytes = 256 << 20 // 256 MiB
	maxListeners   = 12_000
	beatEvery      = 15 * time.Second

	// catchUpLimit is how long a listener that comes back may wait until this process has the events of
	// others.
	catchUpLimit = 5 * time.Second

	// listenerPatience is how long a listener may take to read what is sent to it.
	listenerPatience = 10 * time.Second
)

// maxEventError is how many bytes of an error an event has.
const maxEventError = 1 << 10

// event returns the event of an attempt. failed is why it failed, nil if it did not.
func (s *server) event(f *durable.Fire, e *envelope, outcome string, status int, failed error) *event {
	ev := FireEvent{
		ID: f.ID, Rev: f.Rev, Key: f.Key(), Attempt: f.Attempt, At: f.At.Add(f.Late).UTC(), LateUs: f.Late.Microseconds(),
		Outcome: outcome, Status: status, Kind: e.Kind, Payload: e.Payload,
	}
	if failed != nil {
		ev.Error = bounded(strings.ToValidUTF8(failed.Error(), "\uFFFD"), maxEventError)
	}
	data, err := json.Marshal(&ev)
	if err != nil { // a payload that was damaged in the store
		ev.Payload = nil
		data, _ = json.Marshal(&ev)
	}
	return &event{name: eventName(ev.Key, ev.Attempt), kind: e.Kind, data: data}
}

// bounded returns the first runes of a text, in at most n bytes.
func bounded(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// publish sends the event of an attempt to the listeners. It does not wait until the event is kept.
func (s *server) publish(f *durable.Fire, e *envelope, outcome string, status int, failed error) {
	s.metrics.fires.WithLabelValues(outcome).Inc()
	s.backend.Load().events.post(s.event(f, e, outcome, status, failed))
}

// listenFires sends server-sent events until the client leaves or the server ends.
func (s *server) listenFires(w http.ResponseWriter, r *http.Request) error {
	v, err := parseQuery(r, "kind")
	if err != nil {
		return err
	}
	if err := checkKind(v.Get("kind")); err != nil {
		return err
	}
	last := r.Header.Get("Last-Event-ID")
	after, err := strconv.ParseUint(last, 10, 64)
	if last != "" && err != nil {
		return badRequest("Last-Event-ID is not the number of an event; send the last id as it was received, or leave it out.")
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if last != "" {
		// Another process may have sent the last event before this one has it.
		ctx, cancel := context.WithTimeout(r.Context(), catchUpLimit)
		err := s.backend.Load().events.catchUp(ctx)
		cancel()
		if err != nil {
			return problem(http.StatusServiceUnavailable, "The events cannot be read now: %v. Try again soon.", err).with("Retry-After", "1")
		}
	}
	l, err := s.hub.Listen(v.Get("kind"), after, last != "")
	if err != nil {
		return problem(http.StatusServiceUnavailable, "No listener can be added: %v. Try again later.", err).with("Retry-After", "10")
	}
	defer l.Leave()

	patience := listenerPatience
	if s.cfg.patience != 0 {
		patience = s.cfg.patience
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // it is for the request, which has been read
	w.WriteHeader(http.StatusOK)
	send := func(parts ...[]byte) error {
		err := rc.SetWriteDeadline(time.Now().Add(patience))
		for _, p := range parts {
			if err == nil {
				_, err = w.Write(p)
			}
		}
		// A deadline that passes while nothing is written would end a stream of HTTP/2.
		return errors.Join(err, rc.Flush(), rc.SetWriteDeadline(time.Time{}))
	}
	var begin []byte
	if id, fresh := l.Position(); fresh {
		begin = positionFrame(id)
	}
	if send(begin) != nil {
		return nil
	}
	for {
		frames, missed, err := l.Next(r.Context())
		if err != nil {
			return nil // the client has left, or the server ends
		}
		switch {
		case missed != (stream.Gap{}):
			frames = slices.Insert(frames, 0, missedFrame(missed))
		case len(frames) == 0:
			frames = append(frames, beatFrame(l))
		}
		if send(frames...) != nil {
			return nil
		}
	}
}

// positionFrame returns a block without data. It is no event, but sets the ID of the last event: a client that
// comes back gets what came after it, also if it has got no event.
func positionFrame(id uint64) []byte { return fmt.Appendf(nil, "id: %d\n\n", id) }

// missedFrame returns the event that says that others are not kept any more.
func missedFrame(g stream.Gap) []byte {
	restart := ""
	if g.Restart {
		restart = `,"restart":true`
	}
	return fmt.Appendf(nil, "id: %d\nevent: missed\ndata: {\"from\":%d,\"to\":%d%s}\n\n", g.To, g.From, g.To, restart)
}

// beatFrame returns what is sent to a listener for which there is nothing: where it is, if events of other
// kinds have moved it on, or a comment.
func beatFrame(l *stream.Listener) []byte {
	if id, fresh := l.Position(); fresh {
		return positionFrame(id)
	}
	return []byte(":\n\n")
}

// newHub returns the hub of the server.
func newHub(beat time.Duration) *stream.Hub {
	if beat == 0 {
		beat = beatEvery
	}
	return stream.New(stream.Options{Keep: keepEvents, KeepBytes: keepEventBytes, Listeners: maxListeners, Beat: beat})
}
