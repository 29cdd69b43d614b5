package contexts

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

var (
	seedFlag = flag.Uint64("seed", 1, "the first `number` for random programs and trees")
	budget   = flag.Duration("budget", 2*time.Second, "`time` for random programs or trees in each test")
	patience = flag.Duration("patience", 30*time.Second, "`time` to wait for a condition that must become true")
)

// share returns the n-th part of the budget.
func share(n int) time.Duration { return testkit.Share(*budget, n) }

// doneWithin waits for wg, for at most d. It reports whether wg is done.
func doneWithin(d time.Duration, wg *sync.WaitGroup) bool {
	var done atomic.Bool
	go func() { wg.Wait(); done.Store(true) }()
	return trueWithin(d, done.Load)
}

// trueWithin calls ok until it returns true, for at most d. It reports whether ok did. It does not
// sleep at first, since most conditions are true within microseconds.
func trueWithin(d time.Duration, ok func() bool) bool {
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

// TestMain fails if a goroutine of the library is left after all tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && !trueWithin(*patience, func() bool { return len(kit.LibraryGoroutines()) == 0 }) {
		fmt.Println(strings.Join(kit.LibraryGoroutines(), "\n\n"))
		code = 1
	}
	os.Exit(code)
}
