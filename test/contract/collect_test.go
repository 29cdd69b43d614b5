package contract_test

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// baggage is what a closure keeps alive. It is large enough to be an allocation of its own.
type baggage struct{ bytes [4096]byte }

// laden makes a closure with baggage. It is not inlined, so that nothing on the caller's stack refers to either.
//
//go:noinline
func laden(then func()) (func(), weak.Pointer[baggage]) {
	b := new(baggage)
	return func() {
		b.bytes[0]++
		if then != nil {
			then()
		}
	}, weak.Make(b)
}

//go:noinline
func ladenAfter(t testing.TB, r *foliot.Runtime, d time.Duration, then func()) (foliot.Timer, weak.Pointer[baggage]) {
	f, w := laden(then)
	return kit.After(t, r, d, f), w
}

//go:noinline
func ladenTimer(t testing.TB, r *foliot.Runtime, then func()) (foliot.Timer, weak.Pointer[baggage]) {
	f, w := laden(then)
	return kit.NewTimer(t, r, f), w
}

// wantCollected checks that one collection suffices: the runtime let go at once.
func wantCollected(t *testing.T, what string, all []weak.Pointer[baggage]) {
	t.Helper()
	runtime.GC()
	kept := 0
	for _, w := range all {
		if w.Value() != nil {
			kept++
		}
	}
	if kept != 0 {
		t.Errorf("%s: %d of %d closures are still reachable", what, kept, len(all))
	}
}

// wantCollectedSoon is for what another goroutine lets go of just after the test hears of it.
func wantCollectedSoon(t *testing.T, what string, w weak.Pointer[baggage]) {
	t.Helper()
	if !testkit.TrueWithin(2*second, func() bool { runtime.GC(); return w.Value() == nil }) {
		t.Errorf("%s: the closure is still reachable", what)
	}
}

func TestTheClosureOfAStoppedTimerIsCollectableAtOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var timers []foliot.Timer
		var all []weak.Pointer[baggage]
		for i := range 200 {
			timer, w := ladenAfter(t, r, hour+time.Duration(i)*second, nil)
			timers, all = append(timers, timer), append(all, w)
		}
		runtime.GC()
		for i, w := range all {
			if w.Value() == nil {
				t.Fatalf("the closure of the armed timer %d is gone", i)
			}
		}
		for i, timer := range timers {
			if i%3 == 0 {
				timer.Reset(2 * hour)
			}
			if i%2 == 0 && !timer.Stop() || i%2 == 1 && !timer.Free() {
				t.Fatal("Stop or Free is false")
			}
		}
		wantCollected(t, "stopped", all)
		runtime.KeepAlive(timers)
		runtime.KeepAlive(r)
	})
}

func TestTheClosuresOfAStoppedBatchAreCollectableAtOnce(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	arm := func() (timers []foliot.Timer, all []weak.Pointer[baggage]) {
		calls := make([]foliot.Call, 100)
		for i := range calls {
			f, w := laden(nil)
			calls[i], all = foliot.Call{After: hour, Func: f}, append(all, w)
		}
		timers, err := r.AfterFuncBatch(nil, calls)
		if err != nil {
			t.Fatal(err)
		}
		return timers, all
	}
	timers, all := arm()
	for _, timer := range timers {
		timer.Stop()
	}
	wantCollected(t, "stopped", all)
	runtime.KeepAlive(timers)
	runtime.KeepAlive(r)
}

func TestTheClosureOfATimerStoppedWhileItsShardIsBusyIsCollectableAtOnce(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var timers []foliot.Timer
	var all []weak.Pointer[baggage]
	for range 100 {
		timer, w := ladenAfter(t, r, hour, nil)
		timers, all = append(timers, timer), append(all, w)
	}
	g := newGate()
	defer g.open()
	kit.After(t, r, 0, g.run(t))
	testkit.Receive(t, g.started, "the callback")
	for range 100 { // armed and stopped while the owner is inside a callback
		timer, w := ladenAfter(t, r, hour, nil)
		timers, all = append(timers, timer), append(all, w)
	}
	for _, timer := range timers {
		if !timer.Stop() {
			t.Fatal("Stop is false")
		}
	}
	wantCollected(t, "stopped", all)
	runtime.KeepAlive(timers)
	runtime.KeepAlive(r)
}

func TestTheClosureOfAFreedTimerIsCollectableAtOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var timers []foliot.Timer
		var all []weak.Pointer[baggage]
		for i := range 100 {
			timer, w := ladenTimer(t, r, nil)
			switch i % 3 {
			case 0:
				timer.Reset(hour)
			case 1:
				timer.Reset(hour)
				timer.Stop()
			}
			timers, all = append(timers, timer), append(all, w)
		}
		runtime.GC()
		for i, w := range all {
			if w.Value() == nil {
				t.Fatalf("the closure of the reusable timer %d is gone", i)
			}
		}
		for _, timer := range timers {
			if !timer.Free() {
				t.Fatal("Free is false")
			}
		}
		wantCollected(t, "freed", all)
		runtime.KeepAlive(timers)
		runtime.KeepAlive(r)
	})
}

func TestTheClosureOfAFiredOneShotIsCollectable(t *testing.T) {
	for name, run := range runners {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: 1, Go: run})
			company := kit.After(t, r, hour, func() {})
			ran := make(chan struct{}, 1)
			for range 5 {
				timer, w := ladenAfter(t, r, 0, func() { ran <- struct{}{} })
				testkit.Receive(t, ran, "the callback")
				wantCollectedSoon(t, "fired", w)
				runtime.KeepAlive(timer)
			}
			company.Stop()
			runtime.KeepAlive(r)
		})
	}
}

func TestTheClosureOfATimerFreedInItsOwnCallbackIsCollectable(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	handle, done := make(chan foliot.Timer, 1), make(chan struct{})
	timer, w := ladenTimer(t, r, func() {
		(<-handle).Free()
		close(done)
	})
	handle <- timer
	timer.Reset(0)
	testkit.Receive(t, done, "the callback")
	wantCollectedSoon(t, "freed in its callback", w)
	runtime.KeepAlive(r)
}

func TestOnAManualClockNothingIsKeptEither(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 2})
	var all []weak.Pointer[baggage]
	for i := range 100 {
		timer, w := ladenAfter(t, r, time.Duration(i)*second, nil)
		if i%2 == 0 {
			timer.Stop()
		}
		all = append(all, w)
	}
	clock.Advance(hour)
	wantCollected(t, "stopped or fired", all)
	runtime.KeepAlive(r)
	runtime.KeepAlive(clock)
}

func TestASleepThatEndedKeepsNothing(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	type key struct{}
	sleep := func() weak.Pointer[baggage] {
		b := new(baggage)
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, b))
		cancel()
		_ = r.Sleep(ctx, hour)
		return weak.Make(b)
	}
	wantCollectedSoon(t, "a Sleep that was cancelled", sleep())
	runtime.KeepAlive(r)
}
