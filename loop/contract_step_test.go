package loop_test

import (
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// wantStep calls Step and checks the results.
func wantStep(t testing.TB, what string, l *loop.Loop, wantNext time.Duration, wantOK bool) {
	t.Helper()
	if next, ok := l.Step(); ok != wantOK || (ok && next != wantNext) {
		t.Errorf("%s: Step returns %v, %t, want %v, %t", what, next, ok, wantNext, wantOK)
	}
}

func TestStepReturnsTheTimeUntilTheNextCallback(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		wantStep(t, "nothing scheduled", l, 0, false)

		h := l.CallLater(hour, mustNotRun(t, "a timer in an hour"))
		wantStep(t, "a timer in an hour", l, hour, true)
		time.Sleep(minute)
		wantStep(t, "a timer in 59 minutes", l, hour-minute, true)
		var tr trace
		l.CallLater(second, tr.record("second"))
		l.CallSoon(tr.record("soon"))
		wantStep(t, "CallSoon and a timer in a second", l, second, true)
		tr.want(t, "CallSoon", "soon")
		wantStep(t, "a timer in a second", l, second, true)

		post(t, l, func() { l.CallSoon(noop) })
		wantStep(t, "CallSoon by a post", l, 0, true)
		wantStep(t, "after CallSoon by a post", l, second, true)
		l.CallSoon(func() { post(t, l, noop) })
		wantStep(t, "Post by a callback", l, 0, true)
		wantStep(t, "after Post by a callback", l, second, true)
		l.CallSoon(func() { l.CallLater(-second, noop) })
		wantStep(t, "CallLater by a callback, due now", l, 0, true)
		wantStep(t, "after CallLater by a callback", l, second, true)

		time.Sleep(second)
		wantStep(t, "after a second", l, hour-minute-second, true)
		tr.want(t, "after a second", "second")
		h.Cancel()
		wantStep(t, "all cancelled", l, 0, false)
	})
}

func TestStepIgnoresCancelledCalls(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		for _, c := range handleCalls {
			l.CallSoon(func() { c.call(l, mustNotRun(t, "a cancelled call")).Cancel() })
			wantStep(t, c.name+" scheduled and cancelled by a callback", l, 0, false)
			wantStep(t, c.name+" in the next iteration", l, 0, false)
		}
	})
}

func TestStepIgnoresHolds(t *testing.T) {
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
			wantStep(t, "two callbacks that schedule themselves", l, 0, true)
			if soons != i || timers != i {
				t.Fatalf("%d steps ran %d callbacks of CallSoon and %d timers", i, soons, timers)
			}
		}
	})
}

func TestStepNeverBlocks(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		start := time.Now()
		l.CallLater(hour, mustNotRun(t, "a timer in an hour"))
		release := l.Hold()
		for range 10 {
			l.Step()
		}
		release()
		if took := time.Since(start); took != 0 {
			t.Errorf("ten steps took %v, want 0", took)
		}
	})
}

// A program that calls Step and then sleeps for the returned time calls a callback in
// each Step, and each at its time.
func TestAfterTheTimeThatStepReturnsACallbackIsDue(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		runs := 0
		armRandom(t, l, 2000, &runs)
		for {
			before := runs
			next, ok := l.Step()
			if runs == before && runs != 0 {
				t.Fatalf("no callback was due at %v", l.Time())
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

func TestStepAndRunMayAlternate(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		l.CallSoon(func() {
			tr.add("step")
			l.CallSoon(tr.record("run"))
		})
		l.Step()
		runUntilIdle(t, l)
		l.CallSoon(tr.record("again"))
		l.Step()
		tr.want(t, "Step, RunUntilIdle, Step", "step run again")
	})
}
