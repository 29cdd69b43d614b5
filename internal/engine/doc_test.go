package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A reader who follows the order in doc.go must meet every file.
func TestTheReadingOrderNamesEveryFile(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 30 {
		t.Fatalf("found %d files, error %v", len(files), err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") && file != "doc.go" && !strings.Contains(string(text), file) {
			t.Errorf("doc.go does not name %s", file)
		}
	}
}
