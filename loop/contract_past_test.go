package loop_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// within calls f outside of the loop, or in a callback, after the loop has run.
func within(t *testing.T, f func(t *testing.T, l *loop.Loop, call func(func()))) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		l.CallLater(millisecond, noop)
		runIdle(t, l)
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
	within(t, func(t *testing.T, l *loop.Loop, call func(func())) {
		var j journal
		call(func() {
			now := l.Time()
			at := func(d time.Duration, name string) {
				when := now + d
				if d == math.MinInt64 {
					when = d
				}
				if h := l.CallAt(when, j.note(name)); h.When() != when || !h.Pending() {
					t.Errorf("CallAt(%v): When is %v, Pending is %t", when, h.When(), h.Pending())
				}
			}
			l.CallLater(-hour, j.note("i"))
			at(0, "h")
			at(-10*millisecond, "e")
			at(-20*millisecond, "c")
			at(-1, "g")
			at(-10*millisecond, "f")
			at(-hour, "b")
			at(math.MinInt64, "a")
			at(-20*millisecond+1, "d")
			l.CallSoon(j.note("soon"))
		})
		wantStep(t, "the iteration", l, 0, false)
		got := strings.Join(j.lines, " ")
		// Time may be before the clock that CallLater reads, or the same.
		if got != "soon a b c d e f g h i" && got != "soon a b c d e f g i h" {
			t.Errorf("ran %s", got)
		}
	})
}

func TestManyCallsInThePastRunByTimeThenArmingOrder(t *testing.T) {
	within(t, func(t *testing.T, l *loop.Loop, call func(func())) {
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
			t.Errorf("%d calls were made, %d ran, or in another order", len(made), len(ran))
		}
		wantStep(t, "thereafter", l, 0, false)
	})
}

func TestACallAtInThePastRunsBeforeTimersThatCameDueSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		var j journal
		l.CallLater(2*second, j.note("two"))
		l.CallLater(second, func() {
			j.add("one")
			time.Sleep(hour)
			l.CallLater(0, j.note("now"))
			l.CallAt(3*second, j.note("three"))
			l.CallAt(second-1, j.note("past"))
			l.CallAt(2*second, j.note("duo"))
			l.CallAt(second, j.note("uno"))
			l.CallAt(second+1, j.note("more"))
			l.CallSoon(j.note("soon"))
		})
		runIdleInBubble(t, l)
		j.want(t, "after a callback of an hour", "one soon past uno more two duo three now")
	})
}

func TestAGridKeptByWhenSurvivesAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
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
		runIdleInBubble(t, l)
		want := []string{
			"10ms at 10ms", "20ms at 20ms", "30ms at 55ms", "40ms at 55ms", "50ms at 55ms", "60ms at 60ms", "70ms at 70ms",
		}
		if !slices.Equal(ran, want) {
			t.Errorf("ticks %q, want %q", ran, want)
		}
	})
}

func TestACallInThePastCanBeNamedAndCancelled(t *testing.T) {
	within(t, func(t *testing.T, l *loop.Loop, call func(func())) {
		var j journal
		var victims []loop.Handle
		call(func() {
			now := l.Time()
			l.CallAt(now-hour, func() {
				j.add("killer")
				for _, h := range victims[:2] {
					if !h.Pending() || !h.Cancel() {
						t.Error("a sibling is not pending and cancelled")
					}
				}
			})
			for i := range 4 {
				h := l.CallAt(now-second, never(t, "a cancelled call"))
				name := fmt.Sprint("victim ", i)
				if !h.SetName(name) || h.Name() != name || !strings.Contains(h.String(), name) {
					t.Errorf("the name of %v is %q", h, h.Name())
				}
				victims = append(victims, h)
			}
			l.CallAt(now-minute, j.note("other"))
			for _, h := range victims[2:] {
				if !h.Cancel() {
					t.Error("Cancel is false")
				}
			}
		})
		wantStep(t, "the iteration", l, 0, false)
		j.want(t, "beside cancelled calls", "killer other")
		for _, h := range victims {
			wantStale(t, "after the iteration", h)
			if h.Name() != "" || h.SetName("late") {
				t.Errorf("%v has a name", h)
			}
		}
	})
}

func TestWithinItsOwnCallbackACallInThePastIsStale(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		ran := false
		var h loop.Handle
		h = l.CallAt(-second, func() {
			ran = true
			wantStale(t, "within its callback", h)
			l.CallAt(-second, noop) // it may use the same memory
			wantStale(t, "within its callback", h)
			if h.When() != -second {
				t.Errorf("When is %v", h.When())
			}
		})
		runIdle(t, l)
		if !ran {
			t.Error("it did not run")
		}
	})
}

func TestWhatACallInThePastArmsForThePastRunsInTheNextIteration(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var j journal
		n := 0
		var again func()
		again = func() {
			j.add("again")
			if n++; n < 5 {
				l.CallAt(math.MinInt64, again)
			}
		}
		l.CallAt(-second, again)
		l.CallAt(-1, j.note("sibling"))
		wantStep(t, "the first iteration", l, 0, true)
		j.want(t, "the first iteration", "again sibling")
		l.CallSoon(j.note("soon"))
		l.CallAt(-2, j.note("past"))
		wantStep(t, "the second iteration", l, 0, true)
		j.want(t, "the second iteration", "soon again past")
		runIdle(t, l)
		j.want(t, "the others", "again again again")
	})
}

func TestStepSaysThatACallInThePastIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		time.Sleep(second)
		l.CallLater(hour, noop)
		for _, when := range []time.Duration{0, -1, -hour, math.MinInt64} {
			l.CallSoon(func() { l.CallAt(when, noop) })
			wantStep(t, "made by a callback", l, 0, true)
			wantStep(t, "its turn", l, hour, true)
			l.CallSoon(func() { l.CallAt(when, never(t, "a cancelled call")).Cancel() })
			wantStep(t, "made and cancelled by a callback", l, hour, true)
			wantStep(t, "thereafter", l, hour, true)
		}
	})
}

func TestVirtualTimeDoesNotGoBack(t *testing.T) {
	l := newVirtual(t, hour)
	var j journal
	at := func(name string, want time.Duration) func() {
		return func() {
			j.add(name)
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
	l.CallAt(minute, never(t, "a cancelled call")).Cancel()
	wantStep(t, "the first iteration", l, second, true)
	j.want(t, "the first iteration", "zero")
	wantStep(t, "the timer", l, 0, true)
	j.want(t, "the timer", "timer")
	runIdle(t, l)
	j.want(t, "the others", "start past now later")
	l.CallAt(hour, at("last", hour+2*second))
	runIdle(t, l)
	j.want(t, "in the end", "last")
}
