package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
)

var noon = time.Date(2040, 1, 31, 12, 0, 0, 0, time.UTC)

func TestATimerIsMadeReadReplacedAndCancelled(t *testing.T) {
	f, c := newFake(t, "")
	want := client.Timer{
		ID: "order 17/ä?#%", At: noon, Every: time.Hour, Payload: json.RawMessage(`{"total":"<9 €>"}`),
		Webhook: &client.Webhook{URL: "https://shop.example/expire", Headers: map[string]string{"X-Shop": "1"}},
	}
	made, err := c.Put(t.Context(), want)
	if err != nil || !made.Created || made.Rev == 0 || !made.At.Equal(noon) || made.ID != want.ID {
		t.Fatalf("Put: %+v, %v", made, err)
	}
	if body := f.bodies[0]; !strings.Contains(body, `"at":"2040-01-31T12:00:00Z"`) || !strings.Contains(body, `"every":"1h0m0s"`) ||
		!strings.Contains(body, `"<9 €>"`) || strings.Contains(body, "rev") {
		t.Errorf("body: %s", body)
	}
	got, err := c.Get(t.Context(), want.ID)
	want.Rev = made.Rev
	if err != nil || !reflect.DeepEqual(got.Webhook, want.Webhook) || !got.At.Equal(noon) || got.ID != want.ID || got.Every != time.Hour || got.Rev != want.Rev {
		t.Errorf("Get: %+v, %v; want %+v", got, err, want)
	}
	replaced, err := c.Put(t.Context(), client.Timer{ID: want.ID, After: time.Hour, Kind: "expire"})
	if err != nil || replaced.Created || replaced.Rev <= made.Rev {
		t.Errorf("second Put: %+v, %v", replaced, err)
	}
	if err := c.Cancel(t.Context(), want.ID); err != nil {
		t.Errorf("Cancel: %v", err)
	}
	if err := c.Cancel(t.Context(), want.ID); !errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrUncertain) {
		t.Errorf("second Cancel: %v", err)
	}
	if _, err := c.Get(t.Context(), want.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("Get of a cancelled timer: %v", err)
	}
}

func TestEachIDIsOneSegmentOfThePath(t *testing.T) {
	f, c := newFake(t, "")
	ids := []string{".", "..", "a/b", "a//b", "../x", "%2e", "a b", "a+b", "a;b", "ü", "dead", "x/redrive"}
	for _, id := range ids {
		if _, err := c.Put(t.Context(), client.Timer{ID: id, At: noon, Kind: "k"}); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		if got, err := c.Get(t.Context(), id); err != nil || got.ID != id {
			t.Errorf("%q: %q, %v", id, got.ID, err)
		}
	}
	if len(f.timers) != len(ids) {
		t.Errorf("%d timers, want %d", len(f.timers), len(ids))
	}
	for _, id := range []string{"", "\xff"} {
		if _, err := c.Put(t.Context(), client.Timer{ID: id, At: noon, Kind: "k"}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", id, err)
		}
		if err := errors.Join(c.Cancel(t.Context(), id)); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", id, err)
		}
	}
}

func TestConditionsAreSent(t *testing.T) {
	_, c := newFake(t, "")
	timer := client.Timer{ID: "a", At: noon, Kind: "k"}
	made, err := c.Put(t.Context(), timer, client.IfAbsent())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), timer, client.IfAbsent()); !errors.Is(err, client.ErrConflict) {
		t.Errorf("IfAbsent: %v", err)
	}
	if _, err := c.Put(t.Context(), timer, client.IfRev(made.Rev+1)); !errors.Is(err, client.ErrConflict) {
		t.Errorf("IfRev of another revision: %v", err)
	}
	if err := c.Cancel(t.Context(), "a", client.IfRev(made.Rev+1)); !errors.Is(err, client.ErrConflict) {
		t.Errorf("Cancel with IfRev of another revision: %v", err)
	}
	again, err := c.Put(t.Context(), timer, client.IfRev(made.Rev))
	if err != nil {
		t.Errorf("IfRev: %v", err)
	}
	if err := c.Cancel(t.Context(), "a", client.IfRev(again.Rev)); err != nil {
		t.Errorf("Cancel with IfRev: %v", err)
	}
}

func TestABatchIsSentInOneRequest(t *testing.T) {
	f, c := newFake(t, "")
	got, err := c.Batch(t.Context(), []client.Timer{{ID: "a", After: time.Minute, Kind: "k"}, {ID: "b", At: noon, Kind: "k"}})
	if err != nil || len(got) != 2 || got[0].ID != "a" || got[1].ID != "b" || got[0].Rev == 0 || got[1].Rev <= got[0].Rev {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Batch(t.Context(), []client.Timer{{ID: "c", At: noon, Kind: "k"}, {At: noon, Kind: "k"}}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a timer without an ID: %v", err)
	}
	if len(f.timers) != 2 {
		t.Errorf("%d timers, want 2", len(f.timers))
	}
}

func TestAListHasAllPages(t *testing.T) {
	f, c := newFake(t, "")
	for i := range 450 {
		f.store(client.Timer{ID: fmt.Sprintf("t%03d", i), At: noon.Add(-time.Duration(i) * time.Minute), Kind: []string{"even", "odd"}[i%2]})
	}
	list := func(q client.Query) (ids []string) {
		t.Helper()
		f.pages = 0
		for timer, err := range c.List(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, timer.ID)
		}
		return ids
	}
	if ids := list(client.Query{}); len(ids) != 450 || !slices.IsSorted(ids) || f.pages != 3 {
		t.Errorf("%d timers in %d pages, want 450 in 3", len(ids), f.pages)
	}
	if ids := list(client.Query{Limit: 3}); !slices.Equal(ids, []string{"t000", "t001", "t002"}) || f.pages != 1 {
		t.Errorf("limit 3: %q in %d pages", ids, f.pages)
	}
	if ids := list(client.Query{Limit: 250}); len(ids) != 250 || f.pages != 2 {
		t.Errorf("limit 250: %d in %d pages", len(ids), f.pages)
	}
	if ids := list(client.Query{Prefix: "t10", Kind: "odd", ByDue: true}); !slices.Equal(ids, []string{"t109", "t107", "t105", "t103", "t101"}) {
		t.Errorf("by time: %q", ids)
	}
	if ids := list(client.Query{From: noon.Add(-time.Minute), To: noon}); !slices.Equal(ids, []string{"t001"}) {
		t.Errorf("from and to: %q", ids)
	}
	f.pages = 0
	for range c.List(t.Context(), client.Query{}) {
		break
	}
	if f.pages != 1 {
		t.Errorf("a loop that ends at once has read %d pages", f.pages)
	}
}

// failure returns the error of a list.
func failure[T any](seq func(func(T, error) bool)) (n int, failure error) {
	for _, err := range seq {
		if err != nil {
			failure = err
		} else {
			n++
		}
	}
	return n, failure
}

func TestAListEndsWithItsError(t *testing.T) {
	for name, body := range map[string]string{
		"the same cursor":  `{"timers":[{"id":"a"}],"next":"1"}`,
		"no list":          `{"next":"1"}`,
		"not an object":    `[]`,
		"not JSON":         `{"timers":[`,
		"a wrong type":     `{"timers":[{"id":1}]}`,
		"a wrong duration": `{"timers":[{"id":"a","every":"daily"}]}`,
	} {
		c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.Write([]byte(body))
		}), client.Options{})
		if n, err := failure(c.List(t.Context(), client.Query{})); err == nil || n > 1 {
			t.Errorf("%s: %d timers, %v", name, n, err)
		}
	}
	_, c := newFake(t, "")
	if n, err := failure(c.List(t.Context(), client.Query{Limit: -1})); !errors.Is(err, client.ErrInvalid) || n > 0 {
		t.Errorf("a negative limit: %d, %v", n, err)
	}
}

func TestDeadTimersAreListedRedrivenAndDiscarded(t *testing.T) {
	f, c := newFake(t, "")
	for _, id := range []string{"a", "b", "c"} {
		f.dead[id] = client.DeadTimer{ID: id, Rev: 7, Key: id + "@7", Attempts: 5, Error: "status 500", At: noon}
	}
	var got []client.DeadTimer
	for d, err := range c.Dead(t.Context(), 2) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	if len(got) != 2 || got[1] != f.dead["b"] {
		t.Errorf("dead timers: %+v", got)
	}
	if err := c.Redrive(t.Context(), "a"); err != nil {
		t.Errorf("Redrive: %v", err)
	}
	if err := c.Redrive(t.Context(), "a"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("second Redrive: %v", err)
	}
	f.store(client.Timer{ID: "b"})
	if err := c.Redrive(t.Context(), "b"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("Redrive of an ID that is armed: %v", err)
	}
	if err := c.Discard(t.Context(), "b"); err != nil {
		t.Errorf("Discard: %v", err)
	}
	if err := c.Discard(t.Context(), "b"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("second Discard: %v", err)
	}
	if n, err := failure(c.Dead(t.Context(), 0)); n != 1 || err != nil {
		t.Errorf("%d dead timers, %v; want 1", n, err)
	}
}

func TestATimerIsTheSameInJSON(t *testing.T) {
	for _, want := range []client.Timer{
		{ID: "a", At: noon, Kind: "k", Rev: 7},
		{ID: "a", After: 1500 * time.Millisecond, Webhook: &client.Webhook{URL: "https://x.example"}},
		{ID: "a", Cron: "0 3 * * *", TZ: "Europe/Vienna", Kind: "k", Payload: json.RawMessage(`null`)},
		{ID: "a", Every: time.Hour, Kind: "k", Payload: json.RawMessage(`[1,"b"]`)},
	} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got client.Timer
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}
