package jetstream

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThePermissionsInThePageAreThoseOfTheCode looks for each request of the code in docs/cluster.md.
func TestThePermissionsInThePageAreThoseOfTheCode(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cluster.md"))
	if err != nil {
		t.Skip("this is not a checkout of the repository")
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	requests := regexp.MustCompile(`\.api ?\+ ?"([A-Z.]+)\."`)
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range requests.FindAllStringSubmatch(string(text), -1) {
			found["$JS.API."+m[1]+"."] = true
		}
	}
	for _, token := range []string{timerToken, barrierToken, heartbeatToken} {
		found["`"+defaultStream+token] = true
	}
	if len(found) < 8 {
		t.Errorf("the code has only these requests: %v", found)
	}
	for subject := range found {
		if !strings.Contains(string(page), subject) {
			t.Errorf("the page does not have the subject %s", subject)
		}
	}
}
