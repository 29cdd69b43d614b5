package serve

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// isProblem fails a test if an error is not a problem of the client.
func isProblem(t *testing.T, err error) {
	t.Helper()
	p, ok := errors.AsType[*Problem](err)
	if err != nil && (!ok || p.Status != 400 && p.Status != 413 || p.Detail == "") {
		t.Fatalf("not a problem: %v", err)
	}
}

// A body is refused, or its timer can be stored and shows what was sent.
func FuzzSpec(f *testing.F) {
	for _, s := range []string{
		`{"after":"1h","kind":"k","payload":{"a":[1,2]}}`, `{"at":"2040-01-02T03:04:05Z","webhook":{"url":"http://x/","headers":{"A":"b"}}}`,
		`{"cron":"0 3 * * *","tz":"Europe/Berlin","kind":"k"}`, `{"every":"1s","kind":"k","payload":null}`, `{"cron":"@every 1s"}`, `{}`, `[`,
	} {
		f.Add([]byte(s))
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		var s Spec
		err := decode(body, &s)
		isProblem(t, err)
		if err != nil {
			return
		}
		timer, err := s.timer("id", now)
		isProblem(t, err)
		if err != nil {
			return
		}
		shown := show(&timer)
		if shown.Kind != s.Kind || shown.Cron != s.Cron || shown.TZ != s.TZ || !bytes.Equal(shown.Payload, s.Payload) {
			t.Fatalf("%+v is shown as %+v", s, shown)
		}
		if s.Webhook != nil && shown.Webhook.URL != s.Webhook.URL {
			t.Fatalf("%+v is shown as %+v", s.Webhook, shown.Webhook)
		}
	})
}

// A batch is refused as a whole, or has a timer for each entry.
func FuzzBatch(f *testing.F) {
	f.Add([]byte(`{"timers":[{"id":"a","after":"1h","kind":"k"},{"id":"b","every":"1h","kind":"k"}]}`))
	f.Add([]byte(`{"timers":[{}]}`))
	f.Add([]byte(`{"timers":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var b Batch
		err := decode(body, &b)
		isProblem(t, err)
		if err != nil {
			return
		}
		ts, err := b.durable(time.Unix(0, 0))
		isProblem(t, err)
		if err == nil && len(ts) != len(b.Timers) {
			t.Fatalf("%d timers of %d", len(ts), len(b.Timers))
		}
	})
}

// An envelope that can be decoded is the same after it was encoded.
func FuzzEnvelope(f *testing.F) {
	for _, e := range []envelope{
		{URL: "http://x", Headers: map[string]string{"A": "b"}, Payload: []byte(`{"a":1}`)},
		{Kind: "k", Cron: "0 3 * * *", TZ: "UTC"},
		{Kind: "k", Payload: bytes.Repeat([]byte("ab"), 40_000)},
	} {
		b, err := e.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{2, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		show(&durable.Timer{ID: "a", Kind: "k", Payload: b})
		e, err := decodeEnvelope(b)
		if err != nil {
			if !errors.Is(err, errEnvelope) {
				t.Fatal(err)
			}
			return
		}
		again, err := e.encode()
		if err != nil {
			return // a name in it is not UTF-8
		}
		if got, err := decodeEnvelope(again); err != nil || !reflect.DeepEqual(normal(got), normal(e)) {
			t.Fatalf("%+v becomes %+v: %v", e, got, err)
		}
	})
}

// normal returns an envelope with nil for no headers.
func normal(e *envelope) envelope {
	n := *e
	if len(n.Headers) == 0 {
		n.Headers = nil
	}
	return n
}

func FuzzConditions(f *testing.F) {
	f.Add(`"17"`, "")
	f.Add(`W/"17", "18"`, "")
	f.Add("*", "*")
	f.Add("", "*")
	f.Fuzz(func(t *testing.T, match, none string) {
		h := http.Header{}
		if match != "" {
			h.Set("If-Match", match)
		}
		if none != "" {
			h.Set("If-None-Match", none)
		}
		c, err := parseConditions(h)
		isProblem(t, err)
		if err == nil && (c.match != (match != "") || c.absent != (none != "") || c.match && c.absent) {
			t.Fatalf("%q, %q: %+v", match, none, c)
		}
	})
}

// A query is refused, or each cursor in it can be encoded again.
func FuzzListQuery(f *testing.F) {
	f.Add("prefix=a&kind=k&from=2030-01-01T00:00:00Z&order=due&limit=5")
	f.Add("cursor=" + (&cursor{ID: "ü", At: time.Unix(1, 2)}).encode() + "&order=due")
	f.Add("cursor=" + (&cursor{ID: "a"}).encode())
	f.Add("%")
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest("GET", "/v1/timers", nil)
		r.URL.RawQuery = query
		q, err := parseListQuery(r)
		isProblem(t, err)
		if err != nil || q.after == nil {
			return
		}
		again, err := decodeCursor(q.after.encode())
		if err != nil || again.ID != q.after.ID || !again.At.Equal(q.after.At) {
			t.Fatalf("%+v becomes %+v: %v", q.after, again, err)
		}
	})
}

// A calendar is refused, or gives times that grow.
func FuzzCalendar(f *testing.F) {
	for _, s := range [][2]string{{"0 3 * * *", "UTC"}, {"*/5 1-3,5 * JAN MON", "Europe/Berlin"}, {"@weekly", ""}, {"TZ=", ""}, {"1-", "x"}, {"0 0 31 2 ?", ""}} {
		f.Add(s[0], s[1], int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, expr, tz string, unix int64) {
		c, err := parseCalendar(expr, tz)
		if err != nil {
			return
		}
		after := time.Unix(unix%(1<<34), 0)
		if next := c.next(after); !next.IsZero() && !next.After(after) {
			t.Fatalf("%q in %q: %v comes after %v", expr, tz, next, after)
		}
	})
}

// Each ID is found in its path, however it is escaped, and no path has two routes.
func FuzzPath(f *testing.F) {
	for _, id := range strangeIDs {
		f.Add(id, "/v1/timers/"+id)
	}
	timer := &idPath{segments: []string{"v1", "timers", idSegment}}
	redrive := &idPath{segments: []string{"v1", "dead", idSegment, "redrive"}}
	f.Fuzz(func(t *testing.T, id, path string) {
		for _, escaped := range []string{escape(id), url.PathEscape(id)} {
			if got := timer.match("/v1/timers/" + escaped); got != id {
				t.Fatalf("%s: ID %q, want %q", escaped, got, id)
			}
			if got := redrive.match("/v1/dead/" + escaped + "/redrive"); got != id {
				t.Fatalf("%s: ID %q, want %q", escaped, got, id)
			}
		}
		if timer.match(path) != "" && redrive.match(path) != "" {
			t.Fatalf("%q has two routes", path)
		}
	})
}
