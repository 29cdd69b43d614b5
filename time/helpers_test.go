package time_test

import (
	"fmt"
	"runtime"
	"testing"
	std "time"

	"github.com/foliot-go/foliot/time"
)

// patience is how long a test waits for something that must happen. Only a broken package
// makes it wait that long.
const patience = 20 * time.Second

// receive receives a value from ch. It fails the test if there is none in time, by the clock
// of the standard package.
func receive[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	limit := std.NewTimer(patience)
	defer limit.Stop()
	select {
	case v := <-ch:
		return v
	case <-limit.C:
		t.Fatalf("%s: nothing in %v\n%s", what, patience, stacks())
		panic("unreachable")
	}
}

// wantEmpty checks that there is nothing to receive from ch.
func wantEmpty[T any](t testing.TB, ch <-chan T, what string) {
	t.Helper()
	select {
	case v := <-ch:
		t.Errorf("%s: received %v", what, v)
	default:
	}
}

// holdsWithin waits until ok returns true, for at most d, and reports whether it has.
func holdsWithin(d time.Duration, ok func() bool) bool {
	for end := std.Now().Add(d); !ok(); std.Sleep(200 * time.Microsecond) {
		if std.Now().After(end) {
			return ok()
		}
	}
	return true
}

// eventually waits until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !holdsWithin(patience, ok) {
		t.Fatalf("%s: not so after %v", what, patience)
	}
}

// waitForValue waits until there is a value in c. It does not receive it.
func waitForValue(t testing.TB, c <-chan time.Time) {
	t.Helper()
	eventually(t, "a value in the channel", func() bool { return len(c) == 1 })
}

// makeManyTimers makes so many channel timers that all channel timers that were made before
// are weak. They are stopped when the test ends.
func makeManyTimers(t testing.TB) {
	t.Helper()
	for range 200 * runtime.GOMAXPROCS(0) {
		timer := time.NewTimer(time.Hour)
		t.Cleanup(func() { timer.Stop() })
	}
}

// forStrongAndWeak runs a test for a channel timer that the runtime holds by a strong
// reference, and for one that it holds by a weak reference. The test calls weaken after it has
// made its timer.
func forStrongAndWeak(t *testing.T, f func(t *testing.T, weaken func())) {
	t.Run("strong", func(t *testing.T) { f(t, func() {}) })
	t.Run("weak after many new timers", func(t *testing.T) { f(t, func() { makeManyTimers(t) }) })
	t.Run("weak after a garbage collection", func(t *testing.T) { f(t, func() { collect() }) })
}

// collect collects garbage, and waits a little for the cleanups that follow.
func collect() {
	for range 3 {
		runtime.GC()
		std.Sleep(time.Millisecond)
	}
}

// panicOf returns the value that f panics with, and its type. It returns an empty string if f
// does not panic.
func panicOf(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("%T: %v", v, v)
		}
	}()
	f()
	return ""
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
