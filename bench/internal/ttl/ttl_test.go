package ttl

import (
	"os"
	"path/filepath"
	"testing"
)

// The example is in another module. This copy must be the same.
func TestTheCopyIsTheExample(t *testing.T) {
	example, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "ttl", "ttl.go"))
	if err != nil {
		t.Skip("this is not a checkout of the repository")
	}
	here, err := os.ReadFile("ttl.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(here) != string(example) {
		t.Error("ttl.go differs from examples/ttl/ttl.go; copy it")
	}
}
