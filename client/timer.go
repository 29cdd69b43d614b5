package client

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// A Timer is a timer of the server. Webhook or Kind says what receives it, and At, After, Every or Cron when.
type Timer struct {
	// ID names the timer: 1 to 255 bytes of UTF-8 without control characters.
	ID string

	// At is the time at which the timer is due, by the clock of the server. Of a periodic timer it is the next time. Zero: it
	// follows from After, Every or Cron.
	At time.Time

	// After is the time from the call of Put until the timer is due. The server returns At instead.
	After time.Duration

	// Every makes the timer periodic. Without At and After, it is first due after Every.
	Every time.Duration

	// Cron makes the timer periodic by a cron expression, in the time zone TZ, such as Europe/Vienna.
	Cron string
	TZ   string

	// Payload is any JSON of at most 64 KiB, which is sent when the timer fires.
	Payload json.RawMessage

	// Webhook says where the server sends a request when the timer fires.
	Webhook *Webhook

	// Kind, instead of a webhook, sends the timer to those that listen to Fires with this kind.
	Kind string

	// Rev is the revision of the timer. The server sets it, and Put ignores it.
	Rev uint64
}

// A Webhook is the receiver of a timer.
type Webhook struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
}

// wireTimer is a timer in the JSON of the API.
type wireTimer struct {
	ID      string          `json:"id,omitempty"`
	Rev     uint64          `json:"rev,omitempty"`
	At      *time.Time      `json:"at,omitempty"`
	After   string          `json:"after,omitempty"`
	Every   string          `json:"every,omitempty"`
	Cron    string          `json:"cron,omitempty"`
	TZ      string          `json:"tz,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Webhook *Webhook        `json:"webhook,omitempty"`
	Kind    string          `json:"kind,omitempty"`
}

func (t *Timer) wire() wireTimer {
	w := wireTimer{ID: t.ID, Rev: t.Rev, Cron: t.Cron, TZ: t.TZ, Payload: t.Payload, Webhook: t.Webhook, Kind: t.Kind}
	if !t.At.IsZero() {
		w.At = &t.At
	}
	if t.After != 0 {
		w.After = t.After.String()
	}
	if t.Every != 0 {
		w.Every = t.Every.String()
	}
	return w
}

// MarshalJSON returns the timer as the API has it.
func (t Timer) MarshalJSON() ([]byte, error) { return json.Marshal(t.wire()) }

// UnmarshalJSON sets the timer from the JSON of the API.
func (t *Timer) UnmarshalJSON(text []byte) error {
	var w wireTimer
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*t = Timer{ID: w.ID, Rev: w.Rev, Cron: w.Cron, TZ: w.TZ, Payload: w.Payload, Webhook: w.Webhook, Kind: w.Kind}
	if w.At != nil {
		t.At = *w.At
	}
	for _, d := range []struct {
		name, text string
		to         *time.Duration
	}{{"after", w.After, &t.After}, {"every", w.Every, &t.Every}} {
		if d.text == "" {
			continue
		}
		var err error
		if *d.to, err = time.ParseDuration(d.text); err != nil {
			return fmt.Errorf("%s of timer %q: %w", d.name, t.ID, err)
		}
	}
	return nil
}

// body returns the timer as it is sent some time after the call of Put. So a repeated Put with After makes the timer due at the
// same time.
func (t *Timer) body(elapsed time.Duration) wireTimer {
	w := t.wire()
	w.Rev = 0
	if t.After > 0 && elapsed > 0 {
		w.After = max(t.After-elapsed, time.Microsecond).String()
	}
	return w
}

// due returns the earliest time at which a timer may fire if it is put now. It returns zero for a cron expression: when that is
// put again, no occurrence comes twice.
func (t *Timer) due(now time.Time) time.Time {
	switch {
	case !t.At.IsZero():
		return t.At
	case t.After != 0:
		return now.Add(t.After)
	case t.Every != 0:
		return now.Add(t.Every)
	}
	return time.Time{}
}

// An If is a condition of Put or Cancel.
type If struct{ header, value string }

// IfAbsent is a condition of Put: there is no timer with the ID.
func IfAbsent() If { return If{"If-None-Match", "*"} }

// IfRev is a condition: the timer has this revision.
func IfRev(rev uint64) If { return If{"If-Match", strconv.Quote(strconv.FormatUint(rev, 10))} }

// conditions returns the headers of conditions.
func conditions(on []If) map[string]string {
	header := make(map[string]string)
	for _, c := range on {
		header[c.header] = c.value
	}
	return header
}
