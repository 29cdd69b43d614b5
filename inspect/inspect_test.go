package inspect_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
	"github.com/foliot-go/foliot/loop"
	"github.com/foliot-go/foliot/test/kit"
)

// figures are the part of a snapshot that tests read.
type figures struct {
	Time     time.Time
	Runtimes map[string]struct {
		Stats       *struct{ Armed, Fired, Workers int }
		Horizon     []foliot.HorizonBucket
		Callbacks   []foliot.CallbackShare
		Late, Ran   []struct{ UpTo, Count int64 }
		Unavailable map[string]string
	}
	Loops map[string]struct {
		Stats       *loop.Stats
		Unavailable map[string]string
	}
	Queues map[string]struct {
		Len, Overdue int
		Next         *time.Duration
		Horizon      []foliot.HorizonBucket
		Unavailable  map[string]string
	}
}

// get serves a request without a body.
func get(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

// snapshot returns what /snapshot.json shows.
func snapshot(t *testing.T, h http.Handler) (p figures) {
	t.Helper()
	w := get(h, "GET", "/snapshot.json")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("the status is %d and the type %q", w.Code, w.Header().Get("Content-Type"))
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return p
}

func closeIdle() {}

func TestTheSnapshotIsThatOfTheRuntime(t *testing.T) {
	rt, clock := kit.NewManual(t, foliot.Options{})
	for i := range 10 {
		kit.After(t, rt, time.Duration(i+1)*time.Second, closeIdle)
	}
	clock.Advance(3 * time.Second)
	h := inspect.Handler(inspect.Options{Runtimes: map[string]*foliot.Runtime{"main": rt}})
	before := time.Now()
	p := snapshot(t, h)
	if p.Time.Before(before.Round(0)) || p.Time.After(time.Now()) {
		t.Errorf("the time is %v, want now", p.Time)
	}
	got, ok := p.Runtimes["main"]
	if !ok || len(p.Runtimes) != 1 {
		t.Fatalf("the snapshot has the runtimes %v, want main", slices.Collect(maps.Keys(p.Runtimes)))
	}
	if got.Stats.Armed != 7 || got.Stats.Fired != 3 || len(got.Unavailable) != 0 {
		t.Errorf("the snapshot has %+v, %v; want 7 armed, 3 fired", got.Stats, got.Unavailable)
	}
	if !slices.Equal(got.Horizon, rt.Horizon()) {
		t.Errorf("the horizon is %v, want %v", got.Horizon, rt.Horizon())
	}
	want := []foliot.CallbackShare{{Func: "github.com/foliot-go/foliot/inspect_test.closeIdle", Share: 1, Samples: 7}}
	if !slices.Equal(got.Callbacks, want) {
		t.Errorf("the callbacks are %v, want %v", got.Callbacks, want)
	}
	for name, buckets := range map[string][]struct{ UpTo, Count int64 }{"late": got.Late, "ran": got.Ran} {
		n := int64(0)
		for _, b := range buckets {
			n += b.Count
		}
		if n != 3 {
			t.Errorf("%s has %d timers, want 3", name, n)
		}
	}
}

func TestTheSnapshotHasLists(t *testing.T) {
	rt, _ := kit.NewManual(t, foliot.Options{})
	body := get(inspect.Handler(inspect.Options{Runtimes: map[string]*foliot.Runtime{"empty": rt}}), "GET", "/snapshot.json").Body.String()
	for _, want := range []string{`"horizon":[]`, `"callbacks":[]`, `"late":[]`, `"ran":[]`, `"loops":{}`, `"queues":{}`} {
		if !strings.Contains(body, want) {
			t.Errorf("the snapshot of an empty runtime has no %s: %s", want, body)
		}
	}
}

func TestTheSnapshotSaysWhichFiguresAreMissing(t *testing.T) {
	rt := kit.NewRuntime(t, foliot.Options{})
	kit.After(t, rt, time.Hour, closeIdle)
	kit.Shutdown(t, rt)
	p := snapshot(t, inspect.Handler(inspect.Options{
		Runtimes: map[string]*foliot.Runtime{"closed": rt, "none": nil},
		Loops:    map[string]*loop.Loop{"none": nil},
		Queues:   map[string]inspect.Queue{"none": nil, "nil": (*foliot.Queue[int])(nil)},
	}))
	closed, none := p.Runtimes["closed"], p.Runtimes["none"]
	if closed.Stats == nil || closed.Stats.Armed != 0 || len(closed.Horizon) != 0 {
		t.Errorf("the snapshot of a closed runtime is %+v", closed)
	}
	for _, figure := range []string{"horizon", "callbacks"} {
		if why := closed.Unavailable[figure]; why != "the runtime is shut down" {
			t.Errorf("the reason for no %s is %q", figure, why)
		}
	}
	if none.Stats != nil || none.Unavailable["stats"] == "" {
		t.Errorf("the snapshot of a nil runtime is %+v, want no statistics and a reason", none)
	}
	if l := p.Loops["none"]; l.Stats != nil || l.Unavailable["stats"] == "" {
		t.Errorf("the snapshot of a nil loop is %+v, want no statistics and a reason", l)
	}
	for _, name := range []string{"none", "nil"} {
		if q := p.Queues[name]; q.Unavailable["len"] == "" {
			t.Errorf("the snapshot of a nil queue is %+v, want a reason", q)
		}
	}
}

// A runtime or a queue without its constructor panics. The feed takes snapshots on its own goroutine, where that
// would end the program.
func TestASnapshotDoesNotPanic(t *testing.T) {
	p := snapshot(t, inspect.Handler(inspect.Options{
		Runtimes: map[string]*foliot.Runtime{"zero": {}},
		Loops:    map[string]*loop.Loop{"zero": {}},
		Queues:   map[string]inspect.Queue{"zero": new(foliot.Queue[int])},
	}))
	if why := p.Runtimes["zero"].Unavailable["stats"]; !strings.HasPrefix(why, "it panics: ") {
		t.Errorf("the reason for no statistics is %q, want a panic", why)
	}
	if why := p.Queues["zero"].Unavailable["len"]; !strings.HasPrefix(why, "it panics: ") {
		t.Errorf("the reason for no length is %q, want a panic", why)
	}
	if st := p.Loops["zero"].Stats; st == nil || *st != (loop.Stats{}) {
		t.Errorf("the snapshot of a zero loop is %+v", st)
	}
}

func TestTheSnapshotHasLoopsAndQueues(t *testing.T) {
	rt, clock := kit.NewManual(t, foliot.Options{})
	q, empty := foliot.NewQueue[string](rt), foliot.NewQueue[string](rt)
	for _, d := range []time.Duration{-time.Second, time.Minute, time.Hour} {
		if _, err := q.Push(d, "a value"); err != nil {
			t.Fatal(err)
		}
	}
	l := loop.New(loop.Options{Clock: loop.Virtual(0)})
	l.CallAt(time.Hour, func() {})
	l.CallAt(2*time.Hour, func() {})
	l.Step()
	h := inspect.Handler(inspect.Options{
		Runtimes: map[string]*foliot.Runtime{},
		Loops:    map[string]*loop.Loop{"script": l},
		Queues:   map[string]inspect.Queue{"jobs": q, "empty": empty},
	})
	p := snapshot(t, h)
	if len(p.Runtimes) != 0 {
		t.Errorf("the snapshot has %d runtimes, want none", len(p.Runtimes))
	}
	if st := p.Loops["script"].Stats; st == nil || *st != (loop.Stats{Timers: 1, Next: time.Hour}) {
		t.Errorf("the snapshot of the loop is %+v, want one timer in an hour", st)
	}
	jobs := p.Queues["jobs"]
	if jobs.Len != 3 || jobs.Overdue != 1 || jobs.Next == nil || *jobs.Next != -time.Second || !slices.Equal(jobs.Horizon, q.Horizon()) {
		t.Errorf("the snapshot of the queue is %+v, want 3 values, 1 of them overdue since a second", jobs)
	}
	if e := p.Queues["empty"]; e.Len != 0 || e.Next != nil || e.Horizon == nil || len(e.Unavailable) != 0 {
		t.Errorf("the snapshot of an empty queue is %+v", e)
	}
	q.TryWait(make([]string, 1))
	clock.Advance(time.Second)
	if jobs := snapshot(t, h).Queues["jobs"]; jobs.Overdue != 0 || *jobs.Next <= 0 || *jobs.Next > 59*time.Second {
		t.Errorf("the snapshot of the queue is %+v, want none overdue, the next in 59 s or somewhat less", jobs)
	}
}

func TestWithoutOptionsTheDefaultRuntimeIsShown(t *testing.T) {
	p := snapshot(t, inspect.Handler(inspect.Options{}))
	if st := p.Runtimes["default"].Stats; len(p.Runtimes) != 1 || st == nil || st.Workers != foliot.Default().Stats().Workers {
		t.Errorf("the snapshot has %+v, want the default runtime", p.Runtimes)
	}
}

func TestAHandlerKeepsACopyOfItsOptions(t *testing.T) {
	rt, _ := kit.NewManual(t, foliot.Options{})
	runtimes := map[string]*foliot.Runtime{"a": rt}
	h := inspect.Handler(inspect.Options{Runtimes: runtimes})
	runtimes["b"] = rt
	if n := len(snapshot(t, h).Runtimes); n != 1 {
		t.Errorf("the snapshot has %d runtimes, want 1", n)
	}
}

func TestOnlyWhatThereIsCanBeRead(t *testing.T) {
	h := inspect.Handler(inspect.Options{})
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 200},
		{"HEAD", "/", 200},
		{"GET", "/index.html", 200},
		{"GET", "/snapshot.json", 200},
		{"HEAD", "/snapshot.json", 200},
		{"HEAD", "/events", 200},
		{"GET", "/nothing", 404},
		{"GET", "/page/index.html", 404},
		{"GET", "/snapshot.json/", 404},
		{"GET", "/../inspect.go", 404},
		{"GET", "//", 404},
		{"POST", "/", 405},
		{"PUT", "/snapshot.json", 405},
		{"DELETE", "/events", 405},
		{"OPTIONS", "/", 405},
		{"POST", "/nothing", 405},
	} {
		w := get(h, c.method, c.path)
		if w.Code != c.status {
			t.Errorf("%s %s: the status is %d, want %d", c.method, c.path, w.Code, c.status)
		}
		if c.status == 404 && !strings.Contains(w.Body.String(), "http.StripPrefix") {
			t.Errorf("%s %s: the text is %q, want the advice to remove the prefix", c.method, c.path, w.Body)
		}
		if allow := w.Header().Get("Allow"); (allow == "GET, HEAD") != (c.status == 405) {
			t.Errorf("%s %s: Allow is %q", c.method, c.path, allow)
		}
		if c.method == "HEAD" && w.Body.Len() != 0 {
			t.Errorf("HEAD %s: there is a body", c.path)
		}
		wantHeaders(t, c.method+" "+c.path, w.Header())
	}
}

// wantHeaders checks the headers that each response has.
func wantHeaders(t *testing.T, what string, h http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
			"font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
		"X-Content-Type-Options": "nosniff",
		"Referrer-Policy":        "no-referrer",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
	if got := h.Get("Cache-Control"); got != "no-store" && got != "no-cache" {
		t.Errorf("%s: Cache-Control is %q", what, got)
	}
}

func TestThePageIsNotSentAgainIfTheBrowserHasIt(t *testing.T) {
	h := inspect.Handler(inspect.Options{})
	w := get(h, "GET", "/")
	tag := w.Header().Get("ETag")
	if w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("Cache-Control") != "no-cache" || tag == "" {
		t.Fatalf("the page has the headers %v", w.Header())
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("If-None-Match", tag)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("the status is %d with a body of %d bytes, want 304 and none", w.Code, w.Body.Len())
	}
	wantHeaders(t, "not modified", w.Header())
}

func TestTheHandlerWorksBelowAnyPrefix(t *testing.T) {
	h := inspect.Handler(inspect.Options{})
	mux := http.NewServeMux()
	mux.Handle("/debug/foliot/", http.StripPrefix("/debug/foliot", h))
	server := httptest.NewServer(mux)
	defer server.Close()
	plain := httptest.NewServer(http.StripPrefix("/a/b", h)) // does not redirect
	defer plain.Close()
	slash := http.NewServeMux() // the prefix that is removed ends in a slash
	slash.Handle("/debug/foliot/", http.StripPrefix("/debug/foliot/", h))
	withSlash := httptest.NewServer(slash)
	defer withSlash.Close()
	for _, c := range []struct{ address, end string }{
		{server.URL + "/debug/foliot", "/debug/foliot/"},
		{server.URL + "/debug/foliot/", "/debug/foliot/"},
		{server.URL + "/debug/foliot/snapshot.json", "/debug/foliot/snapshot.json"},
		{plain.URL + "/a/b", "/a/b/"},
		{plain.URL + "/a/b?x=1", "/a/b/?x=1"},
		{withSlash.URL + "/debug/foliot", "/debug/foliot/"},
		{withSlash.URL + "/debug/foliot/", "/debug/foliot/"},
		{withSlash.URL + "/debug/foliot/?x=/1", "/debug/foliot/?x=/1"},
		{withSlash.URL + "/debug/foliot/app.js", "/debug/foliot/app.js"},
		{withSlash.URL + "/debug/foliot/snapshot.json", "/debug/foliot/snapshot.json"},
	} {
		resp, err := http.Get(c.address)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Request.URL.RequestURI(); resp.StatusCode != http.StatusOK || got != c.end {
			t.Errorf("%s leads to %s with the status %d, want %s and 200", c.address, got, resp.StatusCode, c.end)
		}
	}
}

// The page must work below any prefix, without a network, and under its own policy.
func TestThePageRefersOnlyToItsOwnFiles(t *testing.T) {
	h := inspect.Handler(inspect.Options{})
	page := get(h, "GET", "/").Body.String()
	for _, bad := range []string{" style=", " onclick=", " onload=", "<style", "<base"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %s", bad)
		}
	}
	found := regexp.MustCompile(`<(\w+)[^>]*?\s(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, f := range found {
		tag, target := f[1], f[2]
		if strings.HasPrefix(target, "#") || strings.HasPrefix(target, "data:") || tag == "a" && strings.HasPrefix(target, "https://") {
			continue
		}
		if w := get(h, "GET", "/"+target); strings.HasPrefix(target, "/") || w.Code != http.StatusOK {
			t.Errorf("the page refers to %s, whose status is %d", target, w.Code)
		}
	}
	if len(found) == 0 {
		t.Error("the page refers to no file")
	}
}

// A program that uses neither this package nor client must not have net/http in its binary because of the library.
// Package natsserver is for tests and benchmarks.
func TestOnlyThisPackageAndClientImportNetHTTP(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || slices.Contains([]string{"test", "inspect", "client", "natsserver"}, d.Name()) || strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			if name := strings.Trim(i.Path.Value, `"`); name == "net" || strings.HasPrefix(name, "net/") || strings.HasSuffix(name, "/inspect") {
				t.Errorf("%s imports %s", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
