package loop_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// eachCaller runs a subtest that calls the loop from outside, and one that calls it from
// a callback. call calls a function in that way. The clock has moved since the start.
func eachCaller(t *testing.T, f func(t *testing.T, l *loop.Loop, call func(func()))) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		l.CallLater(millisecond, noop)
		runUntilIdle(t, l)
		t.Run("outside", func(t *testing.T) { f(t, l, func(g func()) { g() }) })
		t.Run("callback", func(t *testing.T) {
			f(t, l, func(g func()) {
				l.CallSoon(g)
				l.Step()
			})
		})
	})
}

func TestACallAtInThePastKeepsItsTime(t *testing.T) {
	eachCaller(t, func(t *testing.T, l *loop.Loop, call func(func())) {
		var tr trace
		call(func() {
			now := l.Time()
			at := func(d time.Duration, name string) {
				when := now + d
				if d == math.MinInt64 {
					when = d
				}
				if h := l.CallAt(when, tr.record(name)); h.When() != when || !h.Pending() {
					t.Errorf("CallAt(%v): When is %v, Pending is %t", when, h.When(), h.Pending())
				}
			}
			l.CallLater(-hour, tr.record("i"))
			at(0, "h")
			at(-10*millisecond, "e")
			at(-20*millisecond, "c")
			at(-1, "g")
			at(-10*millisecond, "f")
			at(-hour, "b")
			at(math.MinInt64, "a")
			at(-20*millisecond+1, "d")
			l.CallSoon(tr.record("soon"))
		})
		wantStep(t, "the iteration", l, 0, false)
		got := strings.Join(tr.lines, " ")
		// CallLater reads the clock, which shows Time or later. So h and i may be equal.
		if got != "soon a b c d e f g h i" && got != "soon a b c d e f g i h" {
			t.Errorf("the order is %s, want soon a b c d e f g and h, i in any order", got)
		}
	})
}

func TestManyCallAtsInThePastRunByTimeThenArmingOrder(t *testing.T) {
	eachCaller(t, func(t *testing.T, l *loop.Loop, call func(func())) {
		type stamp struct {
			when time.Duration
			id   int
		}
		var made, ran []stamp
		call(func() {
			now := l.Time()
			for id := range 20_000 {
				s := stamp{now - rand.N[time.Duration](5000), id}
				h := l.CallAt(s.when, func() { ran = append(ran, s) })
				if rand.IntN(4) == 0 {
					h.Cancel()
				} else {
					made = append(made, s)
				}
			}
		})
		l.Step()
		slices.SortStableFunc(made, func(a, b stamp) int { return cmp.Compare(a.when, b.when) })
		if !slices.Equal(made, ran) {
			t.Errorf("%d callbacks ran, want %d in order of time and arming", len(ran), len(made))
		}
		wantStep(t, "after the iteration", l, 0, false)
	})
}

func TestACallAtInThePastRunsBeforeTimersThatCameDueSince(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		l.CallLater(2*second, tr.record("two"))
		l.CallLater(second, func() {
			tr.add("one")
			time.Sleep(hour)
			l.CallLater(0, tr.record("now"))
			l.CallAt(3*second, tr.record("three"))
			l.CallAt(second-1, tr.record("past"))
			l.CallAt(2*second, tr.record("duo"))
			l.CallAt(second, tr.record("uno"))
			l.CallAt(second+1, tr.record("more"))
			l.CallSoon(tr.record("soon"))
		})
		runUntilIdleInBubble(t, l)
		tr.want(t, "after a callback of an hour", "one soon past uno more two duo three now")
	})
}

func TestAPeriodicTimerArmedByWhenKeepsItsPhaseAfterADelay(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		const period = 10 * millisecond
		var ran []string
		var h loop.Handle
		var tick func()
		tick = func() {
			ran = append(ran, fmt.Sprint(h.When(), " at ", l.Time()))
			switch len(ran) {
			case 2:
				time.Sleep(35 * millisecond)
			case 7:
				return
			}
			h = l.CallAt(h.When()+period, tick)
		}
		h = l.CallAt(period, tick)
		runUntilIdleInBubble(t, l)
		want := []string{
			"10ms at 10ms", "20ms at 20ms", "30ms at 55ms", "40ms at 55ms", "50ms at 55ms",
			"60ms at 60ms", "70ms at 70ms",
		}
		if !slices.Equal(ran, want) {
			t.Errorf("the ticks are %q, want %q", ran, want)
		}
	})
}

func TestACallAtInThePastCanBeCancelled(t *testing.T) {
	eachCaller(t, func(t *testing.T, l *loop.Loop, call func(func())) {
		var tr trace
		var cancelled []loop.Handle
		call(func() {
			now := l.Time()
			l.CallAt(now-hour, func() {
				tr.add("canceller")
				for _, h := range cancelled[:2] {
					wantCancel(t, "a timer of the iteration", h)
				}
			})
			for range 4 {
				cancelled = append(cancelled, l.CallAt(now-second, mustNotRun(t, "a cancelled call")))
			}
			l.CallAt(now-minute, tr.record("other"))
			for _, h := range cancelled[2:] {
				wantCancel(t, "a timer of the next iteration", h)
			}
		})
		wantStep(t, "the iteration", l, 0, false)
		tr.want(t, "next to cancelled timers", "canceller other")
		for _, h := range cancelled {
			wantStale(t, "after the iteration", h)
		}
	})
}

func TestWithinItsOwnCallbackACallAtInThePastIsStale(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		ran := false
		var h loop.Handle
		h = l.CallAt(-second, func() {
			ran = true
			wantStale(t, "within its callback", h)
			l.CallAt(-second, noop) // may use the same memory
			wantStale(t, "within its callback", h)
			if h.When() != -second {
				t.Errorf("When is %v, want %v", h.When(), -second)
			}
		})
		runUntilIdle(t, l)
		if !ran {
			t.Error("the callback did not run")
		}
	})
}

func TestAnOverdueTimerArmedByACallbackRunsInTheNextIteration(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		n := 0
		var again func()
		again = func() {
			tr.add("again")
			if n++; n < 5 {
				l.CallAt(math.MinInt64, again)
			}
		}
		l.CallAt(-second, again)
		l.CallAt(-1, tr.record("sibling"))
		wantStep(t, "the first iteration", l, 0, true)
		tr.want(t, "the first iteration", "again sibling")
		l.CallSoon(tr.record("soon"))
		l.CallAt(-2, tr.record("past"))
		wantStep(t, "the second iteration", l, 0, true)
		tr.want(t, "the second iteration", "soon again past")
		runUntilIdle(t, l)
		tr.want(t, "the other iterations", "again again again")
	})
}

func TestStepReportsThatACallAtInThePastIsDue(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		time.Sleep(second)
		l.CallLater(hour, noop)
		for _, when := range []time.Duration{0, -1, -hour, math.MinInt64} {
			l.CallSoon(func() { l.CallAt(when, noop) })
			wantStep(t, "the iteration that schedules it", l, 0, true)
			wantStep(t, "the iteration that calls it", l, hour, true)
			l.CallSoon(func() { l.CallAt(when, mustNotRun(t, "a cancelled call")).Cancel() })
			wantStep(t, "the iteration that schedules and cancels it", l, hour, true)
			wantStep(t, "the next iteration", l, hour, true)
		}
	})
}

func TestVirtualTimeDoesNotDecrease(t *testing.T) {
	l := newVirtual(t, hour)
	var tr trace
	at := func(name string, want time.Duration) func() {
		return func() {
			tr.add(name)
			if got := l.Time(); got != want {
				t.Errorf("Time is %v in %s, want %v", got, name, want)
			}
		}
	}
	l.CallLater(second, func() {
		at("timer", hour+second)()
		l.CallAt(hour, at("past", hour+second))
		l.CallAt(0, at("start", hour+second))
		l.CallLater(0, at("now", hour+second))
	})
	l.CallLater(2*second, at("later", hour+2*second))
	l.CallAt(0, at("zero", hour))
	l.CallAt(minute, mustNotRun(t, "a cancelled call")).Cancel()
	wantStep(t, "the first iteration", l, second, true)
	tr.want(t, "the first iteration", "zero")
	wantStep(t, "the iteration of the timer", l, 0, true)
	tr.want(t, "the iteration of the timer", "timer")
	runUntilIdle(t, l)
	tr.want(t, "the next iterations", "start past now later")
	l.CallAt(hour, at("last", hour+2*second))
	runUntilIdle(t, l)
	tr.want(t, "at last", "last")
}
