// Package kit has helpers for black-box tests of package foliot. Those that any package can use
// are in internal/testkit.
package kit

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
)

// Epoch is where manual clocks start, a time without a monotonic reading.
var Epoch = time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)

// NewRuntime returns a runtime that is shut down when the test ends, after its deferred calls.
func NewRuntime(t testing.TB, o foliot.Options) *foliot.Runtime {
	t.Helper()
	r, err := foliot.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testkit.Timeout)
		defer cancel()
		if _, err := r.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown at the end of the test: %v", err)
		}
		if n := r.Stats().Defects; n != 0 {
			t.Errorf("the runtime counted %d events that its state tables do not allow", n)
		}
	})
	return r
}

// NewManual returns a runtime on a manual clock.
func NewManual(t testing.TB, o foliot.Options) (*foliot.Runtime, *foliot.ManualClock) {
	t.Helper()
	clock := foliot.NewManualClock(Epoch)
	o.Clock = clock
	return NewRuntime(t, o), clock
}

// After calls AfterFunc, which must succeed.
func After(t testing.TB, r *foliot.Runtime, d time.Duration, f func()) foliot.Timer {
	t.Helper()
	timer, err := r.AfterFunc(d, f)
	if err != nil {
		t.Fatalf("AfterFunc(%v): %v", d, err)
	}
	return timer
}

// NewTimer calls NewTimer, which must succeed.
func NewTimer(t testing.TB, r *foliot.Runtime, f func()) foliot.Timer {
	t.Helper()
	timer, err := r.NewTimer(f)
	if err != nil {
		t.Fatalf("NewTimer: %v", err)
	}
	return timer
}

// NewChanTimer calls NewChanTimer, which must succeed.
func NewChanTimer(t testing.TB, r *foliot.Runtime, d time.Duration) *foliot.ChanTimer {
	t.Helper()
	timer, err := r.NewChanTimer(d)
	if err != nil {
		t.Fatalf("NewChanTimer(%v): %v", d, err)
	}
	return timer
}

// NewTicker calls NewTicker, which must succeed.
func NewTicker(t testing.TB, r *foliot.Runtime, d time.Duration) *foliot.Ticker {
	t.Helper()
	ticker, err := r.NewTicker(d)
	if err != nil {
		t.Fatalf("NewTicker(%v): %v", d, err)
	}
	return ticker
}

// Shutdown closes r, which must succeed, and returns how many timers were armed.
func Shutdown(t testing.TB, r *foliot.Runtime) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Timeout)
	defer cancel()
	armed, err := r.Shutdown(ctx)
	if err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
	return armed
}

// Never returns the callback of a timer that must not run.
func Never(t testing.TB, what string) func() {
	return func() { t.Errorf("%s ran", what) }
}

// Random returns a random number or duration from 0 to just under n.
func Random[T int | time.Duration](n T) T { return rand.N(n) }

// LibraryGoroutines returns the stacks of the goroutines that run code of the library or were
// started by it. Code of tests does not count.
func LibraryGoroutines() []string {
	var found []string
	for _, g := range testkit.GoroutineStacks() {
		for line := range strings.Lines(g) {
			if isLibraryFrame(strings.TrimPrefix(line, "created by ")) {
				found = append(found, g)
				break
			}
		}
	}
	return found
}

// WantNoGoroutines waits until no goroutine runs code of the library.
func WantNoGoroutines(t testing.TB, when string) {
	t.Helper()
	var left []string
	none := func() bool {
		left = LibraryGoroutines()
		return len(left) == 0
	}
	if !testkit.TrueWithin(testkit.Timeout, none) {
		t.Fatalf("%s: %d goroutines of the library run, want none\n%s",
			when, len(left), strings.Join(left, "\n\n"))
	}
}

// isLibraryFrame reports whether a line of a stack names a function of the library.
func isLibraryFrame(line string) bool {
	rest, ok := strings.CutPrefix(line, "github.com/foliot-go/foliot")
	if !ok {
		return false
	}
	folder := rest[:strings.LastIndexByte(rest, '/')+1]
	name, _, _ := strings.Cut(rest[len(folder):], ".")
	pkg := folder + name // for example "", "/time" or "/internal/alarm"
	return !strings.HasSuffix(pkg, "_test") && !strings.HasPrefix(pkg, "/test/") &&
		!strings.HasPrefix(pkg, "/lab/") && pkg != "/internal/testkit"
}

// AwaitNoTasks waits until r has no tasks and nothing is armed.
func AwaitNoTasks(t testing.TB, r *foliot.Runtime) {
	t.Helper()
	testkit.Eventually(t, "no tasks and nothing armed", func() bool {
		st := r.Stats()
		return st.Tasks == 0 && st.Armed == 0
	})
}
