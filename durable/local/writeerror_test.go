package local

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/testkit"
)

// TestWriteError plays the script once for each operation that changes a file or a folder, and makes
// that one fail. No call hangs, what is acknowledged is kept, and the file is not written or synced again.
func TestWriteError(t *testing.T) {
	testkit.SkipUnderRace(t, "TestSuiteWithCrashesAndFailures runs the same code")
	useSmallTables(t)
	for _, tt := range []struct {
		name  string
		err   error
		stays bool // all operations after it fail, too
	}{
		{"one error", syscall.EIO, false},
		{"the disk is full", syscall.ENOSPC, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			none := &fault{}
			none.play(t)
			for _, want := range []string{"create .log", "write .log", "sync .log", "create .sst", "write .sst", "sync .sst", "write MANIFEST", "sync MANIFEST", "sync folder"} {
				if none.count[want] == 0 {
					t.Errorf("the script has no operation %q: %v", want, none.count)
				}
			}
			for op := range none.count {
				n := 1
				for ; !t.Failed(); n += faultStep() {
					f := &fault{op: op, at: n, err: tt.err, stays: tt.stays}
					if f.play(t); !f.hit {
						break
					}
				}
				t.Logf("%s: up to number %d", op, n-1)
			}
		})
	}
}

// TestOpenFullDisk opens a store whose log must be written to tables, on a disk that is full. Pebble
// tries that without end. Open returns an error, releases the folder, and loses nothing.
func TestOpenFullDisk(t *testing.T) {
	mem := vfs.NewMem()
	s, err := open(scriptDir, Options{}, mem)
	if err != nil {
		t.Fatal(err)
	}
	const timers = 64
	at := time.Unix(2e9, 0)
	for i := range timers {
		timer := durable.Timer{ID: fmt.Sprint("a", i), Kind: "k", At: at, Payload: make([]byte, 60_000)}
		if _, err := s.Schedule(t.Context(), []durable.Timer{timer}, durable.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	full := faultFS{mem, func(op, name string) error {
		if op == "write" {
			return &fs.PathError{Op: op, Path: name, Err: syscall.ENOSPC}
		}
		return nil
	}}
	for range 2 { // the second time shows that the folder is not locked
		testkit.Returns(t, "Open", func() { _, err = open(scriptDir, Options{}, full) })
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("Open returned %v, want an error that wraps %v", err, syscall.ENOSPC)
		}
		wantError(t, "Open", err, scriptDir, "the disk is full; make room")
	}
	if s, err = open(scriptDir, Options{}, mem); err != nil {
		t.Fatal(err)
	}
	if n := s.Counts().Pending; n != timers {
		t.Errorf("%d timers are there, want %d", n, timers)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A fault is an operation that fails.
type fault struct {
	op    string // the kind of operation, empty: none fails
	at    int    // which one of this kind, from 1
	err   error
	stays bool

	mu    sync.Mutex
	count map[string]int
	hit   bool   // the operation has failed
	name  string // of its file
	after string // an operation on the file after it
	off   bool
}

// hook is the hook of a faultFS.
func (f *fault) hook(op, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.off {
		return nil
	}
	if f.hit {
		if name == f.name && (strings.HasPrefix(op, "sync") || op == "write") {
			f.after = op + " " + name
		}
		if f.stays {
			return f.err
		}
		return nil
	}
	if f.count == nil {
		f.count = make(map[string]int)
	}
	kind := op + " " + kindOf(name)
	f.count[kind]++
	if kind == f.op && f.count[kind] == f.at {
		f.hit, f.name = true, name
		return f.err
	}
	return nil
}

// kindOf returns the kind of a file.
func kindOf(name string) string {
	switch i := strings.LastIndexByte(name, '.'); {
	case strings.Contains(name, "MANIFEST"):
		return "MANIFEST"
	case strings.HasSuffix(name, scriptDir):
		return "folder"
	case i >= 0 && !strings.Contains(name, "marker"):
		return name[i:]
	}
	return "other"
}

// failed reports whether the operation has failed, and what came after it.
func (f *fault) failed() (hit bool, after string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit, f.after
}

// play plays the script with the fault, and opens the store again without it.
func (f *fault) play(t *testing.T) {
	mem := vfs.NewMem()
	l := newLedger(4)
	var mu sync.Mutex
	r, err := startScript(t, faultFS{mem, f.hook}, Options{}, 0, func(line string) {
		mu.Lock()
		defer mu.Unlock()
		l.line(line)
	})
	what := fmt.Sprintf("%s, number %d", f.op, f.at)
	if err == nil {
		f.playOn(t, r, what)
	} else if hit, _ := f.failed(); !hit || !errors.Is(err, f.err) || !strings.Contains(err.Error(), scriptDir) {
		t.Errorf("%s: Open returned %v, want an error that names the folder and wraps %v", what, err, f.err)
	}
	f.mu.Lock()
	f.off = true
	f.mu.Unlock()
	checkAfter(t, mem, l, what)
	reportProblems(t, l, what)
}

// playOn plays the script after Open has succeeded.
func (f *fault) playOn(t *testing.T, r *scriptRun, what string) {
	r.faulty = true
	err := r.begin()
	testkit.Returns(t, what+": the script", r.play)
	_, after := f.failed()
	_, _, failure := r.store.Get(t.Context(), "a1")
	if failure != nil && !errors.Is(failure, f.err) {
		t.Errorf("%s: Get returned %v, want an error that wraps %v", what, failure, f.err)
	}
	if failure != nil && err == nil {
		// Run ends by itself.
		run := testkit.Receive(t, r.done, what+": Run")
		if !errors.Is(run, f.err) {
			t.Errorf("%s: Run returned %v, want an error that wraps %v", what, run, f.err)
		}
		r.stop = nil
		if after != "" {
			t.Errorf("%s: %s came after the error", what, after)
		}
	}
	run, closed := r.end()
	if run != nil && !errors.Is(run, f.err) || closed != nil && !errors.Is(closed, f.err) {
		t.Errorf("%s: Run returned %v, Close %v; want errors that wrap %v or none", what, run, closed, f.err)
	}
	if _, err := r.s.Schedule(t.Context(), durable.Timer{ID: "z", Kind: "k", At: r.clock.Now()}); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("%s: Schedule after Close returned %v", what, err)
	}
}
