package serve

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/natsserver"
)

// While NATS is away nothing is lost, servers say so, and go on by themselves.
func TestNATSIsRestarted(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	servers := natsserver.ForTest(t, 3, natsserver.Options{})
	var urls []string
	for _, s := range servers {
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
