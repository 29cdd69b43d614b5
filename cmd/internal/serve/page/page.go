// Package page holds the files of the page of foliot serve: the live picture of the timers, which it shares with the page of
// package inspect, and tables and a form for the timers themselves. The files have no data in them. A script gets all data from the API.
package page

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/foliot-go/foliot/internal/live"
)

//go:embed files
var filesFS embed.FS

// Files returns the files by their addresses: the page is at /, the rest below /page/. needsToken says that the page must ask for
// the token.
func Files(needsToken bool) map[string]live.File {
	own, err := fs.Sub(filesFS, "files")
	if err != nil {
		panic(err) // there is such a folder
	}
	shell, err := fs.ReadFile(own, "index.html")
	if err != nil {
		panic(err) // there is such a file
	}
	html := string(shell)
	if needsToken {
		html = strings.Replace(html, `<html lang="en">`, `<html lang="en" data-token="needed">`, 1)
	}
	all := map[string]live.File{"/": live.Page(html)}
	live.AddFS(all, "/page/", own)
	live.Add(all, "/page/live/")
	return all
}
