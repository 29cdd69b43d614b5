package contract_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A payload is an object that a closure keeps alive. It is so large that it is allocated
// separately.
type payload struct{ bytes [4096]byte }

// closureWithPayload returns a closure that keeps a payload alive and calls then if it is not nil.
// It is not inlined, so that the caller's stack has no reference to either.
//
//go:noinline
func closureWithPayload(then func()) (func(), weak.Pointer[payload]) {
	p := new(payload)
	return func() {
		p.bytes[0]++
		if then != nil {
			then()
		}
	}, weak.Make(p)
}

//go:noinline
func afterWithPayload(
	t testing.TB, r *foliot.Runtime, d time.Duration, then func(),
) (foliot.Timer, weak.Pointer[payload]) {
	f, w := closureWithPayload(then)
	return kit.After(t, r, d, f), w
}

//go:noinline
func newTimerWithPayload(t testing.TB, r *foliot.Runtime, then func()) (foliot.Timer, weak.Pointer[payload]) {
	f, w := closureWithPayload(then)
	return kit.NewTimer(t, r, f), w
}

// wantCollected checks that one collection frees the payloads, so that the runtime has no reference
// to them.
func wantCollected(t *testing.T, what string, payloads []weak.Pointer[payload]) {
	t.Helper()
	runtime.GC()
	kept := 0
	for _, w := range payloads {
		if w.Value() != nil {
			kept++
		}
	}
	if kept != 0 {
		t.Errorf("%s: %d of %d closures are reachable, want none", what, kept, len(payloads))
	}
}

// wantReachable checks that a collection frees none of the payloads.
func wantReachable(t *testing.T, what string, payloads []weak.Pointer[payload]) {
	t.Helper()
	runtime.GC()
	for i, w := range payloads {
		if w.Value() == nil {
			t.Fatalf("%s: closure %d was collected", what, i)
		}
	}
}

// wantCollectedSoon is like wantCollected for a payload to which another goroutine may have a
// reference for a moment.
func wantCollectedSoon(t *testing.T, what string, w weak.Pointer[payload]) {
	t.Helper()
	if testkit.Uncollected(2*second, []weak.Pointer[payload]{w}) != 0 {
		t.Errorf("%s: the closure is reachable", what)
	}
}

func TestTheClosureOfAStoppedTimerIsCollectableAtOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var timers []foliot.Timer
		var payloads []weak.Pointer[payload]
		for i := range 200 {
			timer, w := afterWithPayload(t, r, hour+time.Duration(i)*second, nil)
			timers, payloads = append(timers, timer), append(payloads, w)
		}
		wantReachable(t, "armed timers", payloads)
		for i, timer := range timers {
			if i%3 == 0 {
				timer.Reset(2 * hour)
			}
			if i%2 == 0 && !timer.Stop() || i%2 == 1 && !timer.Free() {
				t.Fatal("Stop or Free returns false, want true")
			}
		}
		wantCollected(t, "stopped", payloads)
		runtime.KeepAlive(timers)
		runtime.KeepAlive(r)
	})
}

func TestTheClosuresOfAStoppedBatchAreCollectableAtOnce(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	arm := func() (timers []foliot.Timer, payloads []weak.Pointer[payload]) {
		calls := make([]foliot.Call, 100)
		for i := range calls {
			f, w := closureWithPayload(nil)
			calls[i], payloads = foliot.Call{After: hour, Func: f}, append(payloads, w)
		}
		timers, err := r.AfterFuncBatch(nil, calls)
		if err != nil {
			t.Fatal(err)
		}
		return timers, payloads
	}
	timers, payloads := arm()
	for _, timer := range timers {
		timer.Stop()
	}
	wantCollected(t, "stopped", payloads)
	runtime.KeepAlive(timers)
	runtime.KeepAlive(r)
}

func TestTheClosureOfATimerStoppedWhileItsShardIsBusyIsCollectableAtOnce(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var timers []foliot.Timer
	var payloads []weak.Pointer[payload]
	for range 100 {
		timer, w := afterWithPayload(t, r, hour, nil)
		timers, payloads = append(timers, timer), append(payloads, w)
	}
	startGate(t, r)
	for range 100 { // armed and stopped while the worker runs a callback
		timer, w := afterWithPayload(t, r, hour, nil)
		timers, payloads = append(timers, timer), append(payloads, w)
	}
	for _, timer := range timers {
		if !timer.Stop() {
			t.Fatal("Stop returns false, want true")
		}
	}
	wantCollected(t, "stopped", payloads)
	runtime.KeepAlive(timers)
	runtime.KeepAlive(r)
}

func TestTheClosureOfAFreedTimerIsCollectableAtOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var timers []foliot.Timer
		var payloads []weak.Pointer[payload]
		for i := range 100 {
			timer, w := newTimerWithPayload(t, r, nil)
			switch i % 3 {
			case 0:
				timer.Reset(hour)
			case 1:
				timer.Reset(hour)
				timer.Stop()
			}
			timers, payloads = append(timers, timer), append(payloads, w)
		}
		wantReachable(t, "reusable timers", payloads)
		for _, timer := range timers {
			if !timer.Free() {
				t.Fatal("Free returns false, want true")
			}
		}
		wantCollected(t, "freed", payloads)
		runtime.KeepAlive(timers)
		runtime.KeepAlive(r)
	})
}

func TestTheClosureOfAFiredOneShotIsCollectable(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: run})
			other := kit.After(t, r, hour, func() {})
			ran := make(chan struct{}, 1)
			for range 5 {
				timer, w := afterWithPayload(t, r, 0, func() { ran <- struct{}{} })
				testkit.Receive(t, ran, "the callback")
				wantCollectedSoon(t, "fired", w)
				runtime.KeepAlive(timer)
			}
			other.Stop()
			runtime.KeepAlive(r)
		})
	}
}

func TestTheClosureOfATimerFreedInItsOwnCallbackIsCollectable(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	handle, done := make(chan foliot.Timer, 1), make(chan struct{})
	timer, w := newTimerWithPayload(t, r, func() {
		(<-handle).Free()
		close(done)
	})
	handle <- timer
	timer.Reset(0)
	testkit.Receive(t, done, "the callback")
	wantCollectedSoon(t, "freed in its callback", w)
	runtime.KeepAlive(r)
}

func TestClosuresOfTimersOnAManualClockAreCollectable(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 2})
	var payloads []weak.Pointer[payload]
	for i := range 100 {
		timer, w := afterWithPayload(t, r, time.Duration(i)*second, nil)
		if i%2 == 0 {
			timer.Stop()
		}
		payloads = append(payloads, w)
	}
	clock.Advance(hour)
	wantCollected(t, "stopped or fired", payloads)
	runtime.KeepAlive(r)
	runtime.KeepAlive(clock)
}

func TestTheContextOfACancelledSleepIsCollectable(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	type key struct{}
	sleep := func() weak.Pointer[payload] {
		p := new(payload)
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, p))
		cancel()
		_ = r.Sleep(ctx, hour)
		return weak.Make(p)
	}
	wantCollectedSoon(t, "a Sleep that was cancelled", sleep())
	runtime.KeepAlive(r)
}

// With a Logger the runtime has a name for the callback of each Expirer.
func TestAnExpirerOfARuntimeWithALoggerIsCollected(t *testing.T) {
	var expirers []weak.Pointer[foliot.Expirer[int]]
	var runtimes []weak.Pointer[foliot.Runtime]
	for i := range 20 {
		r, err := foliot.New(foliot.Options{Clock: foliot.NewManualClock(kit.Epoch), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Evict: func(int) {}})
		if i%2 == 0 {
			if _, err := e.Push(time.Hour, 1); err != nil { // the runtime now refers to e
				t.Fatal(err)
			}
		}
		expirers, runtimes = append(expirers, weak.Make(e)), append(runtimes, weak.Make(r))
	}
	if n := testkit.Uncollected(testkit.Timeout, expirers); n > 0 {
		t.Errorf("%d of %d Expirers are not collected", n, len(expirers))
	}
	if n := testkit.Uncollected(testkit.Timeout, runtimes); n > 0 {
		t.Errorf("%d of %d runtimes are not collected", n, len(runtimes))
	}
}

// newUnreachable returns a runtime that nothing refers to but the caller.
func newUnreachable(t *testing.T) *foliot.Runtime {
	t.Helper()
	r, err := foliot.New(foliot.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unreachable says what was done with a runtime before it became unreachable. Nothing is armed
// unless it is shut down.
var unreachable = map[string]func(t *testing.T, r *foliot.Runtime){
	"never used": func(*testing.T, *foliot.Runtime) {},
	"its timers have run": func(t *testing.T, r *foliot.Runtime) {
		ran := make(chan struct{})
		kit.After(t, r, 100*microsecond, func() { close(ran) })
		testkit.Receive(t, ran, "a timer")
	},
	"its timers are stopped": func(t *testing.T, r *foliot.Runtime) {
		for _, d := range []time.Duration{hour, second} {
			kit.After(t, r, d, func() {}).Stop()
		}
	},
	"it is shut down": func(t *testing.T, r *foliot.Runtime) {
		kit.After(t, r, hour, func() {})
		kit.Shutdown(t, r)
	},
}

func TestAnUnreachableRuntimeIsCollected(t *testing.T) {
	for name, use := range unreachable {
		t.Run(name, func(t *testing.T) {
			r := newUnreachable(t)
			use(t, r)
			w := weak.Make(r)
			r = nil
			if testkit.Uncollected(testkit.Timeout, []weak.Pointer[foliot.Runtime]{w}) != 0 {
				t.Error("the runtime is not collected")
			}
		})
	}
}
