package inspect

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/live"
)

//go:embed page
var pageFS embed.FS

// files returns the files of the page by their addresses. It reads them when it is first called.
var files = sync.OnceValue(func() map[string]live.File {
	all := map[string]live.File{}
	page, err := fs.Sub(pageFS, "page")
	if err != nil {
		panic(err) // there is such a folder
	}
	shell, err := fs.ReadFile(page, "index.html")
	if err != nil {
		panic(err) // there is such a file
	}
	live.Add(all, "/")
	live.AddFS(all, "/", page)
	all["/"] = live.Page(string(shell))
	all["/index.html"] = all["/"]
	return all
})

// serveFile serves the file of the page with a name. A browser keeps it, and asks each time whether it has changed.
func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := files()[name]
	if !ok {
		http.Error(w, "404 page not found: the live page of Foliot is at /, after http.StripPrefix has removed the prefix of its mount", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", f.ContentType)
	h.Set("ETag", f.ETag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.Body))
}
