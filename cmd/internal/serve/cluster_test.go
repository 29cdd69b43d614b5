package serve

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
)

// startCluster starts servers that share their timers, and waits until they know each other.
func startCluster(t *testing.T, n int, change func(c *Config)) (all []*testServer) {
	t.Helper()
	for range n {
		all = append(all, launch(t, change)) // together: one of them makes the streams
	}
	for _, ts := range all {
		eventually(t, func() bool { return ts.s.ready.Load() && ts.s.backend.Load().processes() == n })
	}
	return all
}

// deliveries returns how often a receiver got each webhook.
func (rc *receiver) deliveries() map[string]int {
	n := make(map[string]int)
	for _, r := range rc.got() {
		n[r.header.Get("Webhook-Id")]++
	}
	return n
}

// wantOnce fails a test if a receiver did not get a number of webhooks, each once.
func (rc *receiver) wantOnce(t *testing.T, n int) {
	t.Helper()
	got := rc.deliveries()
	if len(got) != n {
		t.Errorf("%d webhooks, want %d", len(got), n)
	}
	for id, times := range got {
		if times != 1 {
			t.Errorf("webhook %s was sent %d times", id, times)
		}
	}
}

func TestAnyServerActsForAll(t *testing.T) {
	all := startCluster(t, 3, newNATSPlace(t))
	a, b, c := all[0], all[1], all[2]
	body := `{"after":"1h","kind":"k","payload":{"n":1}}`
	made := into[Timer](t, a.do("PUT", "/v1/timers/x", body).want(t, 201))
	for _, ts := range all {
		got := ts.do("GET", "/v1/timers/x", "").want(t, 200)
		if into[Timer](t, got).Rev != made.Rev || got.header.Get("ETag") != etag(made.Rev) || string(into[Timer](t, got).Payload) != `{"n":1}` {
			t.Errorf("%s", got.body)
		}
		if l := into[List](t, ts.do("GET", "/v1/timers?prefix=x", "").want(t, 200)); len(l.Timers) != 1 || l.Timers[0].Rev != made.Rev {
			t.Errorf("%+v", l)
		}
	}
	b.do("PUT", "/v1/timers/x", body, "If-None-Match", "*").want(t, 412)
	second := into[Timer](t, c.do("PUT", "/v1/timers/x", body, "If-Match", etag(made.Rev)).want(t, 200)).Rev
	a.do("PUT", "/v1/timers/x", body, "If-Match", etag(made.Rev)).want(t, 412)
	b.do("DELETE", "/v1/timers/x", "", "If-Match", etag(made.Rev)).want(t, 412)
	b.do("DELETE", "/v1/timers/x", "", "If-Match", etag(second)).want(t, 200)
	for _, ts := range all {
		ts.do("GET", "/v1/timers/x", "").want(t, 404)
		ts.do("DELETE", "/v1/timers/x", "").want(t, 404)
	}
	b.do("POST", "/v1/timers", `{"timers":[{"id":"y","after":"1h","kind":"k"},{"id":"z","after":"1h","kind":"k"}]}`).want(t, 200)
	c.do("DELETE", "/v1/timers/y", "").want(t, 200)
	if l := into[List](t, a.do("GET", "/v1/timers", "").want(t, 200)); len(l.Timers) != 1 || l.Timers[0].ID != "z" {
		t.Errorf("%+v", l)
	}
}

func TestDeadTimersAreThoseOfAllServers(t *testing.T) {
	var mended atomic.Bool
	rc := receive(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !mended.Load() {
			w.WriteHeader(500)
		}
	})
	all := startCluster(t, 3, newNATSPlace(t))
	for _, id := range []string{"x", "y"} {
		all[0].do("PUT", "/v1/timers/"+id, hook(rc.URL, "")).want(t, 201)
	}
	for _, ts := range all {
		eventually(t, func() bool { return len(into[DeadList](t, ts.do("GET", "/v1/dead", "").want(t, 200)).Dead) == 2 })
	}
	mended.Store(true)
	n := len(rc.got())
	all[1].do("POST", "/v1/dead/x/redrive", "").want(t, 200)
	all[2].do("DELETE", "/v1/dead/y", "").want(t, 200)
	all[0].do("DELETE", "/v1/dead/y", "").want(t, 404)
	all[0].do("POST", "/v1/dead/x/redrive", "").want(t, 404)
	eventually(t, func() bool { return len(rc.got()) == n+1 })
}

// The servers share the work, and each webhook is sent once.
func TestServersShareTheWork(t *testing.T) {
	rc := receive(t, nil)
	all := startCluster(t, 3, newNATSPlace(t))
	const n = 150
	for i := range n {
		all[i%3].do("PUT", fmt.Sprintf("/v1/timers/%d", i), hook(rc.URL, "")).want(t, 201)
	}
	all[0].do("PUT", "/v1/timers/tick", fmt.Sprintf(`{"every":"50ms","webhook":{"url":%q}}`, rc.URL)).want(t, 201)
	eventually(t, func() bool { return len(rc.deliveries()) >= n+5 })
	all[2].do("DELETE", "/v1/timers/tick", "").want(t, 200)
	var started uint64
	for _, ts := range all {
		eventually(t, func() bool { return ts.s.scheduler().Stats().Running == 0 })
		st := ts.s.scheduler().Stats()
		if started += st.Started; st.Started == 0 {
			t.Error("a server has no share")
		}
	}
	rc.wantOnce(t, int(started))
}

// A server that ends finishes what it sends. What waits is sent by another one. Nothing is sent twice.
func TestAServerThatEndsHandsItsWorkOver(t *testing.T) {
	var hangs atomic.Bool
	hangs.Store(true)
	block := make(chan bool)
	rc := receive(t, func(int, http.ResponseWriter, *http.Request) {
		if hangs.Load() {
			<-block
		}
	})
	same := newNATSPlace(t)
	all := startCluster(t, 2, func(c *Config) { same(c); c.Concurrency, c.Attempts = 4, -1 })
	const n = 40
	for i := range n {
		all[0].do("PUT", fmt.Sprintf("/v1/timers/%d", i), hook(rc.URL, "")).want(t, 201)
	}
	waiting := func(ts *testServer) int { _, n := ts.s.sender.Load(); return n }
	eventually(t, func() bool { return len(rc.got()) == 2 && waiting(all[0])+waiting(all[1]) == n-2 })
	if waiting(all[0]) == 0 {
		t.Fatal("nothing waits in the server that ends")
	}
	ended := make(chan error, 1)
	go func() { ended <- all[0].end() }()
	eventually(t, func() bool { return waiting(all[0]) == 0 })
	hangs.Store(false)
	close(block)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return len(rc.deliveries()) == n })
	eventually(t, func() bool { return all[1].s.scheduler().Stats().Pending == 0 })
	rc.wantOnce(t, n)
}

// take returns the numbers and the IDs of the next events.
func (l *listener) take(n int) (numbers, ids []string) {
	l.t.Helper()
	for range n {
		e := l.next()
		numbers, ids = append(numbers, e.id), append(ids, e.event.ID)
	}
	return numbers, ids
}

// Each listener gets the events of all servers, and goes on where it was at any of them, also after all of
// them were restarted.
func TestEventsAreThoseOfAllServers(t *testing.T) {
	rc := receive(t, nil)
	same := newNATSPlace(t)
	all := startCluster(t, 3, same)
	var listeners []*listener
	for _, ts := range all {
		listeners = append(listeners, listen(t, ts, "/v1/fires"))
	}
	mails := listen(t, all[1], "/v1/fires?kind=mail")
	const n = 30
	var want []string
	for i := range n {
		id := fmt.Sprintf("%02d", i)
		want = append(want, id)
		body := `{"after":"1ms","kind":"mail","payload":[1]}`
		if i%2 == 1 {
			body = hook(rc.URL, "")
		}
		all[i%3].do("PUT", "/v1/timers/"+id, body).want(t, 201)
	}
	numbers, ids := listeners[0].take(n)
	for _, l := range listeners[1:] {
		if got, _ := l.take(n); !slices.Equal(got, numbers) {
			t.Errorf("the listeners got %v and %v", numbers, got)
		}
	}
	got := slices.Sorted(slices.Values(ids))
	if !slices.Equal(got, want) {
		t.Errorf("events of %v", ids)
	}
	for range n / 2 {
		if e := mails.next().event; e.Kind != "mail" || string(e.Payload) != "[1]" {
			t.Errorf("%+v", e)
		}
	}
	for i, ts := range all {
		after := 7*i + 3
		if got, _ := listen(t, ts, "/v1/fires", "Last-Event-ID", numbers[after]).take(n - after - 1); !slices.Equal(got, numbers[after+1:]) {
			t.Errorf("after %s: %v, want %v", numbers[after], got, numbers[after+1:])
		}
	}
	for _, ts := range all {
		if err := ts.end(); err != nil {
			t.Fatal(err)
		}
	}
	again := start(t, same)
	l := listen(t, again, "/v1/fires", "Last-Event-ID", numbers[1])
	if got, _ := l.take(n - 2); !slices.Equal(got, numbers[2:]) {
		t.Errorf("after a restart: %v, want %v", got, numbers[2:])
	}
	again.do("PUT", "/v1/timers/new", `{"after":"0s","kind":"k"}`).want(t, 201)
	if e := l.next(); e.event.ID != "new" || e.id <= numbers[n-1] {
		t.Errorf("%+v after %s", e, numbers[n-1])
	}
}

// A listener that has seen an event at one server does not get it again at another one that is behind.
func TestAListenerDoesNotGetAnEventTwice(t *testing.T) {
	all := startCluster(t, 2, newNATSPlace(t))
	seen := make(map[string]bool)
	l := listen(t, all[0], "/v1/fires")
	for i := range 20 {
		all[0].do("PUT", fmt.Sprintf("/v1/timers/%d", i), `{"after":"0s","kind":"k"}`).want(t, 201)
		e := l.next()
		if seen[e.id] || e.event.ID != fmt.Sprint(i) {
			t.Fatalf("event %s of %s, want that of %d", e.id, e.event.ID, i)
		}
		seen[e.id] = true
		l.resp.Body.Close()
		l = listen(t, all[(i+1)%2], "/v1/fires", "Last-Event-ID", e.id)
	}
}

// The stream of events is made again if it was removed. The numbers of events grow on.
func TestEventsOutliveTheirStream(t *testing.T) {
	same := newNATSPlace(t)
	ts := start(t, same)
	l := listen(t, ts, "/v1/fires")
	ts.do("PUT", "/v1/timers/a", `{"after":"0s","kind":"k"}`).want(t, 201)
	first := l.next()
	js := connectJetStream(t, ts.s.cfg.NATS)
	if err := js.DeleteStream(t.Context(), eventStream(ts.s.cfg.stream)); err != nil {
		t.Fatal(err)
	}
	ts.do("PUT", "/v1/timers/b", `{"after":"0s","kind":"k"}`).want(t, 201)
	if gap := l.next(); gap.name != "missed" {
		t.Errorf("%+v, want that there may have been other events", gap)
	}
	if e := l.next(); e.event.ID != "b" || e.id <= first.id {
		t.Errorf("%+v after %s", e, first.id)
	}
}
