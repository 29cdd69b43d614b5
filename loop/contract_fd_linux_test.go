package loop_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

func openFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// waits makes l wait for a timer, for which it may open a file.
func waits(t testing.TB, l *loop.Loop) {
	t.Helper()
	l.CallLater(2*millisecond, noop)
	runIdle(t, l)
}

func TestCloseGivesBackFiles(t *testing.T) {
	waits(t, newLoop(t, loop.Options{})) // opens what the process needs once
	before := openFiles(t)
	for range 50 {
		l := loop.New(loop.Options{})
		waits(t, l)
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if now := openFiles(t); now > before+5 {
		t.Errorf("%d files were open, %d are after 50 loops were closed", before, now)
	}
}

func TestAForgottenLoopGivesBackFiles(t *testing.T) {
	waits(t, newLoop(t, loop.Options{}))
	before := openFiles(t)
	for range 50 {
		waits(t, loop.New(loop.Options{}))
	}
	for end := time.Now().Add(patience); openFiles(t) > before+5; time.Sleep(millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d files were open, %d are after 50 loops were forgotten", before, openFiles(t))
		}
		runtime.GC()
	}
}
