package time_test

import (
	"fmt"
	"runtime"
	"testing"
	std "time"

	"github.com/foliot-go/foliot/time"
)

// patience is how long a test waits for what must come. Only a broken package makes it wait that long.
const patience = 20 * time.Second

// receive waits for ch. It does so by the standard package's clock.
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

// holdsWithin waits until ok answers true, for at most d.
func holdsWithin(d time.Duration, ok func() bool) bool {
	for end := std.Now().Add(d); !ok(); std.Sleep(200 * time.Microsecond) {
		if std.Now().After(end) {
			return ok()
		}
	}
	return true
}

// eventually waits until ok answers true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !holdsWithin(patience, ok) {
		t.Fatalf("%s: not so after %v", what, patience)
	}
}

// rung waits until a value waits in c, without taking it.
func rung(t testing.TB, c <-chan time.Time) {
	t.Helper()
	eventually(t, "a value in the channel", func() bool { return len(c) == 1 })
}

// crowd makes so many other timers with channels that whatever depends on how lately a timer was made is over for those
// made before. They are stopped when the test ends.
func crowd(t testing.TB) {
	t.Helper()
	for range 200 * runtime.GOMAXPROCS(0) {
		timer := time.NewTimer(time.Hour)
		t.Cleanup(func() { timer.Stop() })
	}
}

// alone and crowded are the two ages of a timer with a channel: lately made, and not. A test runs for both.
func atBothAges(t *testing.T, f func(t *testing.T, age func())) {
	t.Run("alone", func(t *testing.T) { f(t, func() {}) })
	t.Run("crowded", func(t *testing.T) { f(t, func() { crowd(t) }) })
	t.Run("after a collection", func(t *testing.T) { f(t, func() { collect() }) })
}

// collect collects garbage, and leaves some time for what follows from that.
func collect() {
	for range 3 {
		runtime.GC()
		std.Sleep(time.Millisecond)
	}
}

// panicOf returns what f panics with, and its type, or an empty text.
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
