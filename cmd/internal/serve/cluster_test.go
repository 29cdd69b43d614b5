package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/natsserver"
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

// While NATS is away nothing is lost, servers say so, and go on by themselves.
func TestNATSIsRestarted(t *testing.T) {
	server := startNATS(t, natsserver.Options{})
	rc := receive(t, nil)
	all := startCluster(t, 2, onNATS(server.URL(), "RESTART"))
	l := listen(t, all[1], "/v1/fires?kind=k")
	const n = 10
	for i := range n {
		all[0].do("PUT", fmt.Sprintf("/v1/timers/hook-%d", i), strings.Replace(hook(rc.URL, ""), "1ms", "300ms", 1)).want(t, 201)
		all[0].do("PUT", fmt.Sprintf("/v1/timers/kind-%d", i), `{"after":"300ms","kind":"k"}`).want(t, 201)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, ts := range all {
		eventually(t, func() bool { return ts.do("GET", "/readyz", "").status == 503 })
		if r := ts.do("GET", "/readyz", "").want(t, 503); !strings.Contains(r.body, "NATS") || r.header.Get("Retry-After") == "" {
			t.Error(r.body)
		}
		ts.do("GET", "/healthz", "").want(t, 200)
		if r := ts.do("GET", "/metrics", "").want(t, 200); !strings.Contains(r.body, "foliot_serve_ready 0") {
			t.Error("the metrics say that the server is ready")
		}
	}
	time.Sleep(300 * time.Millisecond) // the timers are due
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for _, ts := range all {
		eventually(t, func() bool { return ts.do("GET", "/readyz", "").status == 200 })
	}
	kinds := make(map[string]bool)
	for len(kinds) < n {
		kinds[l.next().event.ID] = true
	}
	eventually(t, func() bool { return len(rc.deliveries()) == n })
	eventually(t, func() bool { return all[0].s.scheduler().Stats().Pending == 0 })
	for _, ts := range all {
		if log := ts.log.String(); !strings.Contains(log, "the connection to NATS is lost") || !strings.Contains(log, "the connection to NATS is back") {
			t.Error(log)
		}
	}
}

// A webhook does not wait for its event. While NATS is away a bounded number of events waits, and the others
// are lost.
func TestEventsOfWebhooksAreBounded(t *testing.T) {
	server := startNATS(t, natsserver.Options{})
	ts := start(t, onNATS(server.URL(), "BOUND"))
	l := listen(t, ts, "/v1/fires")
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return ts.do("GET", "/readyz", "").status == 503 })
	payload := []byte(`"` + strings.Repeat("x", maxPayload-2) + `"`)
	const fit, more = maxPosted / (maxPayload + 1000), 20
	for i := range fit + more {
		ts.s.publish(&durable.Fire{Timer: durable.Timer{ID: fmt.Sprint(i)}}, &envelope{Payload: payload}, outcomeDone, 200, nil)
	}
	lost := int(testutil.ToFloat64(ts.s.metrics.lost))
	if lost == 0 || lost > more {
		t.Errorf("%d events are lost", lost)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for i := range fit {
		if e := l.next().event; e.ID != fmt.Sprint(i) {
			t.Fatalf("the event of %s, want that of %d", e.ID, i)
		}
	}
	eventually(t, func() bool { return ts.s.backend.Load().events.(*natsEvents).posted.Load() == 0 })
}

// A server waits for NATS at the start, and can be ended meanwhile.
func TestTheServerWaitsForNATS(t *testing.T) {
	server := startNATS(t, natsserver.Options{})
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	same := onNATS(strings.Replace(server.URL(), "://", "://user:geheim@", 1), "WAIT")
	impatient := launch(t, same)
	ts := launch(t, same)
	eventually(t, func() bool { return strings.Contains(ts.log.String(), "waits for NATS") })
	for _, path := range []string{"/readyz", "/v1/timers"} {
		if r := ts.do("GET", path, "").want(t, 503); !strings.Contains(r.body, "NATS cannot be reached.") || strings.Contains(r.body, server.Addr) {
			t.Error(r.body)
		}
	}
	ts.do("GET", "/healthz", "").want(t, 200)
	c, log := testConfig(t)
	same(&c)
	if err := Check(t.Context(), c); err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "would wait for NATS") || !strings.Contains(text, "cannot be reached at "+server.URL()) {
		t.Error(text)
	}
	if err := impatient.end(); err != nil {
		t.Error(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return ts.do("GET", "/readyz", "").status == 200 })
	ts.do("PUT", "/v1/timers/a", `{"after":"1h","kind":"k"}`).want(t, 201)
	if strings.Contains(ts.log.String(), "geheim") {
		t.Error("the log has a password in it")
	}
}

// While NATS is away, requests are refused after some time, and the server can be ended.
func TestTheEndWhileNATSIsAway(t *testing.T) {
	t.Parallel()
	server := startNATS(t, natsserver.Options{})
	ts := start(t, onNATS(server.URL(), "END"))
	ts.do("PUT", "/v1/timers/a", `{"after":"0s","kind":"k"}`).want(t, 201)
	ts.do("PUT", "/v1/timers/b", `{"after":"1h","kind":"k"}`).want(t, 201)
	eventually(t, func() bool { return ts.s.scheduler().Stats().Handled == 1 })
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return ts.do("GET", "/readyz", "").status == 503 })
	var wg sync.WaitGroup
	for _, request := range []struct{ method, path, body string }{
		{"PUT", "/v1/timers/c", `{"after":"1h","kind":"k"}`},
		{"GET", "/v1/timers/b", ""},
		{"GET", "/v1/fires", ""},
	} {
		wg.Go(func() {
			if r, err := ts.try(request.method, request.path, request.body, "Last-Event-ID", "1"); err != nil || r.status != 503 {
				t.Errorf("%s %s: %+v, %v", request.method, request.path, r, err)
			}
		})
	}
	wg.Wait()
	if err := ts.end(); err != nil {
		t.Error(err)
	}
}

// What can never work is an error at the start, which has no password in it. A check says the same, and
// changes nothing.
func TestWhatNATSRefusesIsAnError(t *testing.T) {
	t.Parallel()
	server := startNATS(t, natsserver.Options{Config: `authorization { users: [
		{user: all, password: geheim}
		{user: few, password: geheim, permissions: {publish: ["$JS.API.STREAM.>"], subscribe: "_INBOX.>"}}
	] }`})
	url := func(user string) string { return strings.Replace(server.URL(), "://", "://"+user+"@", 1) }
	for name, tt := range map[string]struct {
		change func(c *Config)
		want   string
		passes bool // Check does not see it
	}{
		"replicas": {func(c *Config) { c.Replicas = 3 }, "--replicas 3", false},
		"password": {func(c *Config) { c.NATS = url("all:geheim2") }, "NATS refuses the user", false},
		"user":     {func(c *Config) { c.NATS = server.URL() }, "--nats-creds", false},
		"few":      {func(c *Config) { c.NATS = url("few:geheim") }, "permission", true},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := testConfig(t)
			onNATS(url("all:geheim"), "REFUSED")(&c)
			c.Replicas = 1
			tt.change(&c)
			checked := Check(t.Context(), c)
			if tt.passes != (checked == nil) {
				t.Errorf("Check returns %v", checked)
			}
			if _, err := connectJetStream(t, url("all:geheim")).Stream(t.Context(), "REFUSED"); err == nil {
				t.Error("there is a stream")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err := Run(ctx, c)
			for _, err := range []error{err, checked} {
				if err == nil && tt.passes {
					continue
				}
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "geheim") {
					t.Errorf("%v, want %q", err, tt.want)
				}
			}
		})
	}
	js := connectJetStream(t, url("all:geheim"))
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: eventStream("OTHER"), Subjects: []string{"OTHER.e", "OTHER.e.*"}}); err != nil {
		t.Fatal(err)
	}
	c, _ := testConfig(t)
	onNATS(url("all:geheim"), "OTHER")(&c)
	c.Replicas = 3
	for _, err := range []error{Check(t.Context(), c), Run(t.Context(), c)} {
		if err == nil || !strings.Contains(err.Error(), "--replicas 3") {
			t.Error(err)
		}
	}
	c.Replicas = 1
	if err := Check(t.Context(), c); err != nil {
		t.Error(err)
	}
}

// A user with the permissions that docs/cluster.md lists can run a server.
func TestThePermissionsAreEnough(t *testing.T) {
	const stream = "ALLOWED"
	server := startNATS(t, natsserver.Options{Config: strings.ReplaceAll(`authorization { users: [
		{user: all, password: geheim, permissions: {
			publish: ["FOLIOT.t.*", "FOLIOT.b", "FOLIOT.h", "$JS.API.STREAM.INFO.FOLIOT", "$JS.API.STREAM.CREATE.FOLIOT",
				"$JS.API.CONSUMER.CREATE.FOLIOT.>", "$JS.API.DIRECT.GET.FOLIOT", "$JS.FC.>", "FOLIOT.e", "FOLIOT.e.*",
				"$JS.API.STREAM.INFO.FOLIOT-EVENTS", "$JS.API.STREAM.CREATE.FOLIOT-EVENTS",
				"$JS.API.CONSUMER.*.FOLIOT-EVENTS.>", "$JS.API.CONSUMER.MSG.NEXT.FOLIOT-EVENTS.*"]
			subscribe: ["FOLIOT.h", "_INBOX.>"]
		}}
	] }`, "FOLIOT", stream)})
	rc := receive(t, nil)
	ts := start(t, onNATS(strings.Replace(server.URL(), "://", "://all:geheim@", 1), stream))
	l := listen(t, ts, "/v1/fires")
	ts.do("PUT", "/v1/timers/a", `{"after":"0s","kind":"k"}`).want(t, 201)
	first := l.next()
	ts.do("PUT", "/v1/timers/b", hook(rc.URL, "")).want(t, 201)
	if e := l.next().event; e.ID != "b" {
		t.Errorf("%+v", e)
	}
	if e := listen(t, ts, "/v1/fires", "Last-Event-ID", first.id).next().event; e.ID != "b" {
		t.Errorf("%+v", e)
	}
	ts.do("GET", "/readyz", "").want(t, 200)
	if err := ts.end(); err != nil {
		t.Error(err)
	}
	if log := ts.log.String(); strings.Contains(log, "permission") || strings.Contains(log, "geheim") {
		t.Error(log)
	}
}

// On three servers of NATS one may be lost. Five replicas are too many for them.
func TestReplicas(t *testing.T) {
	t.Parallel()
	servers, err := natsserver.StartCluster(t.TempDir(), 3, natsserver.Options{})
	if errors.Is(err, natsserver.ErrNoModule) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, s := range servers {
		t.Cleanup(func() { _ = s.Kill() })
		urls = append(urls, s.URL())
	}
	replicas := func(n int) place {
		return func(c *Config) {
			onNATS(strings.Join(urls, ","), "FOLIOT")(c)
			c.stream, c.Replicas = "", n
		}
	}
	c, _ := testConfig(t)
	replicas(5)(&c)
	if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "--replicas 5: NATS has fewer servers") {
		t.Error(err)
	}
	all := startCluster(t, 2, replicas(3))
	if err := Check(t.Context(), all[0].s.cfg); err != nil {
		t.Error(err)
	}
	if c.Replicas = 1; Check(t.Context(), c) == nil {
		t.Error("a check does not notice that the streams have three replicas")
	}
	l := listen(t, all[1], "/v1/fires")
	all[0].do("PUT", "/v1/timers/a", `{"after":"0s","kind":"k"}`).want(t, 201)
	all[0].do("PUT", "/v1/timers/b", `{"after":"300ms","kind":"k"}`).want(t, 201)
	last := l.next()
	info, err := connectJetStream(t, urls[0]).Stream(t.Context(), eventStream(defaultStream))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if s.Name == info.CachedInfo().Cluster.Leader {
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if e := l.next(); e.event.ID != "b" || e.id <= last.id {
		t.Errorf("%+v after %s", e, last.id)
	}
	for _, ts := range all {
		eventually(t, func() bool { return ts.do("GET", "/readyz", "").status == 200 })
	}
	all[1].do("PUT", "/v1/timers/c", `{"after":"0s","kind":"k"}`).want(t, 201)
	if e := l.next(); e.event.ID != "c" {
		t.Errorf("%+v", e)
	}
}

func TestAddressesOfNATS(t *testing.T) {
	for addresses, want := range map[string]string{
		"nats://a:4222":                     "nats://a:4222",
		"a, tls://u:geheim@b ,nats://t0k@c": "nats://a,tls://b,nats://c",
		"nats://[::1]:4222":                 "nats://[::1]:4222",
		"":                                  "",
		"a,,b":                              "",
		"nats://":                           "",
		"nats://u:geheim@":                  "",
		"nats://u:geheim@a:x":               "",
		"redis://u:geheim@a":                "",
	} {
		shown, err := natsServers(addresses)
		if shown != want || (err != nil) != (want == "") || err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %q, %v", addresses, shown, err)
		}
	}
}
