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

// LibraryGoroutines returns the stacks of the goroutines that run code of the library, its tests
// left out.
func LibraryGoroutines() []string {
	const module = "github.com/foliot-go/foliot"
	var found []string
	for _, g := range testkit.GoroutineStacks() {
		for line := range strings.Lines(g) {
			rest, ok := strings.CutPrefix(line, module)
			if !ok || strings.HasPrefix(rest, "/test/") || strings.HasPrefix(rest, "/internal/testkit") {
				continue
			}
			if rest[0] == '.' || rest[0] == '/' {
				found = append(found, g)
				break
			}
		}
	}
	return found
}

// AwaitNoTasks waits until r has no tasks and nothing is armed.
func AwaitNoTasks(t testing.TB, r *foliot.Runtime) {
	t.Helper()
	testkit.Eventually(t, "no tasks and nothing armed", func() bool {
		st := r.Stats()
		return st.Tasks == 0 && st.Armed == 0
	})
}
