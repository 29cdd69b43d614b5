package serve

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"
)

// A route is one request that the server knows. The router and the metrics are made from the list of routes, and a test
// makes openapi.json from it.
type route struct {
	method string
	path   string
	open   bool // it needs no token
	early  bool // it is served before the store is open, too
	serve  func(w http.ResponseWriter, r *http.Request) error
}

// A Health is the response to GET /healthz.
type Health struct {
	Alive bool `json:"alive"`
}

// A Readiness is the response to GET /readyz.
type Readiness struct {
	Ready bool `json:"ready"`
}

// routes returns all routes but those of the page.
func (s *server) routes() []route {
	return []route{
		{method: "PUT", path: "/v1/timers/{id}", serve: s.putTimer},
		{method: "GET", path: "/v1/timers/{id}", serve: s.getTimer},
		{method: "DELETE", path: "/v1/timers/{id}", serve: s.deleteTimer},
		{method: "POST", path: "/v1/timers", serve: s.postTimers},
		{method: "GET", path: "/v1/timers", serve: s.listTimers},
		{method: "GET", path: "/v1/fires", serve: s.listenFires},
		{method: "GET", path: "/v1/dead", serve: s.listDead},
		{method: "POST", path: "/v1/dead/{id}/redrive", serve: s.redriveDead},
		{method: "DELETE", path: "/v1/dead/{id}", serve: s.discardDead},
		{method: "GET", path: "/healthz", serve: s.healthz, open: true, early: true},
		{method: "GET", path: "/readyz", serve: s.readyz, open: true, early: true},
		{method: "GET", path: "/metrics", serve: s.serveMetrics, early: true},
		{method: "GET", path: "/openapi.json", serve: s.openAPI, early: true},
	}
}

// wrap adds to a route what all have: checks, the form of errors, and metrics.
func (s *server) wrap(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		rec := &recorder{ResponseWriter: w}
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler {
					panic(v)
				}
				s.log.Error("serve: a request panicked", "path", rt.path, "panic", v, "stack", string(debug.Stack()))
				if rec.status == 0 {
					problem(http.StatusInternalServerError, "The server has a fault; its log has the reason.").write(rec)
				}
			}
			s.metrics.request(rt.method, rt.path, rec.status, time.Since(begin))
		}()
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if err := s.serveRoute(rt, rec, r); err != nil {
			problemOf(err, s.log).write(rec)
		}
	})
}

func (s *server) serveRoute(rt route, w http.ResponseWriter, r *http.Request) error {
	if err := s.guard(r, rt.open); err != nil {
		return err
	}
	if !rt.early && s.scheduler() == nil {
		if p := s.notReady(r.Context()); p != nil {
			return p
		}
	}
	return rt.serve(w, r)
}

// A recorder remembers the status of a response.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (s *server) healthz(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, Health{Alive: true})
}

func (s *server) readyz(w http.ResponseWriter, r *http.Request) error {
	if p := s.notReady(r.Context()); p != nil {
		return p
	}
	return writeJSON(w, http.StatusOK, Readiness{Ready: true})
}

// notReady returns the problem of a server that has not loaded its timers or cannot reach them, or nil.
func (s *server) notReady(ctx context.Context) *Problem {
	if s.ready.Load() {
		if err := s.backend.Load().reachable(ctx); err != nil {
			return problem(http.StatusServiceUnavailable, "The timers cannot be reached: %v. They fire when they can be.", err).with("Retry-After", "1")
		}
		return nil
	}
	loaded, pending := 0, 0
	if d := s.run.Load(); d != nil {
		st := d.Stats()
		loaded, pending = st.Loaded, st.Pending
	} else if why := s.waits.Load(); why != nil {
		return problem(http.StatusServiceUnavailable, "The server waits for the timers: %s. Its log says more.", *why).with("Retry-After", "1")
	}
	p := problem(http.StatusServiceUnavailable, "The timers are being loaded: %d of %d. Try again soon.", loaded, pending).with("Retry-After", "1")
	p.Loaded, p.Pending = &loaded, &pending
	return p
}

// errorLog returns the log of net/http: connections that fail, which is no fault of the server.
func errorLog(log *slog.Logger) *slog.Logger { return log.With("from", "net/http") }
