package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/client"
)

// A fake is a server that does what the API says, with timers that never fire.
type fake struct {
	token string

	mu     sync.Mutex // protects the fields below
	timers map[string]client.Timer
	dead   map[string]client.DeadTimer
	rev    uint64
	bodies []string // of the requests
	pages  int      // requests for a page
	header http.Header
}

// newFake returns a fake and a client of it.
func newFake(t *testing.T, token string) (*fake, *client.Client) {
	t.Helper()
	f := &fake{token: token, timers: map[string]client.Timer{}, dead: map[string]client.DeadTimer{}}
	return f, newClient(t, f.handler(), client.Options{Token: token})
}

// newClient returns a client of a handler. It repeats requests quickly.
func newClient(t *testing.T, h http.Handler, o client.Options) *client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return clientOf(t, server.URL, o)
}

func clientOf(t *testing.T, base string, o client.Options) *client.Client {
	t.Helper()
	if o.Retry.Min == 0 {
		o.Retry.Min, o.Retry.Max = time.Millisecond, 5*time.Millisecond
	}
	if o.HTTPClient == nil {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		o.HTTPClient = &http.Client{Transport: transport}
	}
	c, err := client.New(base, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (f *fake) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/timers/{id}", f.put)
	mux.HandleFunc("GET /v1/timers/{id}", f.get)
	mux.HandleFunc("DELETE /v1/timers/{id}", f.cancel)
	mux.HandleFunc("POST /v1/timers", f.batch)
	mux.HandleFunc("GET /v1/timers", f.list)
	mux.HandleFunc("GET /v1/dead", f.listDead)
	mux.HandleFunc("POST /v1/dead/{id}/redrive", f.redrive)
	mux.HandleFunc("DELETE /v1/dead/{id}", f.discard)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.header = r.Header
		if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
			w.Header().Set("WWW-Authenticate", "Bearer")
			problem(w, http.StatusUnauthorized, "send the token of the server")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}

func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// holds checks the conditions of a request.
func (f *fake) holds(w http.ResponseWriter, r *http.Request) bool {
	old, ok := f.timers[r.PathValue("id")]
	match := r.Header.Get("If-Match")
	if r.Header.Get("If-None-Match") == "*" && ok || match != "" && match != strconv.Quote(strconv.FormatUint(old.Rev, 10)) {
		problem(w, http.StatusPreconditionFailed, "the timer has another revision; read it again")
		return false
	}
	return true
}

// store keeps a timer under its time.
func (f *fake) store(t client.Timer) client.Timer {
	f.rev += 10
	t.Rev = f.rev
	switch {
	case t.After != 0:
		t.At, t.After = time.Now().Add(t.After), 0
	case t.At.IsZero():
		t.At = time.Now().Add(t.Every)
	}
	f.timers[t.ID] = t
	return t
}

func (f *fake) put(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.bodies = append(f.bodies, string(body))
	var t client.Timer
	if err := json.Unmarshal(body, &t); err != nil || t.ID != "" || t.Rev != 0 || (t.Webhook == nil) == (t.Kind == "") {
		problem(w, http.StatusBadRequest, `give exactly one of "webhook" and "kind"`)
		return
	}
	if len(t.Payload) > 64<<10 {
		problem(w, http.StatusRequestEntityTooLarge, "the payload may have 65536 bytes")
		return
	}
	if !f.holds(w, r) {
		return
	}
	t.ID = r.PathValue("id")
	_, replaced := f.timers[t.ID]
	t = f.store(t)
	w.Header().Set("ETag", strconv.Quote(strconv.FormatUint(t.Rev, 10)))
	respond(w, map[bool]int{false: http.StatusCreated, true: http.StatusOK}[replaced], t)
}

func (f *fake) get(w http.ResponseWriter, r *http.Request) {
	t, ok := f.timers[r.PathValue("id")]
	if !ok {
		problem(w, http.StatusNotFound, "there is no such timer")
		return
	}
	respond(w, http.StatusOK, t)
}

func (f *fake) cancel(w http.ResponseWriter, r *http.Request) {
	if _, ok := f.timers[r.PathValue("id")]; !ok {
		problem(w, http.StatusNotFound, "nothing is armed")
		return
	}
	if f.holds(w, r) {
		delete(f.timers, r.PathValue("id"))
		respond(w, http.StatusOK, map[string]bool{"cancelled": true})
	}
}

func (f *fake) batch(w http.ResponseWriter, r *http.Request) {
	var body, result struct {
		Timers []client.Timer `json:"timers"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || slices.ContainsFunc(body.Timers, func(t client.Timer) bool { return t.ID == "" }) {
		problem(w, http.StatusBadRequest, "each timer has an id")
		return
	}
	for _, t := range body.Timers {
		t = f.store(t)
		result.Timers = append(result.Timers, client.Timer{ID: t.ID, Rev: t.Rev})
	}
	respond(w, http.StatusOK, result)
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var found []client.Timer
	for id, t := range f.timers {
		if strings.HasPrefix(id, q.Get("prefix")) && (q.Get("kind") == "" || t.Kind == q.Get("kind")) {
			if from, err := time.Parse(time.RFC3339, q.Get("from")); err == nil && t.At.Before(from) {
				continue
			}
			if to, err := time.Parse(time.RFC3339, q.Get("to")); err == nil && !t.At.Before(to) {
				continue
			}
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b client.Timer) int {
		if q.Get("order") == "due" {
			return a.At.Compare(b.At)
		}
		return strings.Compare(a.ID, b.ID)
	})
	onePage(f, w, r, "timers", found)
}

// onePage responds with a page. The cursor is the number of values before it.
func onePage[T any](f *fake, w http.ResponseWriter, r *http.Request, field string, values []T) {
	f.pages++
	cursor, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 {
		problem(w, http.StatusBadRequest, "the limit is at least 1")
		return
	}
	values = values[min(cursor, len(values)):]
	page := map[string]any{field: values}
	if len(values) > limit {
		page = map[string]any{field: values[:limit], "next": strconv.Itoa(cursor + limit)}
	}
	respond(w, http.StatusOK, page)
}

func (f *fake) listDead(w http.ResponseWriter, r *http.Request) {
	found := []client.DeadTimer{}
	for _, d := range f.dead {
		found = append(found, d)
	}
	slices.SortFunc(found, func(a, b client.DeadTimer) int { return strings.Compare(a.ID, b.ID) })
	onePage(f, w, r, "dead", found)
}

func (f *fake) redrive(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, ok := f.dead[id]; !ok {
		problem(w, http.StatusNotFound, "there is no such dead timer")
		return
	}
	if _, ok := f.timers[id]; ok {
		problem(w, http.StatusConflict, "a timer with this id is armed; cancel it first")
		return
	}
	delete(f.dead, id)
	respond(w, http.StatusOK, f.store(client.Timer{ID: id}))
}

func (f *fake) discard(w http.ResponseWriter, r *http.Request) {
	if _, ok := f.dead[r.PathValue("id")]; !ok {
		problem(w, http.StatusNotFound, "there is no such dead timer")
		return
	}
	delete(f.dead, r.PathValue("id"))
	w.WriteHeader(http.StatusNoContent)
}
