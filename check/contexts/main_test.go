package contexts

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	seedFlag = flag.Uint64("seed", 1, "the `number` random programs and trees start from")
	budget   = flag.Duration("budget", 2*time.Second, "`time` to spend on random programs or trees, for each test of them")
	patience = flag.Duration("patience", 30*time.Second, "`time` to wait for what must come")
)

// share is one of n parts of the budget.
func share(n int) time.Duration {
	b := *budget
	if testing.Short() {
		b = min(b, 300*time.Millisecond)
	}
	return b / time.Duration(n)
}

// waitFor reports whether wg is done in time.
func waitFor(d time.Duration, wg *sync.WaitGroup) bool {
	var done atomic.Bool
	go func() { wg.Wait(); done.Store(true) }()
	return eventually(d, done.Load)
}

// eventually waits until ok returns true, and returns false if that takes too long.
func eventually(d time.Duration, ok func() bool) bool {
	for range 20 {
		if ok() {
			return true
		}
		runtime.Gosched()
	}
	pause := 5 * time.Microsecond
	for start := time.Now(); !ok(); time.Sleep(pause) {
		if time.Since(start) > d {
			return false
		}
		pause = min(2*pause, time.Millisecond)
	}
	return true
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
