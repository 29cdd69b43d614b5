package inspect

import (
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/loop"
)

const (
	intervalDefault = 500 * time.Millisecond
	intervalMin     = 100 * time.Millisecond
)

// Options say what a [Handler] shows. The zero value shows the default runtime.
type Options struct {
	// Runtimes are the runtimes to show, by a name for each. If it is nil, the default runtime is
	// shown, with the name "default". The Handler keeps a copy of the map.
	Runtimes map[string]*foliot.Runtime

	// Interval is the time between two pictures in /events. 0 means 500 ms. It is at least 100 ms.
	Interval time.Duration

	// Loops and Queues are shown, too, by a name for each.
	Loops  map[string]*loop.Loop
	Queues map[string]Queue
}

// A Queue is a queue of values that are due later. Every [foliot.Queue] is one.
type Queue interface {
	Len() int
	Horizon() []foliot.HorizonBucket
}

// Handler returns a handler that serves a page that shows runtimes live, and the same as JSON. It may
// be mounted below any prefix, which the caller removes, with or without the slash at its end:
//
//	http.Handle("/debug/foliot/", http.StripPrefix("/debug/foliot", inspect.Handler(inspect.Options{})))
//
// Nothing that a request can do changes the program. But the names of functions and the figures are
// for the operators of the program only: see the package documentation for how to protect it.
//
// The handler starts no goroutine before the first request for /events, and has none when no client
// listens any more.
func Handler(o Options) http.Handler {
	h := &handler{source: newSource(o)}
	h.feed.open(h.source, interval(o.Interval))
	return h
}

// interval returns the time between two pictures for Options.Interval.
func interval(d time.Duration) time.Duration {
	if d == 0 {
		return intervalDefault
	}
	return max(d, intervalMin)
}

// A handler serves the page, single pictures, and the feed of pictures.
type handler struct {
	source source
	feed   feed
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this page can only be read: use GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	switch name := nameOf(r); name {
	case "":
		redirectToFolder(w, r)
	case "/snapshot.json":
		h.serveSnapshot(w, r)
	case "/events":
		h.feed.serve(w, r)
	default:
		serveFile(w, r, name)
	}
}

// nameOf returns what a request is for, with a slash at the beginning. It returns "" for the mount without
// the slash at its end. If the prefix that was removed ended in a slash, so that the path does not begin
// with one, nameOf adds it. Then the path is empty for the mount with and without the slash, and the
// address that the client has sent decides.
func nameOf(r *http.Request) string {
	name := r.URL.Path
	if name == "" {
		if sent, _, _ := strings.Cut(r.RequestURI, "?"); !strings.HasSuffix(sent, "/") {
			return ""
		}
	}
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return name
}

// setHeaders sets the headers that all responses have.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", ContentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// redirectToFolder redirects a request for the mount without the slash at its end. The addresses on
// the page are relative, so they would lead elsewhere. The address of the redirect is relative, too,
// because the handler does not know the prefix that was removed.
func redirectToFolder(w http.ResponseWriter, r *http.Request) {
	target, query, found := strings.Cut(r.RequestURI, "?")
	target = "./" + path.Base(target) + "/"
	if found {
		target += "?" + query
	}
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusMovedPermanently)
}

func (h *handler) serveSnapshot(w http.ResponseWriter, r *http.Request) {
	body, err := h.source.picture()
	if err != nil {
		http.Error(w, "foliot: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client is gone
	}
}
