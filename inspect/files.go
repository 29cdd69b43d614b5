package inspect

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed page
var pageFS embed.FS

// ContentPolicy is the page's Content-Security-Policy header. It lets a browser load files from the
// page's own server and nothing else, and forbids scripts and styles in the HTML, frames around the
// page, and forms. A page built from [Files] works with it.
const ContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Files returns the page's files, for a program that shows live snapshots on its own page, as
// foliot serve does. Most programs only need a [Handler].
//
// The page is index.html. A comment in it such as <!-- wheel.html --> stands for the contents of
// the file of that name, which the server substitutes. The script app.js creates a Live, which
// live.js exports and describes, and tells it where to get snapshots, for example from a Handler's
// /events. The scripts import each other by relative addresses, so they can be served below any
// prefix, but must be in one directory.
//
// The names and the contents of the files may change with each release.
func Files() fs.FS {
	page, err := fs.Sub(pageFS, "page")
	if err != nil {
		panic(err) // the name is valid
	}
	return page
}

// A file is one of the page's files, as the handler sends it.
type file struct {
	contentType string
	etag        string
	body        []byte
}

// files returns the page's files by address. It reads them when it is first called.
var files = sync.OnceValue(func() map[string]file {
	all := map[string]file{}
	var page string
	parts := map[string]string{}
	err := fs.WalkDir(Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(Files(), name)
		switch {
		case err != nil:
			return err
		case name == "index.html":
			page = string(body)
		case path.Ext(name) == ".html":
			parts["<!-- "+name+" -->"] = string(bytes.TrimSpace(body))
		default:
			all["/"+name] = newFile(path.Ext(name), body)
		}
		return nil
	})
	if err != nil {
		panic(err) // the files are in the binary
	}
	for mark, part := range parts {
		page = strings.ReplaceAll(page, mark, part)
	}
	all["/"] = newFile(".html", []byte(page))
	all["/index.html"] = all["/"]
	return all
})

func newFile(extension string, body []byte) file {
	sum := sha256.Sum256(body)
	return file{contentTypes[extension], `"` + hex.EncodeToString(sum[:16]) + `"`, body}
}

// contentTypes maps file extensions to content types. Those in package mime depend on the machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	"":      "text/plain; charset=utf-8",
}

// serveFile serves one of the page's files. A browser caches it, and asks each time whether it has
// changed.
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
