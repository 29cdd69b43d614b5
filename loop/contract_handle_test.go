package loop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// A scheduleFunc schedules f for the next iteration.
type scheduleFunc func(l *loop.Loop, f func()) loop.Handle

// handleCalls are the ways to get a handle.
var handleCalls = []struct {
	name string
	call scheduleFunc
}{
	{"CallSoon", func(l *loop.Loop, f func()) loop.Handle { return l.CallSoon(f) }},
	{"CallLater", func(l *loop.Loop, f func()) loop.Handle { return l.CallLater(0, f) }},
	{"CallAt", func(l *loop.Loop, f func()) loop.Handle { return l.CallAt(l.Time(), f) }},
	{"CallLaterBatch", func(l *loop.Loop, f func()) loop.Handle {
		return l.CallLaterBatch(nil, []loop.Call{{0, f}})[0]
	}},
}

// wantStale checks that h is neither pending nor can be cancelled.
func wantStale(t testing.TB, what string, h loop.Handle) {
	t.Helper()
	if h.Pending() {
		t.Errorf("%s: Pending returns true, want false", what)
	}
	if h.Cancel() {
		t.Errorf("%s: Cancel returns true, want false", what)
	}
}

// wantCancel cancels h, which must be pending before and stale afterwards.
func wantCancel(t testing.TB, what string, h loop.Handle) {
	t.Helper()
	if !h.Pending() {
		t.Errorf("%s: Pending returns false before Cancel, want true", what)
	}
	if !h.Cancel() {
		t.Errorf("%s: Cancel returns false, want true", what)
	}
	wantStale(t, what+" after Cancel", h)
}

// eachHandleCall runs a subtest for each way to get a handle and each kind of clock.
func eachHandleCall(t *testing.T, f func(t *testing.T, l *loop.Loop, call scheduleFunc)) {
	for _, c := range handleCalls {
		t.Run(c.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) { f(t, l, c.call) })
		})
	}
}

func TestTheZeroHandleIsStale(t *testing.T) {
	var h loop.Handle
	wantStale(t, "the zero handle", h)
	if when := h.When(); when != 0 {
		t.Errorf("When is %v, want 0", when)
	}
}

func TestHandlesAreComparableAndDistinct(t *testing.T) {
	l := newVirtual(t, 0)
	seen := map[loop.Handle]string{{}: "the zero handle"}
	for round := range 3 {
		for _, c := range handleCalls {
			for i := range 100 {
				name := fmt.Sprint(c.name, " ", i, " of round ", round)
				h := c.call(l, noop)
				if other, ok := seen[h]; ok {
					t.Fatalf("the handles of %s and of %s are equal", name, other)
				}
				seen[h] = name
			}
		}
		runUntilIdle(t, l)
	}
}

func TestACancelledCallNeverRuns(t *testing.T) {
	eachHandleCall(t, func(t *testing.T, l *loop.Loop, call scheduleFunc) {
		var tr trace
		h := call(l, mustNotRun(t, "a cancelled call"))
		call(l, tr.record("other"))
		wantCancel(t, "the handle", h)
		runUntilIdle(t, l)
		wantStale(t, "after the run", h)
		tr.want(t, "next to a cancelled call", "other")
	})
}

func TestATimerCancelledLongBeforeItsTimeNeverRuns(t *testing.T) {
	l := newVirtual(t, 0)
	var tr trace
	handles := []loop.Handle{
		l.CallLater(hour, mustNotRun(t, "a cancelled timer")),
		l.CallAt(2*hour, mustNotRun(t, "a cancelled timer")),
		l.CallLater(year, mustNotRun(t, "a cancelled timer")),
	}
	l.CallLater(second, func() {
		for _, h := range handles {
			wantCancel(t, "a timer", h)
		}
		l.CallLater(2*hour, tr.record("done"))
	})
	runUntilIdle(t, l)
	tr.want(t, "two hours later", "done")
	if at, want := l.Time(), 2*hour+second; at != want {
		t.Errorf("the loop was idle at %v, want %v", at, want)
	}
}

func TestACallCancelledByASiblingOfItsIterationNeverRuns(t *testing.T) {
	for _, canceller := range handleCalls {
		for _, other := range handleCalls {
			if canceller.name != "CallSoon" && other.name == "CallSoon" {
				continue // the callback of CallSoon is called first
			}
			t.Run(canceller.name+" cancels "+other.name, func(t *testing.T) {
				eachClock(t, func(t *testing.T, l *loop.Loop) {
					var tr trace
					var h loop.Handle
					canceller.call(l, func() {
						tr.add("canceller")
						wantCancel(t, "the other call", h)
					})
					other.call(l, tr.record("before"))
					h = other.call(l, mustNotRun(t, "the cancelled call"))
					other.call(l, tr.record("after"))
					l.Step()
					tr.want(t, "the iteration", "canceller before after")
					wantStale(t, "after the iteration", h)
					runUntilIdle(t, l)
				})
			})
		}
	}
}

func TestOneCallbackCancelsAllItsSiblings(t *testing.T) {
	l := newVirtual(t, 0)
	var handles []loop.Handle
	runs := 0
	for i := range 1000 {
		handles = append(handles, l.CallLater(second, func() {
			runs++
			for k, h := range handles {
				if got, want := h.Cancel(), k > i; got != want {
					t.Errorf("Cancel of timer %d by timer %d is %t, want %t", k, i, got, want)
				}
			}
		}))
	}
	runUntilIdle(t, l)
	if runs != 1 {
		t.Errorf("%d callbacks ran, want 1", runs)
	}
}

func TestWithinItsOwnCallbackAHandleIsNeitherPendingNorCancellable(t *testing.T) {
	eachHandleCall(t, func(t *testing.T, l *loop.Loop, call scheduleFunc) {
		var h loop.Handle
		ran := false
		h = call(l, func() {
			ran = true
			wantStale(t, "within its callback", h)
			call(l, noop) // may use the same memory
			wantStale(t, "within its callback", h)
		})
		runUntilIdle(t, l)
		wantStale(t, "after its callback", h)
		if !ran {
			t.Error("the callback did not run")
		}
	})
}

func TestAStaleHandleNeverAffectsANewCall(t *testing.T) {
	for _, c := range handleCalls {
		t.Run(c.name, func(t *testing.T) {
			l := newVirtual(t, 0)
			var stale []loop.Handle
			ran := 0
			for round := range 2000 {
				h := c.call(l, func() { ran++ })
				for _, h := range stale {
					wantStale(t, "an old handle", h)
				}
				if !h.Pending() {
					t.Fatal("a new call is not pending")
				}
				if round%3 == 0 {
					h.Cancel()
					ran++
				}
				l.Step()
				stale = append(stale, h)
				if len(stale) > 20 {
					stale = stale[1:]
				}
			}
			if ran != 2000 {
				t.Errorf("%d of 2000 calls ran or were cancelled", ran)
			}
		})
	}
}

func TestWhenOfATimerIsItsDeadline(t *testing.T) {
	l := newVirtual(t, hour)
	for _, d := range []time.Duration{0, 1, second, year} {
		if got := l.CallLater(d, noop).When(); got != hour+d {
			t.Errorf("When of CallLater(%v) is %v, want %v", d, got, hour+d)
		}
		if got := l.CallAt(hour+d, noop).When(); got != hour+d {
			t.Errorf("When of CallAt(%v) is %v", hour+d, got)
		}
	}
}

func TestWhenOfCallSoonIsTheTimeOfTheCall(t *testing.T) {
	l := newVirtual(t, hour)
	if got := l.CallSoon(noop).When(); got != hour {
		t.Errorf("When is %v, want %v", got, hour)
	}
	l.CallLater(second, func() {
		if got := l.CallSoon(noop).When(); got != hour+second {
			t.Errorf("When is %v, want %v", got, hour+second)
		}
	})
	runUntilIdle(t, l)
}

func TestWhenOfCallSoonInACallbackIsTheTimeOfTheIteration(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		l.CallLater(second, func() {
			time.Sleep(second)
			h := l.CallSoon(noop)
			if got := h.When(); got != l.Time() {
				t.Errorf("When is %v, want %v as Time", got, l.Time())
			}
		})
		runUntilIdleInBubble(t, l)
	})
}

func TestWhenOfCallSoonOutsideOfAnIterationIsTheTime(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		for range 3 {
			time.Sleep(hour)
			h := l.CallSoon(noop)
			if got := h.When(); got != l.Time() {
				t.Errorf("When is %v, want %v as Time", got, l.Time())
			}
			runUntilIdleInBubble(t, l)
		}
	})
}
