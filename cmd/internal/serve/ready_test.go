package serve

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/storetest"
)

// Before the timers are loaded the server is alive and not ready, and says how far it is.
func TestReadiness(t *testing.T) {
	c, _ := testConfig(t)
	set, err := c.check()
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(set)
	defer s.hub.Close()
	h := s.handler()
	get := func(path string) reply {
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return reply{w.Code, w.Header(), w.Body.String()}
	}
	for _, path := range []string{"/healthz", "/", "/metrics", "/openapi.json"} {
		get(path).want(t, 200)
	}
	for _, path := range []string{"/v1/timers", "/v1/timers/a", "/v1/fires", "/v1/dead", "/readyz"} {
		if r := get(path).want(t, 503); r.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
	d, err := durable.New(storetest.NewMemory(), durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		spec := Spec{After: "1h", Kind: "k"}
		timer, err := spec.timer(id, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Schedule(t.Context(), timer); err != nil {
			t.Fatal(err)
		}
	}
	s.run.Store(d)
	p := into[Problem](t, get("/readyz").want(t, 503))
	if p.Loaded == nil || p.Pending == nil || *p.Loaded != 0 || *p.Pending != 2 {
		t.Errorf("%+v", p)
	}
	get("/v1/timers").want(t, 200) // the folder is open
	var away error
	s.backend.Store(&backend{reachable: func(context.Context) error { return away }, processes: func() int { return 1 }})
	s.ready.Store(true)
	get("/readyz").want(t, 200)
	away = errors.New("NATS has gone fishing")
	if p := into[Problem](t, get("/readyz").want(t, 503)); !strings.Contains(p.Detail, "gone fishing") {
		t.Errorf("%+v", p)
	}
	away = nil
	get("/readyz").want(t, 200)

	lint(t, s)
}

// lint checks the metrics of a server.
func lint(t *testing.T, s *server) {
	t.Helper()
	problems, err := testutil.GatherAndLint(s.metrics.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// The metrics of a server that runs have those of the scheduler and of its runtime.
func TestMetricsOfARunningServer(t *testing.T) {
	ts := start(t, nil)
	ts.do("PUT", "/v1/timers/a", `{"after":"1ms","kind":"k"}`).want(t, 201)
	eventually(t, func() bool { return ts.s.scheduler().Stats().Handled == 1 })
	body := ts.do("GET", "/metrics", "").want(t, 200).body
	for _, want := range []string{
		"foliot_durable_handled_total 1\n", "foliot_durable_postponed_total 0\n", "foliot_serve_ready 1\n",
		"foliot_workers 1\n", "foliot_timers_fired_total ", "foliot_timer_lateness_seconds_count ", "foliot_build_info{",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics have no %q:\n%s", want, body)
		}
	}
	lint(t, ts.s)
}
