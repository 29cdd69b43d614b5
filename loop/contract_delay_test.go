package loop_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

func TestDelaysOfZeroAndLessAreDueNowInArmingOrder(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		l.CallLater(-1, tr.record("a"))
		l.CallLater(0, tr.record("b"))
		l.CallLater(math.MinInt64, tr.record("c"))
		l.CallLaterBatch(nil, []loop.Call{
			{-hour, tr.record("d")}, {0, tr.record("e")}, {math.MinInt64, tr.record("f")},
		})
		l.CallLater(0, tr.record("g"))
		l.Step()
		tr.want(t, "the first iteration", "a b c d e f g")
	})
}

func TestDelaysOfZeroAndLessDoNotMoveAVirtualClock(t *testing.T) {
	l := newVirtual(t, hour)
	runs := 0
	check := func() {
		runs++
		if at := l.Time(); at != hour {
			t.Errorf("Time is %v, want %v", at, hour)
		}
	}
	for _, d := range []time.Duration{0, -1, -hour, -2 * hour, math.MinInt64} {
		l.CallLater(d, check)
		l.CallAt(hour+min(d, 0)/2, check)
	}
	runUntilIdle(t, l)
	if runs != 10 {
		t.Errorf("%d of 10 timers ran", runs)
	}
}

func TestADelayThatOverflowsIsForTheLargestTime(t *testing.T) {
	l := newVirtual(t, hour)
	var tr trace
	for _, d := range []time.Duration{
		math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - hour, math.MaxInt64 - hour + 1,
	} {
		var h loop.Handle
		h = l.CallLater(d, func() {
			tr.add("huge")
			if when := h.When(); when != 0 && l.Time() != when {
				t.Errorf("a timer of %v ran at %v", when, l.Time())
			}
		})
		if h.When() < 250*year {
			t.Errorf("When of a delay of %d is %v, want 250 years or more", d, h.When())
		}
	}
	l.CallLaterBatch(nil, []loop.Call{{math.MaxInt64, tr.record("huge")}})
	l.CallLater(250*year, func() {
		tr.add("250years")
		l.CallLater(250*year, tr.record("huge"))
	})
	runUntilIdle(t, l)
	tr.want(t, "a timer of 250 years and huge ones", "250years huge huge huge huge huge huge")

	// Timers can be armed at the largest time, too.
	before := l.Time()
	l.CallLater(hour, tr.record("timer"))
	l.CallLater(0, tr.record("now"))
	l.CallSoon(tr.record("soon"))
	l.CallAt(math.MaxInt64, tr.record("end"))
	runUntilIdle(t, l)
	if len(tr.lines) != 4 || tr.lines[0] != "soon" || l.Time() < before {
		t.Errorf("at the largest time %q ran, and Time changed from %v to %v",
			tr.lines, before, l.Time())
	}
}

func TestAHugeDelayKeepsTheLoopWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		time.Sleep(hour)
		handles := []loop.Handle{
			l.CallLater(math.MaxInt64, mustNotRun(t, "a huge delay")),
			l.CallAt(math.MaxInt64, mustNotRun(t, "a huge time")),
		}
		var tr trace
		l.CallLater(second, tr.record("second"))
		ctx, cancel := context.WithTimeout(context.Background(), 50*year)
		defer cancel()
		start := time.Now()
		if err := l.RunUntilIdle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RunUntilIdle returns %v, want DeadlineExceeded", err)
		}
		if got := time.Since(start); got != 50*year {
			t.Errorf("RunUntilIdle returned after %v, want %v", got, 50*year)
		}
		tr.want(t, "next to huge delays", "second")
		for _, h := range handles {
			if h.When() < 250*year {
				t.Errorf("When of a huge delay is %v, want 250 years or more", h.When())
			}
			wantCancel(t, "a huge delay", h)
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
	runUntilIdle(t, l)
	if runs != 1000 {
		t.Errorf("%d of 1000 timers ran", runs)
	}
}

func TestDelaysCountFromTheClockNotFromTime(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		runs := 0
		l.CallLater(second, func() {
			time.Sleep(20 * second) // Time does not change
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
					t.Errorf("When is %v after Time, 20s into the iteration, want 30s", d)
				}
			}
		})
		runUntilIdleInBubble(t, l)
		if runs != 2 {
			t.Errorf("%d of 2 timers ran", runs)
		}
	})
}

func TestDelaysBeforeRunCountFromTheCall(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		time.Sleep(hour)
		armed := time.Now()
		l.CallLater(second, func() {
			if took := time.Since(armed); took != 2*second {
				t.Errorf("the timer ran after %v, want %v", took, 2*second)
			}
		})
		time.Sleep(2 * second)
		runUntilIdleInBubble(t, l)
	})
}

func TestCallAtIsOnTheClockOfTime(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		runs := 0
		time.Sleep(hour)
		l.CallSoon(func() {
			began, base := time.Now(), l.Time()
			time.Sleep(minute)
			for _, d := range []time.Duration{hour, second, 1, 0, minute - 1, minute, minute + 1} {
				h := l.CallAt(base+d, func() {
					runs++
					if took, want := time.Since(began), max(d, minute); took != want {
						t.Errorf("CallAt(Time()+%v) ran after %v, want %v", d, took, want)
					}
				})
				if h.When() != base+d {
					t.Errorf("When of CallAt(%v) is %v", base+d, h.When())
				}
			}
		})
		runUntilIdleInBubble(t, l)
		if runs != 7 {
			t.Errorf("%d of 7 timers ran", runs)
		}
	})
}

func TestCallLaterBatchIsCallLaterForEachCall(t *testing.T) {
	l := newVirtual(t, hour)
	var tr trace
	first := l.CallLater(second, tr.record("first"))
	calls := []loop.Call{
		{3 * second, tr.record("three")},
		{second, tr.record("one")},
		{0, tr.record("zero")},
		{2 * second, mustNotRun(t, "a cancelled call")},
		{second, tr.record("uno")},
	}
	handles := l.CallLaterBatch([]loop.Handle{first}, calls)
	clear(calls) // the slice belongs to the caller again
	if len(handles) != 6 || handles[0] != first {
		t.Fatalf("CallLaterBatch returns %v, want %v and 5 more", handles, first)
	}
	for i, d := range []time.Duration{second, 3 * second, second, 0, 2 * second, second} {
		want := hour + d
		if got := handles[i].When(); got != want || !handles[i].Pending() {
			t.Errorf("handle %d: When is %v, want %v, Pending is %t",
				i, got, want, handles[i].Pending())
		}
	}
	wantCancel(t, "a handle of the batch", handles[4])
	runUntilIdle(t, l)
	tr.want(t, "a batch", "zero first one uno three")
	if got := l.CallLaterBatch(nil, nil); len(got) != 0 {
		t.Errorf("an empty batch has %d handles", len(got))
	}
}
