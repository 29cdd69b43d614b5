package loop_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

func wantStep(t testing.TB, what string, l *loop.Loop, wantNext time.Duration, wantOK bool) {
	t.Helper()
	if next, ok := l.Step(); ok != wantOK || (ok && next != wantNext) {
		t.Errorf("%s: Step answers %v, %t, want %v, %t", what, next, ok, wantNext, wantOK)
	}
}

func TestStepSaysHowLongUntilThereIsMoreToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		wantStep(t, "nothing scheduled", l, 0, false)

		h := l.CallLater(hour, never(t, "a timer in an hour"))
		wantStep(t, "a timer in an hour", l, hour, true)
		time.Sleep(minute)
		wantStep(t, "a timer in 59 minutes", l, hour-minute, true)
		var j journal
		l.CallLater(second, j.note("second"))
		l.CallSoon(j.note("soon"))
		wantStep(t, "a soon call and a timer in a second", l, second, true)
		j.want(t, "the soon call", "soon")
		wantStep(t, "a timer in a second", l, second, true)

		post(t, l, func() { l.CallSoon(noop) })
		wantStep(t, "a soon call made by a post", l, 0, true)
		wantStep(t, "its turn", l, second, true)
		l.CallSoon(func() { post(t, l, noop) })
		wantStep(t, "a post made by a soon call", l, 0, true)
		wantStep(t, "its turn", l, second, true)
		l.CallSoon(func() { l.CallLater(-second, noop) })
		wantStep(t, "a timer due", l, 0, true)
		wantStep(t, "its turn", l, second, true)

		time.Sleep(second)
		wantStep(t, "after a second", l, hour-minute-second, true)
		j.want(t, "after a second", "second")
		h.Cancel()
		wantStep(t, "all cancelled", l, 0, false)
	})
}

func TestStepDoesNotCountWhatWasCancelled(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		for _, c := range calls {
			l.CallSoon(func() { c.call(l, never(t, "a cancelled call")).Cancel() })
			wantStep(t, c.name+" made and cancelled by a callback", l, 0, false)
			wantStep(t, c.name+" thereafter", l, 0, false)
		}
	})
}

func TestStepDoesNotCountHolds(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		release := l.Hold()
		wantStep(t, "held", l, 0, false)
		release()
		wantStep(t, "released", l, 0, false)
	})
}

func TestStepRunsOneIteration(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		soons, timers := 0, 0
		var soon, timer func()
		soon = func() { soons++; l.CallSoon(soon) }
		timer = func() { timers++; l.CallLater(0, timer) }
		l.CallSoon(soon)
		l.CallLater(0, timer)
		for i := 1; i <= 100; i++ {
			wantStep(t, "two that go on for ever", l, 0, true)
			if soons != i || timers != i {
				t.Fatalf("%d steps ran %d soon calls and %d timers", i, soons, timers)
			}
		}
	})
}

func TestStepNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		start := time.Now()
		l.CallLater(hour, never(t, "a timer in an hour"))
		release := l.Hold()
		for range 10 {
			l.Step()
		}
		release()
		if took := time.Since(start); took != 0 {
			t.Errorf("ten steps took %v", took)
		}
	})
}

// A program that steps, and sleeps as long as it was told, always finds something to do and misses nothing.
func TestAfterTheTimeThatStepTellsThereIsSomethingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		began := time.Now()
		runs := 0
		for range 2000 {
			d := time.Duration(rand.Uint64() >> (4 + rand.IntN(58)))
			l.CallLater(d, func() {
				runs++
				if took := time.Since(began); took != d {
					t.Errorf("a timer of %v ran after %v", d, took)
				}
			})
		}
		for {
			before := runs
			next, ok := l.Step()
			if runs == before && runs != 0 {
				t.Fatalf("nothing to do at %v", time.Since(began))
			}
			if !ok {
				break
			}
			time.Sleep(next)
		}
		if runs != 2000 {
			t.Errorf("%d of 2000 timers ran", runs)
		}
	})
}

func TestStepAndRunTakeTurns(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var j journal
		l.CallSoon(func() {
			j.add("step")
			l.CallSoon(j.note("run"))
		})
		l.Step()
		runIdle(t, l)
		l.CallSoon(j.note("again"))
		l.Step()
		j.want(t, "Step, RunUntilIdle, Step", "step run again")
	})
}
