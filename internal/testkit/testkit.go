// Package testkit has helpers for the tests of all packages of this repository: waiting
// with a limit, stress tests, recorded logs and the race detector. It uses the clock of
// the standard library, never that of the package under test.
package testkit

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"
)

// Timeout is how long tests wait for something that must happen. Only a broken package
// makes a test wait that long.
const Timeout = 20 * time.Second

// Receive returns the next value from ch. If none comes within Timeout, it fails the test
// with the stacks of all goroutines.
func Receive[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	limit := time.NewTimer(Timeout)
	defer limit.Stop()
	select {
	case v := <-ch:
		return v
	case <-limit.C:
		t.Fatalf("%s: nothing received in %v\n%s", what, Timeout, Stacks())
		panic("unreachable")
	}
}

// Returns calls f on a new goroutine and waits until f has returned. If it has not
// returned within Timeout, it fails the test with the stacks of all goroutines.
func Returns(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	Receive(t, done, what)
}

// Async calls f on a new goroutine. The channel gets the result.
func Async[T any](f func() T) <-chan T {
	ch := make(chan T, 1)
	go func() { ch <- f() }()
	return ch
}

// Eventually waits until ok returns true. If it does not within Timeout, it fails the
// test.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !TrueWithin(Timeout, ok) {
		t.Fatalf("%s: not true after %v", what, Timeout)
	}
}

// TrueWithin calls ok until it returns true, for at most d. It reports whether ok did.
func TrueWithin(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); !ok(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			return ok()
		}
	}
	return true
}

// PanicValue calls f and returns the value that f panics with, or nil if f returns.
func PanicValue(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// Stacks returns the stacks of all goroutines.
func Stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// GoroutineStacks returns the stack of each goroutine.
func GoroutineStacks() []string { return strings.Split(Stacks(), "\n\n") }

// OpenFiles returns how many file descriptors the process has open, including the one
// that it needs for counting. It skips the test on systems without /proc.
func OpenFiles(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// HeapInUse collects garbage and returns the bytes of heap in use afterwards.
func HeapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Uncollected collects garbage until all pointers are nil, for at most d. It returns the number of
// pointers that are not.
func Uncollected[T any](d time.Duration, pointers []weak.Pointer[T]) int {
	left := len(pointers)
	TrueWithin(d, func() bool {
		runtime.GC()
		left = 0
		for _, p := range pointers {
			if p.Value() != nil {
				left++
			}
		}
		return left == 0
	})
	return left
}

// LetsOthersRun calls sleep again and again with one processor. It reports whether another
// goroutine runs meanwhile.
func LetsOthersRun(sleep func()) bool {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	// A goroutine that never yields is preempted every 10 ms. So if sleep does not yield, a hundred
	// runs of the other goroutine take many more calls.
	const runs, maxSleeps = 100, 20_000
	var ran atomic.Int64
	go func() {
		for ran.Add(1) < runs {
			runtime.Gosched()
		}
	}()
	for sleeps := 0; ran.Load() < runs; sleeps++ {
		if sleeps == maxSleeps {
			return false
		}
		sleep()
	}
	return true
}

// AllocsPerRun is like [testing.AllocsPerRun]. It skips the test under the race detector, which
// allocates too.
func AllocsPerRun(tb testing.TB, runs int, f func()) float64 {
	tb.Helper()
	SkipUnderRace(tb, "it allocates too")
	return testing.AllocsPerRun(runs, f)
}

// OnlyInFull skips a test unless [Full] reports true, and says what the run leaves out.
// It is for tests that find little which others do not, and take long.
func OnlyInFull(tb testing.TB, what string) {
	tb.Helper()
	if !Full() {
		tb.Skip("left out: " + what + "; FOLIOT_FULL=1 runs it")
	}
}

// SkipUnderRace skips a test if the race detector is on, and says why it belongs to the lane without it.
// Walks that run one goroutine at a time have no races to find, allocation counts are wrong, and both
// would take many times as long.
func SkipUnderRace(tb testing.TB, why string) {
	tb.Helper()
	if RaceEnabled {
		tb.Skip("not under the race detector: " + why)
	}
}
