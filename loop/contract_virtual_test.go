package loop_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

func TestAVirtualClockStartsAtItsStart(t *testing.T) {
	for _, start := range []time.Duration{0, 1, hour, 100 * year} {
		l := newVirtual(t, start)
		if at := l.Time(); at != start {
			t.Errorf("Virtual(%v) starts at %v", start, at)
		}
		l.CallSoon(func() {
			if at := l.Time(); at != start {
				t.Errorf("Time of the first iteration is %v, want %v", at, start)
			}
		})
		runUntilIdle(t, l)
		if at := l.Time(); at != start {
			t.Errorf("Time is %v after a run without timers, want %v", at, start)
		}
	}
}

func TestVirtualTimeIsTheDeadlineOfTheTimerThatRuns(t *testing.T) {
	l := newVirtual(t, hour)
	rng := rand.New(rand.NewPCG(1, 2))
	runs := 0
	var arm func(depth int)
	arm = func(depth int) {
		when := l.Time() + time.Duration(rng.Uint64()>>(6+rng.IntN(58)))
		if depth%2 == 0 {
			when = l.Time() + time.Duration(rng.Int64N(int64(second)))
		}
		l.CallAt(when, func() {
			runs++
			if at := l.Time(); at != when {
				t.Errorf("Time is %v in the callback, want %v", at, when)
			}
			if depth < 10 {
				arm(depth + 1)
			}
		})
	}
	for range 1000 {
		arm(0)
	}
	runUntilIdle(t, l)
	if runs != 11_000 {
		t.Errorf("%d of 11000 timers ran", runs)
	}
}

func TestAVirtualClockDoesNotMoveWhileThereIsACallbackToCall(t *testing.T) {
	l := newVirtual(t, 0)
	var tr trace
	l.CallLater(second, tr.record("timer"))
	n := 0
	var again func()
	again = func() {
		if at := l.Time(); at != 0 {
			t.Errorf("Time is %v, want 0", at)
		}
		if n++; n < 100 {
			handleCalls[n%len(handleCalls)].call(l, again)
		} else {
			post(t, l, tr.record("last"))
		}
	}
	l.CallSoon(again)
	runUntilIdle(t, l)
	tr.want(t, "a hundred iterations and a timer", "last timer")
}

func TestAVirtualClockDoesNotJumpDuringAHold(t *testing.T) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			l := newVirtual(t, hour)
			var fired atomic.Bool
			var tr trace
			l.CallLater(second, func() {
				fired.Store(true)
				tr.add("timer")
				l.Stop()
			})
			release := l.Hold()
			l.CallSoon(tr.record("soon"))
			l.CallLater(0, tr.record("due"))
			go func() {
				time.Sleep(30 * millisecond)
				post(t, l, func() {
					tr.add("post")
					if at := l.Time(); at != hour {
						t.Errorf("Time is %v during the hold, want %v", at, hour)
					}
				})
				time.Sleep(30 * millisecond)
				if fired.Load() {
					t.Error("the timer ran during the hold")
				}
				release()
			}()
			runToEnd(t, l, r.run)
			tr.want(t, "during the hold and after it", "soon due post timer")
			if at := l.Time(); at != hour+second {
				t.Errorf("Time is %v at the end, want %v", at, hour+second)
			}
		})
	}
}

func TestDueCallbacksRunOnAVirtualClockDuringAHold(t *testing.T) {
	for _, r := range runners {
		for _, way := range immediateCalls {
			t.Run(r.name+" "+way.name, func(t *testing.T) {
				l := newVirtual(t, hour)
				var tr trace
				l.CallLater(second, tr.record("timer"))
				release := l.Hold()
				l.CallSoon(func() {
					tr.add("first")
					way.call(l, func() {
						tr.add("next")
						way.call(l, func() {
							tr.add("last")
							l.Stop()
							release()
						})
					})
				})
				runToEnd(t, l, r.run)
				tr.want(t, "during the hold", "first next last")
				if at := l.Time(); at != hour {
					t.Errorf("Time is %v at the end, want %v", at, hour)
				}
			})
		}
	}
}

func TestAHoldInACallbackStopsAVirtualClock(t *testing.T) {
	l := newVirtual(t, 0)
	var tr trace
	l.CallLater(second, func() {
		tr.add("hold")
		release := l.Hold()
		go func() {
			time.Sleep(20 * millisecond)
			post(t, l, func() {
				tr.add("release")
				if at := l.Time(); at != second {
					t.Errorf("Time is %v during the hold, want %v", at, second)
				}
				release()
			})
		}()
	})
	l.CallLater(second+1, tr.record("timer"))
	runUntilIdle(t, l)
	tr.want(t, "a hold in a callback", "hold release timer")
}

func TestASimulatedYearOfAMillionTimers(t *testing.T) {
	testkit.SkipUnderRace(t, "the simulation has one goroutine")
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	type stamp struct {
		when time.Duration
		id   int
	}
	simulate := func(seed uint64) []stamp {
		l := newVirtual(t, 0)
		rng := rand.New(rand.NewPCG(seed, 0))
		made := make([]stamp, 0, n)
		ran := make([]stamp, 0, n)
		arm := func() {
			id := len(made)
			when := l.Time() + time.Duration(rng.Int64N(int64(year-l.Time()))).Truncate(minute)
			made = append(made, stamp{when, id})
			l.CallAt(when, func() { ran = append(ran, stamp{l.Time(), id}) })
		}
		for range n / 2 {
			arm()
		}
		for range n / 2 { // each of these arms one more timer when it runs
			l.CallLater(time.Duration(rng.Int64N(int64(year/2))), arm)
		}
		runUntilIdle(t, l)
		// Ids are in order of arming.
		slices.SortFunc(made, func(a, b stamp) int {
			return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.id, b.id))
		})
		if !slices.Equal(made, ran) {
			t.Errorf("%d timers ran, want %d in order of deadline and arming", len(ran), len(made))
		}
		return ran
	}
	first := simulate(7)
	if len(first) != n/2*2 {
		t.Errorf("%d of %d timers ran", len(first), n)
	}
	n /= 20
	if !slices.Equal(simulate(8), simulate(8)) {
		t.Error("two runs of the same simulation differ")
	}
}

func TestLoopsOnOneVirtualClockHaveTheirOwnTime(t *testing.T) {
	clock := loop.Virtual(0)
	a, b := newLoop(t, loop.Options{Clock: clock}), newLoop(t, loop.Options{Clock: clock})
	a.CallLater(hour, noop)
	runUntilIdle(t, a)
	if at := b.Time(); at != 0 {
		t.Errorf("Time of the other loop is %v, want 0", at)
	}
}

func TestAPeriodicTimerOnAVirtualClockNeverDrifts(t *testing.T) {
	l := newVirtual(t, 0)
	ticks := 0
	var tick func()
	tick = func() {
		if ticks++; ticks < 100_000 {
			l.CallLater(second, tick)
		}
	}
	l.CallLater(second, tick)
	runUntilIdle(t, l)
	if at := l.Time(); at != 100_000*second {
		t.Errorf("100,000 periods of a second end at %v, want %v", at, 100_000*second)
	}
}
