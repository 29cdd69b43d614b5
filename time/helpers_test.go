package time_test

import (
	"fmt"
	"runtime"
	"testing"
	std "time"

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
