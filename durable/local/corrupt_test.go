package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/internal/testkit"
)

const filled = 130

// fillFolder returns a folder with timers, some in a table and some in the log, if tables are small. It is as
// after Close, or as after the process was killed.
func fillFolder(t *testing.T, killed bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range filled {
		id := fmt.Sprintf("c%03d", i)
		timers := []durable.Timer{{ID: id, Kind: "k", At: time.Now().Add(time.Hour), Payload: payloadOf(id)}}
		if _, err := s.Schedule(t.Context(), timers, durable.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if killed {
		// The copy is consistent once nothing is written in the background.
		testkit.Eventually(t, "a table", func() bool {
			tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
			return err == nil && len(tables) > 0
		})
		time.Sleep(50 * time.Millisecond)
		copyFolder(t, dir, dir+"-killed")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if killed {
		return dir + "-killed"
	}
	return dir
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// readAll opens a store and reads all timers. It returns how many there are.
func readAll(t *testing.T, dir string) (n int, err error) {
	s, err := Open(dir, Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for timer, err := range s.List(t.Context(), durable.Query{}) {
		if err != nil {
			return n, err
		}
		if !bytes.Equal(timer.Payload, payloadOf(timer.ID)) {
			t.Errorf("timer %s has the payload %q", timer.ID, timer.Payload)
		}
		n++
	}
	return n, nil
}

// TestCorruptFile flips bits in each kind of file. The store is refused or stops with an error that
// names the file, unless all timers are there.
func TestCorruptFile(t *testing.T) {
	testkit.SkipUnderRace(t, "it is about files")
	useSmallTables(t)
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %t", killed), func(t *testing.T) {
			t.Parallel()
			source := fillFolder(t, killed)
			if n, err := readAll(t, source); n != filled || err != nil {
				t.Fatalf("without damage: %d timers, %v", n, err)
			}
			source = fillFolder(t, killed) // opening has changed the other one
			files, err := os.ReadDir(source)
			if err != nil {
				t.Fatal(err)
			}
			damaged := 0
			for _, file := range files {
				name := file.Name()
				kind := filepath.Ext(name)
				if kind != ".log" && kind != ".sst" && !strings.HasPrefix(name, "MANIFEST") && name != syncedName {
					continue
				}
				damaged += flipEach(t, source, name)
			}
			if damaged == 0 {
				t.Error("no damage was noticed")
			}
		})
	}
}

// flipEach flips a bit at places all over a file, one after the other. It returns how often that was
// noticed.
func flipEach(t *testing.T, source, name string) (noticed int) {
	content, err := os.ReadFile(filepath.Join(source, name))
	if err != nil {
		t.Fatal(err)
	}
	places := 12
	if testing.Short() {
		places = 4
	}
	for at := 0; at < len(content); at += max(len(content)/places, 1) {
		dir := filepath.Join(t.TempDir(), "store")
		copyFolder(t, source, dir)
		flipped := bytes.Clone(content)
		flipped[at] ^= 0x40
		if err := os.WriteFile(filepath.Join(dir, name), flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := readAll(t, dir)
		switch {
		case err != nil:
			noticed++
			number := strings.TrimSuffix(strings.TrimPrefix(name, "MANIFEST-"), filepath.Ext(name))
			if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), number) {
				t.Errorf("%s, byte %d: the error does not name the file: %v", name, at, err)
			}
		case n != filled:
			t.Errorf("%s, byte %d: %d timers of %d, and no error", name, at, n, filled)
		}
	}
	return noticed
}

// TestPebbleIsSlowedDownAfterAnError reports an error twice. The first time the goroutine goes on at once:
// it may hold locks. It tries again without end if a table is damaged.
func TestPebbleIsSlowedDownAfterAnError(t *testing.T) {
	t.Parallel()
	e := newEngine()
	e.halt.armed.Store(true)
	begin := time.Now()
	e.backgroundError(errCrash)
	if took := time.Since(begin); took >= retryPause {
		t.Errorf("the first error takes %v", took)
	}
	begin = time.Now()
	e.backgroundError(errCrash)
	if took := time.Since(begin); took < retryPause {
		t.Errorf("the second error takes %v, want at least %v", took, retryPause)
	}
}
