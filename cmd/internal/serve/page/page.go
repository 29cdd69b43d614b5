// Package page holds the files of the page of foliot serve: the live picture of the timers, which it shares with the page of
// package inspect, and tables and a form for the timers themselves. The files have no data in them. A script gets all data from the API.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"

	"github.com/foliot-go/foliot/inspect"
)

//go:embed files
var filesFS embed.FS

// A File is a file of the page, as a server sends it.
type File struct {
	ContentType string
	ETag        string
	Body        []byte
}

// Files returns the files by their addresses: the page is at /, the rest below /page/, with the files of package inspect
// below /page/live/. needsToken says that the page must ask for the token.
func Files(needsToken bool) map[string]File {
	own, err := fs.Sub(filesFS, "files")
	if err != nil {
		panic(err) // the name is valid
	}
	all := map[string]File{}
	html := add(all, "/page/", own)["index.html"]
	for name, part := range add(all, "/page/live/", inspect.Files()) {
		html = strings.ReplaceAll(html, "<!-- "+name+" -->", part)
	}
	if needsToken {
		html = strings.Replace(html, `<html lang="en">`, `<html lang="en" data-token="needed">`, 1)
	}
	all["/"] = newFile(".html", []byte(html))
	return all
}

// add adds the files of a file system in the binary, with addresses that begin with prefix. It returns the HTML by the
// names of the files, and does not add it: it is the page, or part of it.
func add(all map[string]File, prefix string, from fs.FS) (html map[string]string) {
	html = map[string]string{}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		if extension := path.Ext(name); extension == ".html" {
			html[name] = string(bytes.TrimSpace(body))
		} else {
			all[prefix+name] = newFile(extension, body)
		}
		return nil
	})
	if err != nil {
		panic(err) // the files are in the binary
	}
	return html
}

func newFile(extension string, body []byte) File {
	sum := sha256.Sum256(body)
	return File{contentTypes[extension], `"` + hex.EncodeToString(sum[:16]) + `"`, body}
}

// contentTypes has the types of files by the ends of their names. Those of package mime depend on the machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	"":      "text/plain; charset=utf-8",
}
