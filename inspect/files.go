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

// ContentPolicy is the header Content-Security-Policy of the page. It lets a browser load files of the page's own server
// and nothing else, and forbids scripts and styles in the HTML, other pages that frame this one, and forms. A page made
// from [Files] works with it.
const ContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// Files returns the files of the page, for a program that shows the live pictures on a page of its own, as foliot serve
// does. Most programs only need a [Handler].
//
// The page is index.html. A comment in it such as <!-- wheel.html --> stands for the part of the page in the file of
// that name, which the server puts in its place. The script app.js starts the pictures: it makes a Live, which live.js
// exports and describes, and tells it where to get them, for example from /events of a Handler. The scripts import
// each other by relative addresses, so they can be served below any prefix, but in one folder.
//
// The names and the contents of the files may change with each release.
func Files() fs.FS {
	page, err := fs.Sub(pageFS, "page")
	if err != nil {
		panic(err) // the name is valid
	}
	return page
}

// A file is a file of the page, as the handler sends it.
type file struct {
	contentType string
	etag        string
	body        []byte
}

// files returns the files of the page by their addresses. It reads them when it is first called.
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

// contentTypes has the types of files by the ends of their names. Those of package mime depend on the machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	"":      "text/plain; charset=utf-8",
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
