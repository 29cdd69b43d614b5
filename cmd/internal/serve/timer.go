package serve

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/foliot-go/foliot/cmd/internal/serve/webhook"
	"github.com/foliot-go/foliot/durable"
)

// A Spec is the body of PUT /v1/timers/{id}: when a timer is due, and what happens then.
type Spec struct {
	At      string         `json:"at,omitzero" doc:"The time at which the timer is due, as in RFC 3339." format:"date-time" example:"2026-12-24T18:00:00Z"`
	After   string         `json:"after,omitzero" doc:"The timer is due this long from now: a duration of Go." example:"90s"`
	Every   string         `json:"every,omitzero" doc:"The timer is periodic: a duration of Go of at least 1ms. Without at and after the first occurrence comes after this time." example:"1h"`
	Cron    string         `json:"cron,omitzero" doc:"The timer is periodic by a calendar: minute, hour, day, month, weekday, and seconds before them if there are six fields. Without at and after it gives the first occurrence." example:"0 3 * * *"`
	TZ      string         `json:"tz,omitzero" doc:"The time zone of cron, a name of the IANA database. Without it, UTC." example:"Europe/Berlin"`
	Payload jsontext.Value `json:"payload,omitzero" doc:"Any JSON of at most 64 KiB. It is the body of the webhook and part of the event."`
	Webhook *Webhook       `json:"webhook,omitzero" doc:"Where a POST request is sent when the timer is due."`
	Kind    string         `json:"kind,omitzero" doc:"The timer has no webhook: listeners of /v1/fires get it. 1 to 63 letters, digits, underscores and hyphens." example:"reminder"`
}

// A Webhook is where a timer is sent.
type Webhook struct {
	URL     string            `json:"url" doc:"An http or https address." example:"https://example.com/hook"`
	Headers map[string]string `json:"headers,omitzero" doc:"Headers of the request. Those of Standard Webhooks, Host, Content-Type and those of the connection cannot be set."`
}

// A NamedSpec is a Spec in a batch.
type NamedSpec struct {
	ID string `json:"id" doc:"1 to 255 bytes of UTF-8 without control characters."`
	Spec
}

// A Timer is a timer as responses show it.
type Timer struct {
	ID      string         `json:"id"`
	Rev     uint64         `json:"rev" doc:"The revision. It is also the ETag, in quotes."`
	At      time.Time      `json:"at" doc:"The time at which the timer is due; of a periodic one, the next time."`
	Every   string         `json:"every,omitzero"`
	Cron    string         `json:"cron,omitzero"`
	TZ      string         `json:"tz,omitzero"`
	Payload jsontext.Value `json:"payload,omitzero"`
	Webhook *Webhook       `json:"webhook,omitzero"`
	Kind    string         `json:"kind,omitzero"`
}

// size returns the size of the timer in a response in bytes, about.
func (t *Timer) size() int {
	const fields = 128 // names, revision and time
	n := fields + len(t.ID) + len(t.Cron) + len(t.Payload)
	if t.Webhook != nil {
		n += len(t.Webhook.URL)
		for name, value := range t.Webhook.Headers {
			n += len(name) + len(value)
		}
	}
	return n
}

// The kinds of durable timers that serve makes. The kind that a client chooses is in the envelope, because a
// durable scheduler knows its kinds before it runs.
const (
	kindWebhook = "webhook"
	kindEvent   = "event"
)

const (
	maxPayload = 64 << 10
	maxKind    = 63

	// maxDepth is how deep a payload may be. JSON is encoded and decoded up to a depth of 10,000, and a payload
	// is within the JSON of a timer, and this in that of a list.
	maxDepth = 9_000
)

// timer returns the durable timer that a Spec describes, as of now. An error is a Problem.
func (s *Spec) timer(id string, now time.Time) (durable.Timer, error) {
	t := durable.Timer{ID: id}
	e := envelope{Kind: s.Kind, Payload: s.Payload}
	if len(s.Payload) > maxPayload {
		return t, problem(413, "payload has %d bytes; at most %d are allowed. Store it elsewhere and send its name.", len(s.Payload), maxPayload)
	}
	if depth(s.Payload) > maxDepth {
		return t, badRequest("payload has more than %d levels; send it as a string.", maxDepth)
	}
	if err := s.target(&e); err != nil {
		return t, err
	}
	if err := s.due(&t, &e, now); err != nil {
		return t, err
	}
	t.Kind = kindEvent
	if e.URL != "" {
		t.Kind = kindWebhook
	}
	payload, err := e.encode()
	if err != nil {
		return t, badRequest("The timer cannot be encoded: %v.", err)
	}
	if len(payload) > envelopeMax {
		return t, problem(413, "payload and webhook together are too large to be kept. Store the payload elsewhere and send its name.")
	}
	t.Payload = payload
	return t, nil
}

// depth returns how deep the arrays and objects of a JSON value are nested.
func depth(v jsontext.Value) (deepest int) {
	if len(v) < 2*maxDepth { // each level has two brackets
		return 0
	}
	now, quoted := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			now++
			deepest = max(deepest, now)
		case c == ']' || c == '}':
			now--
		}
	}
	return deepest
}

// target sets what happens when the timer is due.
func (s *Spec) target(e *envelope) error {
	switch {
	case s.Webhook != nil && s.Kind != "":
		return badRequest("There are webhook and kind; send one of them.")
	case s.Webhook != nil:
		if err := webhook.CheckURL(s.Webhook.URL); err != nil {
			return badRequest("webhook.url: %v.", err)
		}
		if err := webhook.CheckHeaders(s.Webhook.Headers); err != nil {
			return badRequest("webhook.headers: %v.", err)
		}
		e.URL, e.Headers = s.Webhook.URL, s.Webhook.Headers
	case s.Kind != "":
		return checkKind(s.Kind)
	default:
		return badRequest("There is neither webhook nor kind; send webhook to be called, or kind to be told on /v1/fires.")
	}
	return nil
}

func checkKind(kind string) error {
	ok := len(kind) <= maxKind
	for i := range len(kind) {
		c := kind[i]
		ok = ok && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-')
	}
	if !ok {
		return badRequest("kind must have 1 to %d letters, digits, underscores and hyphens of ASCII.", maxKind)
	}
	return nil
}

// due sets when the timer is due.
func (s *Spec) due(t *durable.Timer, e *envelope, now time.Time) error {
	switch {
	case s.At != "" && s.After != "":
		return badRequest("There are at and after; send one of them.")
	case s.Every != "" && s.Cron != "":
		return badRequest("There are every and cron; send one of them.")
	case s.TZ != "" && s.Cron == "":
		return badRequest("tz is the time zone of cron, and there is no cron; leave it out.")
	case s.At == "" && s.After == "" && s.Every == "" && s.Cron == "":
		return badRequest("There is no time; send one of at and after, or every or cron.")
	}
	if s.Every != "" {
		d, err := time.ParseDuration(s.Every)
		if err != nil || d < time.Millisecond {
			return badRequest("every must be a duration of at least 1ms, such as 30s or 1h. The units are h, m, s, ms, us and ns.")
		}
		t.Every = d
		t.At = now.Add(d)
	}
	if s.Cron != "" {
		c, err := parseCalendar(s.Cron, s.TZ)
		if err != nil {
			return badRequest("%v.", err)
		}
		e.Cron, e.TZ, t.ByNext = s.Cron, s.TZ, true
		if t.At = c.next(now); t.At.IsZero() {
			return badRequest("cron %q has no occurrence in the next five years.", s.Cron)
		}
	}
	if s.At != "" {
		at, err := time.Parse(time.RFC3339Nano, s.At)
		if err != nil {
			if _, err := time.Parse("2006-01-02T15:04:05", s.At); err == nil {
				return badRequest("at has no time zone; append Z for UTC, or an offset such as +02:00.")
			}
			return badRequest("at must be a time as in RFC 3339, such as 2026-12-24T18:00:00Z.")
		}
		t.At = at
	}
	if s.After != "" {
		d, err := time.ParseDuration(s.After)
		if err != nil || d < 0 {
			return badRequest("after must be a duration of 0 or more, such as 90s or 36h. The units are h, m, s, ms, us and ns.")
		}
		t.At = now.Add(d)
	}
	return nil
}

// shown returns the timer that a Spec has made, as show does, without a look into its envelope.
func (s *Spec) shown(t *durable.Timer) Timer {
	out := Timer{
		ID: t.ID, Rev: t.Rev, At: t.At.UTC(), Cron: s.Cron, TZ: s.TZ,
		Payload: s.Payload, Webhook: s.Webhook, Kind: s.Kind,
	}
	if t.Every != 0 {
		out.Every = t.Every.String()
	}
	return out
}

// show returns a durable timer as responses show it. A timer that serve has not made has its kind, and its
// payload if that is JSON.
func show(t *durable.Timer) Timer {
	if out, err := open(t); err == nil {
		return out
	}
	out := unopened(t)
	out.Kind = t.Kind
	if v := jsontext.Value(t.Payload); v.IsValid() {
		out.Payload = v
	}
	return out
}

// Open returns a durable timer as responses show it. It returns false if serve has not made it.
func Open(t *durable.Timer) (Timer, bool) {
	if t.Kind != kindEvent && t.Kind != kindWebhook {
		return Timer{}, false
	}
	out, err := open(t)
	return out, err == nil
}

// open returns the timer in an envelope.
func open(t *durable.Timer) (Timer, error) {
	e, err := decodeEnvelope(t.Payload)
	if err != nil {
		return Timer{}, err
	}
	out := unopened(t)
	out.Cron, out.TZ, out.Kind, out.Payload = e.Cron, e.TZ, e.Kind, e.Payload
	if e.URL != "" {
		out.Webhook = &Webhook{e.URL, e.Headers}
	}
	return out, nil
}

// unopened returns what is outside of the envelope.
func unopened(t *durable.Timer) Timer {
	out := Timer{ID: t.ID, Rev: t.Rev, At: t.At.UTC()}
	if t.Every != 0 {
		out.Every = t.Every.String()
	}
	return out
}
