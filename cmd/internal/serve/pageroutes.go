package serve

import (
	"bytes"
	"net/http"
	"time"

	"github.com/foliot-go/foliot/cmd/internal/serve/page"
	"github.com/foliot-go/foliot/inspect"
)

// pageRoutes returns the routes of the page. Its files are open: they have no data in them. The snapshots are data.
func (s *server) pageRoutes() []route {
	files := page.Files(s.cfg.TokenFile != "")
	file := func(w http.ResponseWriter, r *http.Request) error { return serveFile(w, r, files) }
	return []route{
		{method: "GET", path: "/{$}", serve: file, open: true, early: true},
		{method: "GET", path: "/page/", serve: file, open: true, early: true},
		{method: "GET", path: "/live.json", serve: s.serveSnapshot},
	}
}

// serveFile serves a file of the page. A browser keeps it, and asks each time whether it has changed.
func serveFile(w http.ResponseWriter, r *http.Request, files map[string]page.File) error {
	f, ok := files[r.URL.Path]
	if !ok {
		return problem(http.StatusNotFound, "The page has no such file; the page is at /.")
	}
	h := w.Header()
	h.Set("Content-Security-Policy", inspect.ContentPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", f.ContentType)
	h.Set("ETag", f.ETag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.Body))
	return nil
}
