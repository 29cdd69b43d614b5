package loop_test

import (
	"runtime"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// waitForTimer makes l wait for a timer. The loop may open a file for that.
func waitForTimer(t testing.TB, l *loop.Loop) {
	t.Helper()
	l.CallLater(2*millisecond, noop)
	runUntilIdle(t, l)
}

func TestClosedLoopsLeaveNoFilesOpen(t *testing.T) {
	waitForTimer(t, newLoop(t, loop.Options{})) // opens the files that the process keeps open
	before := testkit.OpenFiles(t)
	for range 50 {
		l := loop.New(loop.Options{})
		waitForTimer(t, l)
		closeLoop(t, l)
	}
	if now := testkit.OpenFiles(t); now > before+5 {
		t.Errorf("%d files are open after 50 loops were closed, want at most %d", now, before+5)
	}
}

func TestUnreachableLoopsLeaveNoFilesOpen(t *testing.T) {
	waitForTimer(t, newLoop(t, loop.Options{}))
	before := testkit.OpenFiles(t)
	for range 50 {
		waitForTimer(t, loop.New(loop.Options{}))
	}
	testkit.Eventually(t, "no more open files than before 50 loops", func() bool {
		runtime.GC()
		return testkit.OpenFiles(t) <= before+5
	})
}
