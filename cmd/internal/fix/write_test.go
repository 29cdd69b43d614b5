package fix

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWriteKeepsModesAndLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are different there")
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.go"), filepath.Join(dir, "link.go")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.go", link); err != nil {
		t.Fatal(err)
	}
	if err := Write([]Change{{link, []byte("old"), []byte("new")}}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "new" {
		t.Errorf("error %v, text %q", err, text)
	}
	if info, err := os.Lstat(file); err != nil || info.Mode() != 0o640 {
		t.Errorf("error %v, mode %v", err, info.Mode())
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("error %v, mode %v", err, info.Mode())
	}
}

func TestWriteChangesNothingIfAFileWasChangedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.go"), filepath.Join(dir, "b.go")
	for _, name := range []string{a, b} {
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := Write([]Change{
		{a, []byte("old"), []byte("new")},
		{b, []byte("older"), []byte("new")},
	})
	if err == nil || !strings.Contains(err.Error(), "b.go was changed meanwhile") {
		t.Errorf("error %v", err)
	}
	if text, err := os.ReadFile(a); err != nil || string(text) != "old" {
		t.Errorf("error %v, text %q", err, text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("error %v, left behind: %v", err, left)
	}
}
