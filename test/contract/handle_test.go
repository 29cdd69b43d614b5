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

// gate is a callback that tells when it started and waits to be let go.
type gate struct {
	started chan struct{}
	release chan struct{}
	once    sync.Once
	runs    atomic.Int32
	inside  atomic.Int32
}

func newGate() *gate {
	return &gate{started: make(chan struct{}, 1000), release: make(chan struct{})}
}

func (g *gate) run(t testing.TB) func() {
	return func() {
		if g.inside.Add(1) != 1 {
			t.Error("a callback runs concurrently with itself")
		}
		defer g.inside.Add(-1)
		g.runs.Add(1)
		g.started <- struct{}{}
		<-g.release
	}
}

// open lets the callbacks go, now and later.
func (g *gate) open() { g.once.Do(func() { close(g.release) }) }

// runners are the ways to run callbacks.
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
					t.Error("Stop is false")
				}
			} else if !timer.Free() {
				t.Error("Free of an armed one-shot is false")
			}
			timers = append(timers, timer)
		}
		for _, timer := range timers {
			wantStale(t, "after Stop or Free", timer)
		}
		time.Sleep(30 * millisecond) // past the deadline of a third of them
	})
}

func TestAnArmedOneShotMayBeResetAndStillRunsOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		runs := 0
		timer := kit.After(t, r, 10*second, func() { runs++ })
		for _, d := range []time.Duration{hour, second, 20 * second, 5 * second, 7 * second} {
			if !timer.Reset(d) {
				t.Fatalf("Reset(%v) is false", d)
			}
			if at, ok := timer.Deadline(); !ok || !at.Equal(kit.Epoch.Add(d)) {
				t.Fatalf("Deadline is %v, %t after Reset(%v)", at, ok, d)
			}
		}
		clock.Advance(7*second - 1)
		if runs != 0 {
			t.Fatalf("ran %d times before its deadline", runs)
		}
		clock.Advance(1)
		if runs != 1 {
			t.Fatalf("ran %d times at its deadline", runs)
		}
		clock.Advance(2 * hour)
		if runs != 1 {
			t.Fatalf("ran %d times", runs)
		}
		wantStale(t, "a fired one-shot", timer)
	})
}

func TestANewTimerIsNotArmedAndReusableUntilFree(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r, clock := kit.NewManual(t, foliot.Options{Workers: workers})
		runs := 0
		timer := kit.NewTimer(t, r, func() { runs++ })
		idle := func(when string) {
			t.Helper()
			if at, ok := timer.Deadline(); ok {
				t.Errorf("%s: Deadline is %v, true", when, at)
			}
			if timer.Stop() {
				t.Errorf("%s: Stop is true", when)
			}
			if got := r.Stats().Armed; got != 0 {
				t.Errorf("%s: %d armed", when, got)
			}
		}
		idle("before the first Reset")
		clock.Advance(hour)
		for round := 1; round <= 20; round++ {
			if !timer.Reset(second) {
				t.Fatal("Reset is false")
			}
			clock.Advance(second)
			if runs != round {
				t.Fatalf("ran %d times, want %d", runs, round)
			}
			idle("after it fired")
			timer.Reset(second)
			if !timer.Stop() {
				t.Fatal("Stop is false")
			}
			idle("after Stop")
			clock.Advance(hour)
		}
		timer.Reset(second)
		clone := timer
		if !timer.Free() {
			t.Error("Free is false")
		}
		wantStale(t, "a copy after Free", clone)
		clock.Advance(hour)
		if runs != 20 {
			t.Errorf("ran %d times, want 20", runs)
		}
		if unarmed := kit.NewTimer(t, r, func() {}); !unarmed.Free() {
			t.Error("Free of a timer that was never armed is false")
		}
	})
}

func TestResetWhileTheCallbackRunsMakesANewArmingThatRunsAfterwards(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		g := newGate()
		defer g.open()
		timer := kit.NewTimer(t, r, g.run(t))
		timer.Reset(0)
		testkit.Receive(t, g.started, "the first run")
		if !timer.Reset(0) {
			t.Fatal("Reset while the callback runs is false")
		}
		// Time enough for the shard to go on with a fresh goroutine, which must leave this timer alone.
		time.Sleep(60 * millisecond)
		if got := g.runs.Load(); got != 1 {
			t.Fatalf("%d runs while the first goes on", got)
		}
		g.open()
		testkit.Receive(t, g.started, "the run after Reset")
		kit.Shutdown(t, r)
		if got := g.runs.Load(); got != 2 {
			t.Errorf("%d runs, want 2", got)
		}
	})
}

func TestStopWhileTheCallbackRuns(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		g := newGate()
		defer g.open()
		timer := kit.NewTimer(t, r, g.run(t))
		timer.Reset(0)
		testkit.Receive(t, g.started, "the first run")
		if timer.Stop() {
			t.Error("Stop is true while the callback runs with nothing armed")
		}
		if _, ok := timer.Deadline(); ok {
			t.Error("Deadline is true while the callback runs with nothing armed")
		}
		for _, d := range []time.Duration{0, hour} {
			if !timer.Reset(d) {
				t.Error("Reset is false")
			}
			if _, ok := timer.Deadline(); !ok {
				t.Error("Deadline is false after Reset in the run")
			}
			if !timer.Stop() {
				t.Error("Stop of an arming made while the callback runs is false")
			}
			if timer.Stop() {
				t.Error("Stop is true twice")
			}
		}
		g.open()
		kit.Shutdown(t, r)
		if got := g.runs.Load(); got != 1 {
			t.Errorf("%d runs, want 1", got)
		}
	})
}

func TestFreeWhileTheCallbackRunsIsTrueAndDoesNotWait(t *testing.T) {
	eachRunner(t, func(t *testing.T, o foliot.Options) {
		r := kit.NewRuntime(t, o)
		for _, rearm := range []bool{false, true} {
			g := newGate()
			defer g.open()
			timer := kit.NewTimer(t, r, g.run(t))
			timer.Reset(0)
			testkit.Receive(t, g.started, "the first run")
			if rearm {
				timer.Reset(0)
			}
			testkit.Returns(t, "Free", func() {
				if !timer.Free() {
					t.Error("Free while the callback runs is false")
				}
			})
			wantStale(t, "a freed timer", timer)
			// Others take slots while the freed timer's callback still runs; it must not run any of theirs twice.
			others := make(chan struct{}, 100)
			for range 100 {
				kit.After(t, r, 0, func() { others <- struct{}{} })
			}
			for range 100 {
				testkit.Receive(t, others, "another timer")
			}
			g.open()
			testkit.Eventually(t, "the callback has ended", func() bool { return g.inside.Load() == 0 })
			time.Sleep(2 * millisecond)
			if got := g.runs.Load(); got != 1 || len(others) != 0 {
				t.Errorf("%d runs of a freed timer, %d extra runs of others", got, len(others))
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
					t.Error("Stop in the own callback is true with nothing armed")
				}
				if !timer.Reset(hour) || !timer.Stop() || timer.Stop() {
					t.Error("Reset and Stop in the own callback are not true once")
				}
				if !timer.Reset(hour) || !timer.Reset(time.Duration(run%2)*millisecond) {
					t.Error("Reset in the own callback is false")
				}
			case run == 5:
				timer.Reset(0)
				if !timer.Free() || timer.Free() {
					t.Error("Free in the own callback is not true once")
				}
				wantStale(t, "after Free in the own callback", timer)
				close(done)
			default:
				t.Error("a freed timer ran")
			}
		})
		timer.Reset(0)
		testkit.Receive(t, done, "five runs")
		if got := kit.Shutdown(t, r); got != 0 {
			t.Errorf("%d armed, want none", got)
		}
	})
}

// Every call comes back while the only worker is inside a callback.
func TestNoCallWaitsForACallback(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	g := newGate()
	defer g.open()
	early := kit.After(t, r, hour, kit.Never(t, "a stopped timer"))
	kept := kit.NewTimer(t, r, kit.Never(t, "a freed timer"))
	kit.After(t, r, 0, g.run(t))
	testkit.Receive(t, g.started, "the callback")
	testkit.Returns(t, "calls while a callback runs", func() {
		if !early.Reset(2*hour) || !early.ResetAt(time.Now().Add(hour)) || !early.Stop() {
			t.Error("Reset, ResetAt or Stop is false")
		}
		if !kept.Reset(hour) || !kept.Free() {
			t.Error("Reset or Free is false")
		}
		for range 1000 {
			timer := kit.After(t, r, hour, kit.Never(t, "a stopped timer"))
			if _, ok := timer.Deadline(); !ok || !timer.Stop() {
				t.Error("Deadline or Stop is false")
			}
		}
		if got := r.Stats().Armed; got != 0 {
			t.Errorf("%d armed", got)
		}
	})
}
