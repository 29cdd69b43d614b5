package time_test

import (
	"fmt"
	"runtime"
	"testing"
	std "time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

// wantEmpty checks that there is nothing to receive from ch.
func wantEmpty[T any](t testing.TB, ch <-chan T, what string) {
	t.Helper()
	select {
	case v := <-ch:
		t.Errorf("%s: received %v, want nothing", what, v)
	default:
	}
}

// waitForValue waits until there is a value in c. It does not receive it.
func waitForValue(t testing.TB, c <-chan time.Time) {
	t.Helper()
	testkit.Eventually(t, "a value in the channel", func() bool { return len(c) == 1 })
}

// makeManyTimers makes so many channel timers that the runtime holds all earlier ones by weak
// references. They are stopped when the test ends.
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

// panicOf returns the type and the value that f panics with. It returns an empty string if f
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
