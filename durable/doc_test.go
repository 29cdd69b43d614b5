package durable_test

import (
	"os"
	"strings"
	"testing"
)

// TestTheFirstProgramOfTheDocumentationIsCompiled checks that the first program of doc.go is also in
// example_test.go, where the compiler and go test see it.
func TestTheFirstProgramOfTheDocumentationIsCompiled(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	for line := range strings.Lines(string(doc)) {
		code, ok := strings.CutPrefix(line, "//\t")
		if ok {
			program.WriteString("\t" + code)
		} else if program.Len() > 0 {
			break
		}
	}
	if !strings.Contains(program.String(), "local.Open") || !strings.Contains(string(example), program.String()) {
		t.Errorf("this is in doc.go but not in example_test.go:\n%s", program.String())
	}
}
