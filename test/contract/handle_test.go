package contract_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A gate makes a callback that blocks until open is called.
type gate struct {
	started chan struct{} // gets a value when the callback starts
	release chan struct{}
	once    sync.Once
	runs    atomic.Int32
	running atomic.Int32 // callbacks that are running now
}

func newGate() *gate {
	return &gate{started: make(chan struct{}, 1000), release: make(chan struct{})}
}

// run returns the callback.
func (g *gate) run(t testing.TB) func() {
	return func() {
		if g.running.Add(1) != 1 {
			t.Error("a callback runs concurrently with itself")
		}
		defer g.running.Add(-1)
		g.runs.Add(1)
		g.started <- struct{}{}
		<-g.release
	}
}

// startGate arms a reusable timer with the callback of a gate and returns when the callback has
// started. The gate is opened at the end of the test at the latest.
func startGate(t testing.TB, r *foliot.Runtime) (*gate, foliot.Timer) {
	t.Helper()
	g := newGate()
	t.Cleanup(g.open)
	timer := kit.NewTimer(t, r, g.run(t))
	timer.Reset(0)
	testkit.Receive(t, g.started, "the callback")
	return g, timer
}

// open lets callbacks return, now and later.
func (g *gate) open() { g.once.Do(func() { close(g.release) }) }

// runners has values of Options.Go.
var runners = map[string]func(f func()){
	"inline": nil,
	"go":     func(f func()) { go f() },
}

func eachRunner(t *testing.T, f func(t *testing.T, o foliot.Options)) {
	for name, run := range runners {
		for _, workers := range []int{1, 4} {
			t.Run(name, func(t *testing.T) { f(t, foliot.Options{Workers: workers, Go: run}) })
		}
	}
}

func TestAOneShotIsStaleFromTheStartOfItsCallback(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		for _, d := range []time.Duration{0, millisecond} {
			handle := make(chan foliot.Timer, 1)
			done := make(chan struct{})
			g := newGate()
			defer g.open()
			timer := kit.After(t, r, d, func() {
				wantStale(t, "inside the callback", <-handle)
				g.run(t)()
				close(done)
			})
			handle <- timer
			testkit.Receive(t, g.started, "the callback")
			wantStale(t, "while the callback runs", timer)
			g.open()
			testkit.Receive(t, done, "the end of the callback")
			wantStale(t, "after the callback", timer)
		}
	})
}

func TestAStoppedOneShotIsStaleAndNeverRuns(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var timers []foliot.Timer
		for i := range 300 {
			timer := kit.After(t, r, 20*millisecond+time.Duration(i%3)*hour, kit.Never(t, "a stopped timer"))
			if i%2 == 0 {
				if !timer.Stop() {
					t.Error("Stop returns false, want true")
				}
			} else if !timer.Free() {
				t.Error("Free of an armed one-shot timer returns false")
			}
			timers = append(timers, timer)
		}
		for _, timer := range timers {
			wantStale(t, "after Stop or Free", timer)
		}
		time.Sleep(30 * millisecond) // until a third of the deadlines have passed
	})
}

func TestAnArmedOneShotMayBeResetAndStillRunsOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		runs := 0
		timer := kit.After(t, r, 10*second, func() { runs++ })
		for _, d := range []time.Duration{hour, second, 20 * second, 5 * second, 7 * second} {
			if !timer.Reset(d) {
				t.Fatalf("Reset(%v) returns false, want true", d)
			}
			if at, ok := timer.Deadline(); !ok || !at.Equal(kit.Epoch.Add(d)) {
				t.Fatalf("Deadline is %v, %t after Reset(%v), want %v", at, ok, d, kit.Epoch.Add(d))
			}
		}
		clock.Advance(7*second - 1)
		if runs != 0 {
			t.Fatalf("the timer ran %d times before its deadline, want 0", runs)
		}
		clock.Advance(1)
		if runs != 1 {
			t.Fatalf("the timer ran %d times at its deadline, want 1", runs)
		}
		clock.Advance(2 * hour)
		if runs != 1 {
			t.Fatalf("the timer ran %d times, want 1", runs)
		}
		wantStale(t, "a fired one-shot timer", timer)
	})
}

func TestANewTimerIsNotArmedAndIsReusableUntilFree(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		runs := 0
		timer := kit.NewTimer(t, r, func() { runs++ })
		wantIdle := func(when string) {
			t.Helper()
			if at, ok := timer.Deadline(); ok {
				t.Errorf("%s: Deadline returns %v, true, want false", when, at)
			}
			if timer.Stop() {
				t.Errorf("%s: Stop returns true, want false", when)
			}
			if got := r.Stats().Armed; got != 0 {
				t.Errorf("%s: Armed is %d, want 0", when, got)
			}
		}
		wantIdle("before the first Reset")
		clock.Advance(hour)
		for round := 1; round <= 20; round++ {
			if !timer.Reset(second) {
				t.Fatal("Reset returns false, want true")
			}
			clock.Advance(second)
			if runs != round {
				t.Fatalf("the timer ran %d times, want %d", runs, round)
			}
			wantIdle("after it fired")
			timer.Reset(second)
			if !timer.Stop() {
				t.Fatal("Stop returns false, want true")
			}
			wantIdle("after Stop")
			clock.Advance(hour)
		}
		timer.Reset(second)
		copied := timer
		if !timer.Free() {
			t.Error("Free returns false, want true")
		}
		wantStale(t, "a copy after Free", copied)
		clock.Advance(hour)
		if runs != 20 {
			t.Errorf("the timer ran %d times, want 20", runs)
		}
		if unarmed := kit.NewTimer(t, r, func() {}); !unarmed.Free() {
			t.Error("Free of a timer that was never armed returns false")
		}
	})
}

func TestAfterResetDuringTheCallbackTheTimerRunsAgain(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		g, timer := startGate(t, r)
		if !timer.Reset(0) {
			t.Fatal("Reset while the callback runs returns false, want true")
		}
		// Meanwhile another goroutine takes over the worker. It must not run this timer.
		time.Sleep(60 * millisecond)
		if got := g.runs.Load(); got != 1 {
			t.Fatalf("%d runs while the first has not returned, want 1", got)
		}
		g.open()
		testkit.Receive(t, g.started, "the run after Reset")
		kit.Shutdown(t, r)
		if got := g.runs.Load(); got != 2 {
			t.Errorf("%d runs, want 2", got)
		}
	})
}

func TestStopDuringTheCallbackReportsWhetherTheTimerWasArmedAgain(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		g, timer := startGate(t, r)
		if timer.Stop() {
			t.Error("Stop returns true while the callback runs and nothing is armed")
		}
		if _, ok := timer.Deadline(); ok {
			t.Error("Deadline returns true while the callback runs and nothing is armed")
		}
		for _, d := range []time.Duration{0, hour} {
			if !timer.Reset(d) {
				t.Error("Reset returns false, want true")
			}
			if _, ok := timer.Deadline(); !ok {
				t.Error("Deadline returns false after Reset during the callback")
			}
			if !timer.Stop() {
				t.Error("Stop after Reset during the callback returns false")
			}
			if timer.Stop() {
				t.Error("a second Stop returns true, want false")
			}
		}
		g.open()
		kit.Shutdown(t, r)
		if got := g.runs.Load(); got != 1 {
			t.Errorf("%d runs, want 1", got)
		}
	})
}

func TestFreeDuringTheCallbackReturnsTrueAndDoesNotWait(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		for _, rearm := range []bool{false, true} {
			g, timer := startGate(t, r)
			if rearm {
				timer.Reset(0)
			}
			testkit.Returns(t, "Free", func() {
				if !timer.Free() {
					t.Error("Free while the callback runs returns false, want true")
				}
			})
			wantStale(t, "a freed timer", timer)
			// Other timers use the slot while the callback of the freed timer runs. None of them
			// may run twice.
			others := make(chan struct{}, 100)
			for range 100 {
				kit.After(t, r, 0, func() { others <- struct{}{} })
			}
			for range 100 {
				testkit.Receive(t, others, "another timer")
			}
			g.open()
			testkit.Eventually(t, "the end of the callback", func() bool { return g.running.Load() == 0 })
			time.Sleep(2 * millisecond)
			if got := g.runs.Load(); got != 1 || len(others) != 0 {
				t.Errorf("%d runs of a freed timer, %d extra runs of others, want 1, 0",
					got, len(others))
			}
		}
	})
}

func TestACallbackMayResetStopAndFreeItsOwnTimer(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		done := make(chan struct{})
		var timer foliot.Timer
		run := 0
		timer = kit.NewTimer(t, r, func() {
			switch run++; {
			case run < 5:
				if timer.Stop() {
					t.Error("Stop in the callback returns true while nothing is armed")
				}
				if !timer.Reset(hour) || !timer.Stop() || timer.Stop() {
					t.Error("Reset, Stop, Stop in the callback do not return true, true, false")
				}
				if !timer.Reset(hour) || !timer.Reset(time.Duration(run%2)*millisecond) {
					t.Error("Reset in the callback returns false, want true")
				}
			case run == 5:
				timer.Reset(0)
				if !timer.Free() || timer.Free() {
					t.Error("Free, Free in the callback do not return true, false")
				}
				wantStale(t, "after Free in the callback", timer)
				close(done)
			default:
				t.Error("a freed timer ran")
			}
		})
		timer.Reset(0)
		testkit.Receive(t, done, "five runs")
		if got := kit.Shutdown(t, r); got != 0 {
			t.Errorf("Shutdown returns %d, want 0", got)
		}
	})
}

// Every call returns while the only worker runs a callback.
func TestNoCallWaitsForACallback(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	oneShot := kit.After(t, r, hour, kit.Never(t, "a stopped timer"))
	reusable := kit.NewTimer(t, r, kit.Never(t, "a freed timer"))
	startGate(t, r)
	testkit.Returns(t, "calls while a callback runs", func() {
		if !oneShot.Reset(2*hour) || !oneShot.ResetAt(time.Now().Add(hour)) || !oneShot.Stop() {
			t.Error("Reset, ResetAt or Stop returns false, want true")
		}
		if !reusable.Reset(hour) || !reusable.Free() {
			t.Error("Reset or Free returns false, want true")
		}
		for range 1000 {
			timer := kit.After(t, r, hour, kit.Never(t, "a stopped timer"))
			if _, ok := timer.Deadline(); !ok || !timer.Stop() {
				t.Error("Deadline or Stop returns false, want true")
			}
		}
		if got := r.Stats().Armed; got != 0 {
			t.Errorf("Armed is %d, want 0", got)
		}
	})
}
