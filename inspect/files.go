package inspect

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/look"
)

//go:embed page
var pageFS embed.FS

// A file is a file of the page.
type file struct {
	contentType string
	etag        string
	body        []byte
}

// files returns the files of the page by their addresses. It reads them when it is first called.
var files = sync.OnceValue(func() map[string]file {
	all := map[string]file{}
	page, err := fs.Sub(pageFS, "page")
	if err != nil {
		panic(err) // there is such a folder
	}
	addFiles(all, "/", page)
	addFiles(all, "/look/", look.Files) // what the pages of Foliot have in common
	all["/"] = all["/index.html"]
	return all
})

// addFiles adds the files of a file system in the binary, with addresses that begin with prefix.
func addFiles(all map[string]file, prefix string, from fs.FS) {
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		all[prefix+name] = file{contentTypes[path.Ext(name)], `"` + hex.EncodeToString(sum[:16]) + `"`, body}
		return nil
	})
	if err != nil {
		panic(err) // the files are in the binary
	}
}

// contentTypes has the types of files by the ends of their names. Those of package mime depend on the
// machine.
var contentTypes = map[string]string{
	".html":  "text/html; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".json":  "application/json",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".ico":   "image/x-icon",
	".woff2": "font/woff2",
	".txt":   "text/plain; charset=utf-8",
	"":       "text/plain; charset=utf-8",
}

// serveFile serves the file of the page with a name. A browser keeps it, and asks each time whether it has changed.
func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := files()[name]
	if !ok {
		http.Error(w, "404 page not found: the live page of Foliot is at /, after http.StripPrefix has removed the prefix of its mount", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", f.contentType)
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}
