package foliot_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

const (
	microsecond = time.Microsecond
	millisecond = time.Millisecond
	second      = time.Second
	hour        = time.Hour

	// patience is how long a test waits for what must come. Only a broken runtime makes it wait that long.
	patience = 20 * second
)

// epoch is where manual clocks start, a time without a monotonic reading.
var epoch = time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)

// newRuntime is a runtime that is shut down when the test ends, after its deferred calls.
func newRuntime(t testing.TB, o foliot.Options) *foliot.Runtime {
	t.Helper()
	r, err := foliot.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := r.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown at the end of the test: %v", err)
		}
	})
	return r
}

// newManual is a runtime on a manual clock of its own.
func newManual(t testing.TB, o foliot.Options) (*foliot.Runtime, *foliot.ManualClock) {
	t.Helper()
	clock := foliot.NewManualClock(epoch)
	o.Clock = clock
	return newRuntime(t, o), clock
}

// after is AfterFunc on a runtime that has no reason to refuse.
func after(t testing.TB, r *foliot.Runtime, d time.Duration, f func()) foliot.Timer {
	t.Helper()
	timer, err := r.AfterFunc(d, f)
	if err != nil {
		t.Fatalf("AfterFunc(%v): %v", d, err)
	}
	return timer
}

// reusable is NewTimer on a runtime that has no reason to refuse.
func reusable(t testing.TB, r *foliot.Runtime, f func()) foliot.Timer {
	t.Helper()
	timer, err := r.NewTimer(f)
	if err != nil {
		t.Fatalf("NewTimer: %v", err)
	}
	return timer
}

// shutdown closes r, which must succeed, and returns how many timers were armed.
func shutdown(t testing.TB, r *foliot.Runtime) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	armed, err := r.Shutdown(ctx)
	if err != nil {
		t.Fatalf("Shutdown: %v", err)
	}
	return armed
}

// never is the callback of a timer that must not run.
func never(t testing.TB, what string) func() {
	return func() { t.Errorf("%s ran", what) }
}

// receive waits for ch.
func receive[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case v := <-ch:
		return v
	case <-limit.C:
		t.Fatalf("%s: nothing in %v\n%s", what, patience, stacks())
		panic("unreachable")
	}
}

// eventually waits until ok answers true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !holdsWithin(patience, ok) {
		t.Fatalf("%s: not so after %v", what, patience)
	}
}

// holdsWithin waits until ok answers true, for at most d.
func holdsWithin(d time.Duration, ok func() bool) bool {
	for end := time.Now().Add(d); !ok(); time.Sleep(200 * microsecond) {
		if time.Now().After(end) {
			return ok()
		}
	}
	return true
}

// returns runs f, which must come back: a call that waits for ever fails the test with the stacks of all goroutines.
func returns(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	receive(t, done, what)
}

// wantError checks that err is there and has the prefix of all errors of the package.
func wantError(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", what)
	} else if text := err.Error(); !strings.HasPrefix(text, "foliot: ") || len(text) < len("foliot: ")+5 {
		t.Errorf("%s: the error %q does not begin with foliot: and say something", what, text)
	}
}

// wantStale checks that a handle names nothing.
func wantStale(t testing.TB, what string, timer foliot.Timer) {
	t.Helper()
	if at, ok := timer.Deadline(); ok {
		t.Errorf("%s: Deadline is %v, true", what, at)
	}
	if timer.Stop() {
		t.Errorf("%s: Stop is true", what)
	}
	if timer.Reset(hour) {
		t.Errorf("%s: Reset is true", what)
	}
	if timer.ResetAt(time.Now().Add(hour)) {
		t.Errorf("%s: ResetAt is true", what)
	}
	if timer.Free() {
		t.Errorf("%s: Free is true", what)
	}
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// foliotGoroutines are the goroutines that run code of the library, tests within it left out.
func foliotGoroutines() []string {
	const module = "github.com/foliot-go/foliot"
	var found []string
	for g := range strings.SplitSeq(stacks(), "\n\n") {
		if strings.Contains(g, module+".Test") || strings.Contains(g, module+".Fuzz") {
			continue
		}
		for line := range strings.Lines(g) {
			if strings.HasPrefix(line, module+".") || strings.HasPrefix(line, module+"/") {
				found = append(found, g)
				break
			}
		}
	}
	return found
}

// wantNoGoroutines waits until no goroutine runs code of the library.
func wantNoGoroutines(t testing.TB, when string) {
	t.Helper()
	var left []string
	if !holdsWithin(5*second, func() bool { left = foliotGoroutines(); return len(left) == 0 }) {
		t.Fatalf("%s: %d goroutines of the library\n%s", when, len(left), strings.Join(left, "\n\n"))
	}
}

// within is a random number or duration from 0 to just under n.
func within[T int | time.Duration](n T) T { return rand.N(n) }

// eachWorkers runs a test for several numbers of workers; 0 is the default number.
func eachWorkers(t *testing.T, f func(t *testing.T, workers int)) {
	for _, workers := range []int{0, 1, 3, 8} {
		t.Run(fmt.Sprintf("workers %d", workers), func(t *testing.T) { f(t, workers) })
	}
}
