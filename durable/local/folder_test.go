package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot-go/foliot/durable"
)

// wantError checks that an error names what it is about and says what to do.
func wantError(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one", what)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: the error is %q, want %q in it", what, err, part)
		}
	}
}

func TestOpenBadFolder(t *testing.T) {
	_, err := Open("", Options{})
	wantError(t, "empty path", err, "empty", "name the folder")

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(file, Options{})
	wantError(t, "a file", err, file, "it is a file")
	_, err = Open(filepath.Join(file, "below"), Options{})
	wantError(t, "below a file", err, file)

	for _, code := range []error{syscall.EACCES, syscall.EROFS} {
		fs := faultFS{vfs.NewMem(), func(string, string) error { return code }}
		_, err := open("folder", Options{}, fs)
		wantError(t, fmt.Sprint(code), err, "folder folder", "cannot be written")
	}
	fs := faultFS{vfs.NewMem(), func(op, _ string) error {
		if op == "write" {
			return syscall.ENOSPC
		}
		return nil
	}}
	_, err = open("folder", Options{}, fs)
	wantError(t, "full disk", err, "folder folder", "disk is full")
}

func TestOpenReadOnlyFolder(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("this user may write to read-only folders")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{})
	wantError(t, "read-only folder", err, dir, "cannot be written")
}

// TestOpenTwice checks that a folder is open once, in this process and in others.
func TestOpenTwice(t *testing.T) {
	if dir := os.Getenv("FOLIOT_SECOND_DIR"); dir != "" {
		_, err := Open(dir, Options{})
		fmt.Println("second:", err)
		return
	}
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{})
	wantError(t, "in the same process", err, dir, "close it there first")
	second := func() error {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOpenTwice$", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), "FOLIOT_SECOND_DIR="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("the second process: %v", err)
		}
		_, text, ok := strings.Cut(string(out), "second: ")
		text, _, _ = strings.Cut(text, "\n")
		if !ok {
			t.Fatalf("the second process printed %q", out)
		}
		return fmt.Errorf("%s", text)
	}
	wantError(t, "in another process", second(), dir, "close it there first")
	if _, err := s.Schedule(t.Context(), []durable.Timer{{ID: "a", Kind: "k", At: time.Now()}}, durable.Condition{}); err != nil {
		t.Errorf("Schedule after others have tried to open the folder: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, "in another process after Close", second(), "<nil>")
}

// TestNoSync checks that a store with NoSync syncs nothing, and that each acknowledged change has
// reached the file.
func TestNoSync(t *testing.T) {
	mem := vfs.NewMem()
	var mu sync.Mutex
	syncs, writes := 0, 0
	fs := faultFS{mem, func(op, name string) error {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(op, "sync") {
			syncs++
		}
		if op == "write" && strings.HasSuffix(name, ".log") {
			writes++
		}
		return nil
	}}
	s, err := open("folder", Options{NoSync: true}, fs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		mu.Lock()
		before := writes
		mu.Unlock()
		if _, err := s.Schedule(t.Context(), []durable.Timer{{ID: fmt.Sprint(i), Kind: "k", At: time.Now()}}, durable.Condition{}); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if writes == before {
			t.Errorf("change %d was acknowledged and not written", i)
		}
		mu.Unlock()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if syncs != 0 {
		t.Errorf("%d syncs, want none", syncs)
	}
}
