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

// Options configure a [Handler]. The zero value shows the default runtime.
type Options struct {
	// Runtimes are the runtimes to show, by name. nil means the default runtime, under the name
	// "default". The Handler copies the map.
	Runtimes map[string]*foliot.Runtime

	// Interval is the time between two snapshots in /events. 0 means 500 ms, and less than 100 ms
	// means 100 ms.
	Interval time.Duration

	// Loops and Queues are the loops and queues to show, by name. The Handler copies these maps as
	// well.
	Loops  map[string]*loop.Loop
	Queues map[string]Queue
}

// A Queue is a delay queue. Every [foliot.Queue] is one.
type Queue interface {
	Len() int
	Horizon() []foliot.HorizonBucket
}

// Handler returns a handler for a page that shows runtimes live, and for the same figures as JSON. It
// may be mounted below any prefix, which the caller strips, with or without its trailing slash:
//
//	http.Handle("/debug/foliot/", http.StripPrefix("/debug/foliot", inspect.Handler(inspect.Options{})))
//
// No request can change the program. Still, function names and figures are for the program's
// operators only; see the package documentation for how to protect the page.
//
// The handler starts no goroutine before the first request for /events, and has none once no client
// is listening.
func Handler(o Options) http.Handler {
	h := &handler{source: newSource(o)}
	h.feed.open(h.source, interval(o.Interval))
	return h
}

// interval returns the time between two snapshots for Options.Interval.
func interval(d time.Duration) time.Duration {
	if d == 0 {
		return intervalDefault
	}
	return max(d, intervalMin)
}

// A handler serves the page, single snapshots and the feed of snapshots.
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
	switch name := requestPath(r); name {
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

// requestPath returns a request's path below the mount, with a leading slash, or "" for the mount
// without its trailing slash. If the prefix that was stripped ended in a slash, the path has no
// leading one, and is empty for the mount with and without the slash; the address that the client
// sent then decides.
func requestPath(r *http.Request) string {
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

// setHeaders sets the headers common to all responses.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", ContentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// redirectToFolder redirects a request for the mount without its trailing slash, from where the
// page's relative addresses would lead elsewhere. The redirect is relative as well, because the
// handler does not know the prefix that was stripped.
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
	body, err := h.source.snapshot()
	if err != nil {
		http.Error(w, "foliot: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client is gone
	}
}
