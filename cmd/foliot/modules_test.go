package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The modules that are linked into foliot are those in testdata/modules.txt. Each of them is code that runs beside the
// timers of those who use the server, that they must trust and keep up to date: think twice before you add one.
//
// They are those of a build without the workspace and with cgo, which is what go install gets. Without cgo, as in the image,
// DataDog/zstd is not among them.
func TestTheModulesOfTheBinaryAreTheOnesInTheList(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOWORK=off", "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=1", "GOFLAGS=")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	linked := strings.Fields(string(out))
	slices.Sort(linked)
	linked = slices.Compact(linked)
	text, err := os.ReadFile(filepath.Join("testdata", "modules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(string(text))
	for _, m := range linked {
		if !slices.Contains(listed, m) {
			t.Errorf("foliot links %s: is it worth it for those who run the server? If so, add it to testdata/modules.txt", m)
		}
	}
	for _, m := range listed {
		if !slices.Contains(linked, m) {
			t.Errorf("foliot does not link %s any more: remove it from testdata/modules.txt", m)
		}
	}
	// Peers of a benchmark, and tools, that were linked once.
	for _, word := range []string{"sqlite", "redis", "lua", "opentelemetry", "golang.org/x/tools", "kin-openapi", "foliot/bench", "foliot/lab"} {
		for _, m := range listed {
			if strings.Contains(m, word) {
				t.Errorf("%s does not belong into the server", m)
			}
		}
	}
}
