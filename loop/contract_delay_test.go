package loop_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

func TestNoDelayAndLessCountAsNowInArmingOrder(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var j journal
		l.CallLater(-1, j.note("a"))
		l.CallLater(0, j.note("b"))
		l.CallLater(math.MinInt64, j.note("c"))
		l.CallLaterBatch(nil, []loop.Call{{-hour, j.note("d")}, {0, j.note("e")}, {math.MinInt64, j.note("f")}})
		l.CallLater(0, j.note("g"))
		l.Step()
		j.want(t, "the first iteration", "a b c d e f g")
	})
}

func TestTimeStandsStillForDelaysOfZeroAndLessOnVirtual(t *testing.T) {
	l := newVirtual(t, hour)
	runs := 0
	check := func() {
		runs++
		if at := l.Time(); at != hour {
			t.Errorf("Time is %v", at)
		}
	}
	for _, d := range []time.Duration{0, -1, -hour, -2 * hour, math.MinInt64} {
		l.CallLater(d, check)
		l.CallAt(hour+min(d, 0)/2, check)
	}
	runIdle(t, l)
	if runs != 10 {
		t.Errorf("%d of 10 ran", runs)
	}
}

func TestDelaysTooLargeToAddSaturate(t *testing.T) {
	l := newVirtual(t, hour)
	var j journal
	ds := []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - hour, math.MaxInt64 - hour + 1}
	for _, d := range ds {
		var h loop.Handle
		h = l.CallLater(d, func() {
			j.add("huge")
			if when := h.When(); when != 0 && l.Time() != when {
				t.Errorf("a timer of %v ran at %v", when, l.Time())
			}
		})
		if h.When() < 250*year {
			t.Errorf("When of a delay of %d is %v", d, h.When())
		}
	}
	l.CallLaterBatch(nil, []loop.Call{{math.MaxInt64, j.note("huge")}})
	l.CallLater(250*year, func() {
		j.add("centuries")
		l.CallLater(250*year, j.note("huge"))
	})
	runIdle(t, l)
	j.want(t, "a timer of 250 years and huge ones", "centuries huge huge huge huge huge huge")

	// There is work to be done at the end of time, too.
	before := l.Time()
	l.CallLater(hour, j.note("timer"))
	l.CallLater(0, j.note("now"))
	l.CallSoon(j.note("soon"))
	l.CallAt(math.MaxInt64, j.note("end"))
	runIdle(t, l)
	if len(j.lines) != 4 || j.lines[0] != "soon" || l.Time() < before {
		t.Errorf("at the end of time ran %q, and it went from %v to %v", j.lines, before, l.Time())
	}
}

func TestAHugeDelayKeepsTheLoopWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		time.Sleep(hour)
		handles := []loop.Handle{
			l.CallLater(math.MaxInt64, never(t, "a huge delay")),
			l.CallAt(math.MaxInt64, never(t, "a huge time")),
		}
		var j journal
		l.CallLater(second, j.note("second"))
		ctx, cancel := context.WithTimeout(context.Background(), 50*year)
		defer cancel()
		start := time.Now()
		if err := l.RunUntilIdle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RunUntilIdle: %v", err)
		}
		if got := time.Since(start); got != 50*year {
			t.Errorf("RunUntilIdle came back after %v", got)
		}
		j.want(t, "beside huge delays", "second")
		for _, h := range handles {
			if !h.Pending() || h.When() < 250*year || !h.Cancel() {
				t.Errorf("a huge delay: Pending is %t, When %v", h.Pending(), h.When())
			}
		}
	})
}

func TestNoTimerIsEarly(t *testing.T) {
	l := newLoop(t, loop.Options{})
	var last time.Duration
	runs, more := 0, 500
	var arm func()
	arm = func() {
		d := rand.N(20 * millisecond)
		if rand.IntN(8) == 0 {
			d = rand.N(50 * microsecond)
		}
		began := time.Now()
		var h loop.Handle
		var when time.Duration
		h = l.CallLater(d, func() {
			runs++
			if took := time.Since(began); took < d {
				t.Errorf("a timer of %v ran after %v", d, took)
			}
			if l.Time() < when {
				t.Errorf("a timer of %v ran at %v", when, l.Time())
			}
			if when < last && l.Time() == last {
				t.Errorf("a timer of %v ran after one of %v", when, last)
			}
			last = when
			if more > 0 {
				more--
				arm()
			}
		})
		when = h.When()
	}
	for range 500 {
		arm()
	}
	runIdle(t, l)
	if runs != 1000 {
		t.Errorf("%d of 1000 timers ran", runs)
	}
}

func TestDelaysCountFromAFreshClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		runs := 0
		l.CallLater(second, func() {
			time.Sleep(20 * second) // the clock of the iteration is late now
			now := time.Now()
			check := func() {
				runs++
				if took := time.Since(now); took != 10*second {
					t.Errorf("a timer of 10s ran after %v", took)
				}
			}
			h := l.CallLater(10*second, check)
			batch := l.CallLaterBatch(nil, []loop.Call{{10 * second, check}})
			for _, h := range []loop.Handle{h, batch[0]} {
				if d := h.When() - l.Time(); d != 30*second {
					t.Errorf("When is %v after the Time of an iteration that lasts 20s already", d)
				}
			}
		})
		runIdleInBubble(t, l)
		if runs != 2 {
			t.Errorf("%d of 2 timers ran", runs)
		}
	})
}

func TestDelaysBeforeRunCountFromTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		time.Sleep(hour)
		armed := time.Now()
		l.CallLater(second, func() {
			if took := time.Since(armed); took != 2*second {
				t.Errorf("ran after %v", took)
			}
		})
		time.Sleep(2 * second)
		runIdleInBubble(t, l)
	})
}

func TestCallAtIsOnTheClockOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		runs := 0
		time.Sleep(hour)
		l.CallSoon(func() {
			began, base := time.Now(), l.Time()
			time.Sleep(minute)
			for _, d := range []time.Duration{hour, second, 1, 0, minute - 1, minute, minute + 1} {
				h := l.CallAt(base+d, func() {
					runs++
					if took, want := time.Since(began), max(d, minute); took != want {
						t.Errorf("CallAt(Time()+%v) ran after %v, not %v", d, took, want)
					}
				})
				if h.When() != base+d {
					t.Errorf("CallAt(%v).When() is %v", base+d, h.When())
				}
			}
		})
		runIdleInBubble(t, l)
		if runs != 7 {
			t.Errorf("%d of 7 timers ran", runs)
		}
	})
}

func TestCallLaterBatchIsCallLaterForEachCall(t *testing.T) {
	l := newVirtual(t, hour)
	var j journal
	first := l.CallLater(second, j.note("first"))
	calls := []loop.Call{
		{3 * second, j.note("three")},
		{second, j.note("one")},
		{0, j.note("zero")},
		{2 * second, never(t, "a cancelled call")},
		{second, j.note("uno")},
	}
	handles := l.CallLaterBatch([]loop.Handle{first}, calls)
	clear(calls) // the slice is the caller's again
	if len(handles) != 6 || handles[0] != first {
		t.Fatalf("CallLaterBatch appended to %v: %v", first, handles)
	}
	for i, want := range []time.Duration{hour + second, hour + 3*second, hour + second, hour, hour + 2*second, hour + second} {
		if got := handles[i].When(); got != want || !handles[i].Pending() {
			t.Errorf("handle %d: When is %v, want %v, Pending is %t", i, got, want, handles[i].Pending())
		}
	}
	if !handles[4].Cancel() {
		t.Error("Cancel is false")
	}
	runIdle(t, l)
	j.want(t, "a batch", "zero first one uno three")
	if got := l.CallLaterBatch(nil, nil); len(got) != 0 {
		t.Errorf("an empty batch has %d handles", len(got))
	}
}
