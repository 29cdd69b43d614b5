package loop_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// calls are the ways to get a handle; all are due in the next iteration.
var calls = []struct {
	name string
	call func(l *loop.Loop, f func()) loop.Handle
}{
	{"CallSoon", func(l *loop.Loop, f func()) loop.Handle { return l.CallSoon(f) }},
	{"CallLater", func(l *loop.Loop, f func()) loop.Handle { return l.CallLater(0, f) }},
	{"CallAt", func(l *loop.Loop, f func()) loop.Handle { return l.CallAt(l.Time(), f) }},
	{"CallLaterBatch", func(l *loop.Loop, f func()) loop.Handle { return l.CallLaterBatch(nil, []loop.Call{{0, f}})[0] }},
}

func wantStale(t testing.TB, what string, h loop.Handle) {
	t.Helper()
	if h.Pending() {
		t.Errorf("%s: Pending is true", what)
	}
	if h.Cancel() {
		t.Errorf("%s: Cancel is true", what)
	}
}

func TestTheZeroHandleNamesNothing(t *testing.T) {
	var h loop.Handle
	wantStale(t, "the zero handle", h)
	if when := h.When(); when != 0 {
		t.Errorf("When is %v", when)
	}
}

func TestHandlesAreComparableAndDistinct(t *testing.T) {
	l := newVirtual(t, 0)
	seen := map[loop.Handle]string{{}: "the zero handle"}
	for round := range 3 {
		for _, c := range calls {
			for i := range 100 {
				name := fmt.Sprint(c.name, " ", i, " of round ", round)
				h := c.call(l, noop)
				if other, ok := seen[h]; ok {
					t.Fatalf("the handles of %s and of %s are equal", name, other)
				}
				seen[h] = name
			}
		}
		runIdle(t, l)
	}
}

func TestACancelledCallNeverRuns(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) {
				var j journal
				h := c.call(l, never(t, "a cancelled call"))
				c.call(l, j.note("other"))
				if !h.Pending() {
					t.Error("Pending is false before Cancel")
				}
				if !h.Cancel() {
					t.Error("Cancel is false")
				}
				wantStale(t, "after Cancel", h)
				runIdle(t, l)
				wantStale(t, "after the run", h)
				j.want(t, "beside a cancelled call", "other")
			})
		})
	}
}

func TestATimerCancelledLongBeforeItsTimeNeverRuns(t *testing.T) {
	l := newVirtual(t, 0)
	var j journal
	victims := []loop.Handle{
		l.CallLater(hour, never(t, "a cancelled timer")),
		l.CallAt(2*hour, never(t, "a cancelled timer")),
		l.CallLater(year, never(t, "a cancelled timer")),
	}
	l.CallLater(second, func() {
		for _, h := range victims {
			if !h.Pending() || !h.Cancel() {
				t.Error("not cancelled")
			}
		}
		l.CallLater(2*hour, j.note("done"))
	})
	runIdle(t, l)
	j.want(t, "after an hour", "done")
	if at := l.Time(); at != 2*hour+second {
		t.Errorf("idle at %v: cancelled timers held the loop up", at)
	}
}

func TestACallCancelledByASiblingOfItsIterationNeverRuns(t *testing.T) {
	for _, killer := range calls {
		for _, victim := range calls {
			if killer.name != "CallSoon" && victim.name == "CallSoon" {
				continue // the victim has run by then
			}
			t.Run(killer.name+" cancels "+victim.name, func(t *testing.T) {
				eachClock(t, func(t *testing.T, l *loop.Loop) {
					var j journal
					var h loop.Handle
					killer.call(l, func() {
						j.add("killer")
						if !h.Pending() || !h.Cancel() {
							t.Error("the victim is not pending and cancelled")
						}
						wantStale(t, "after Cancel", h)
					})
					victim.call(l, j.note("before"))
					h = victim.call(l, never(t, "the victim"))
					victim.call(l, j.note("after"))
					l.Step()
					j.want(t, "the iteration", "killer before after")
					wantStale(t, "after the iteration", h)
					runIdle(t, l)
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
				if h.Cancel() != (k > i) {
					t.Errorf("Cancel of %d by %d is %t", k, i, k <= i)
				}
			}
		}))
	}
	runIdle(t, l)
	if runs != 1 {
		t.Errorf("%d callbacks ran", runs)
	}
}

func TestWithinItsOwnCallbackAHandleIsNeitherPendingNorCancellable(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) {
				var h loop.Handle
				ran := false
				h = c.call(l, func() {
					ran = true
					wantStale(t, "within its callback", h)
					c.call(l, noop) // what is made now may use the same memory
					wantStale(t, "within its callback", h)
				})
				runIdle(t, l)
				wantStale(t, "after its callback", h)
				if !ran {
					t.Error("it did not run")
				}
			})
		})
	}
}

func TestAnOldHandleNeverTouchesANewCall(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			l := newVirtual(t, 0)
			var old []loop.Handle
			ran := 0
			for round := range 2000 {
				h := c.call(l, func() { ran++ })
				for _, o := range old {
					wantStale(t, "an old handle", o)
				}
				if !h.Pending() {
					t.Fatal("a new call is not pending")
				}
				if round%3 == 0 {
					h.Cancel()
					ran++
				}
				l.Step()
				old = append(old, h)
				if len(old) > 20 {
					old = old[1:]
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
			t.Errorf("CallLater(%v).When() is %v", d, got)
		}
		if got := l.CallAt(hour+d, noop).When(); got != hour+d {
			t.Errorf("CallAt(%v).When() is %v", hour+d, got)
		}
	}
}

func TestWhenOfASoonCallIsTheTimeAtWhichItWasMade(t *testing.T) {
	l := newVirtual(t, hour)
	if got := l.CallSoon(noop).When(); got != hour {
		t.Errorf("When is %v", got)
	}
	l.CallLater(second, func() {
		if got := l.CallSoon(noop).When(); got != hour+second {
			t.Errorf("When is %v", got)
		}
	})
	runIdle(t, l)
}

func TestWhenOfASoonCallIsTheTimeOfTheIterationThatMadeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		l.CallLater(second, func() {
			time.Sleep(second)
			h := l.CallSoon(noop)
			if got := h.When(); got != l.Time() {
				t.Errorf("When is %v, Time is %v", got, l.Time())
			}
		})
		runIdleInBubble(t, l)
	})
}

func TestWhenOfASoonCallMadeOutsideIsTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		for range 3 {
			time.Sleep(hour)
			h := l.CallSoon(noop)
			if got := h.When(); got != l.Time() {
				t.Errorf("When is %v, Time is %v", got, l.Time())
			}
			runIdleInBubble(t, l)
		}
	})
}
