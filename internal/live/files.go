// Package live holds the live picture of timers that two pages of Foliot share, the page of package inspect and the page of
// foliot serve: its scripts and styles, the colours and the way numbers are written, and parts of the HTML. A page is a shell that names the parts, and a script that makes
// a Live of live.js.
package live

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
)

//go:embed *.js *.css *.svg *.html uplot
var own embed.FS

// ContentPolicy lets a page load files of its own server, and nothing else. There are no scripts and styles in the HTML.
const ContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// A File is a file of a page, as a server sends it.
type File struct {
	ContentType string
	ETag        string
	Body        []byte
}

// Add adds the files of the live picture, with addresses that begin with prefix.
func Add(all map[string]File, prefix string) { AddFS(all, prefix, own) }

// AddFS adds the files of a file system in the binary, with addresses that begin with prefix. HTML is left out: a page is added
// by its own address, see Page.
func AddFS(all map[string]File, prefix string, from fs.FS) {
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) == ".html" {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		all[prefix+name] = newFile(contentTypes[path.Ext(name)], body)
		return nil
	})
	if err != nil {
		panic(err) // the files are in the binary
	}
}

// Page returns a page. In the shell, a comment such as <!-- wheel.html --> stands for a part of the HTML.
func Page(shell string) File {
	parts, err := fs.Glob(own, "*.html")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for _, name := range parts {
		part, err := fs.ReadFile(own, name)
		if err != nil {
			panic(err) // the file is in the binary
		}
		shell = strings.ReplaceAll(shell, "<!-- "+name+" -->", string(bytes.TrimSpace(part)))
	}
	return newFile(contentTypes[".html"], []byte(shell))
}

func newFile(contentType string, body []byte) File {
	sum := sha256.Sum256(body)
	return File{contentType, `"` + hex.EncodeToString(sum[:16]) + `"`, body}
}

// contentTypes has the types of files by the ends of their names. Those of package mime depend on the
// machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	"":      "text/plain; charset=utf-8",
}
