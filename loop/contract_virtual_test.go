package loop_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

func TestAVirtualClockStartsWhereItIsTold(t *testing.T) {
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
		runIdle(t, l)
		if at := l.Time(); at != start {
			t.Errorf("Time has gone from %v to %v for a soon call", start, at)
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
				t.Errorf("Time is %v in the callback of %v", at, when)
			}
			if depth < 10 {
				arm(depth + 1)
			}
		})
	}
	for range 1000 {
		arm(0)
	}
	runIdle(t, l)
	if runs != 11_000 {
		t.Errorf("%d of 11000 timers ran", runs)
	}
}

func TestVirtualTimeStandsStillWhileThereIsSomethingToRun(t *testing.T) {
	l := newVirtual(t, 0)
	var j journal
	l.CallLater(second, j.note("timer"))
	n := 0
	var again func()
	again = func() {
		if at := l.Time(); at != 0 {
			t.Errorf("Time is %v", at)
		}
		if n++; n < 100 {
			calls[n%len(calls)].call(l, again)
		} else {
			post(t, l, j.note("last"))
		}
	}
	l.CallSoon(again)
	runIdle(t, l)
	j.want(t, "a hundred iterations and a timer", "last timer")
}

func TestVirtualTimeDoesNotJumpWhileSomethingIsHeld(t *testing.T) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			l := newVirtual(t, hour)
			var fired atomic.Bool
			var j journal
			l.CallLater(second, func() {
				fired.Store(true)
				j.add("timer")
				l.Stop()
			})
			release := l.Hold()
			l.CallSoon(j.note("soon"))
			l.CallLater(0, j.note("due"))
			go func() {
				time.Sleep(30 * millisecond)
				post(t, l, func() {
					j.add("post")
					if at := l.Time(); at != hour {
						t.Errorf("Time is %v while held", at)
					}
				})
				time.Sleep(30 * millisecond)
				if fired.Load() {
					t.Error("the timer ran while something was held")
				}
				release()
			}()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := r.run(l, ctx); err != nil {
				t.Errorf("%v", err)
			}
			j.want(t, "held, then released", "soon due post timer")
			if at := l.Time(); at != hour+second {
				t.Errorf("Time is %v in the end", at)
			}
		})
	}
}

func TestWhatIsDueRunsOnVirtualTimeWhileSomethingIsHeld(t *testing.T) {
	for _, r := range runners {
		for _, way := range atOnce {
			t.Run(r.name+" "+way.name, func(t *testing.T) {
				l := newVirtual(t, hour)
				var j journal
				l.CallLater(second, j.note("timer"))
				release := l.Hold()
				l.CallSoon(func() {
					j.add("first")
					way.call(l, func() {
						j.add("next")
						way.call(l, func() {
							j.add("last")
							l.Stop()
							release()
						})
					})
				})
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				if err := r.run(l, ctx); err != nil {
					t.Error(err)
				}
				j.want(t, "while held", "first next last")
				if at := l.Time(); at != hour {
					t.Errorf("Time is %v in the end", at)
				}
			})
		}
	}
}

// A release in a callback lets time go on, a hold in a callback stops it.
func TestHoldsTakenByCallbacksStopVirtualTime(t *testing.T) {
	l := newVirtual(t, 0)
	var j journal
	l.CallLater(second, func() {
		j.add("hold")
		release := l.Hold()
		go func() {
			time.Sleep(20 * millisecond)
			post(t, l, func() {
				j.add("release")
				if at := l.Time(); at != second {
					t.Errorf("Time is %v while held", at)
				}
				release()
			})
		}()
	})
	l.CallLater(second+1, j.note("timer"))
	runIdle(t, l)
	j.want(t, "held by a callback", "hold release timer")
}

func TestASimulatedYearOfAMillionTimers(t *testing.T) {
	n := 1_000_000
	if raceEnabled || testing.Short() {
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
		for range n / 2 { // each makes one more on its way
			l.CallLater(time.Duration(rng.Int64N(int64(year/2))), arm)
		}
		runIdle(t, l)
		// Armed in the order of ids, so by deadline and then by id.
		slices.SortFunc(made, func(a, b stamp) int { return cmp.Or(cmp.Compare(a.when, b.when), cmp.Compare(a.id, b.id)) })
		if !slices.Equal(made, ran) {
			t.Errorf("%d timers were made, %d ran, or in another order", len(made), len(ran))
		}
		return ran
	}
	first := simulate(7)
	if len(first) != n/2*2 {
		t.Errorf("%d of %d timers ran", len(first), n)
	}
	if !raceEnabled && !testing.Short() {
		n /= 20
		if !slices.Equal(simulate(8), simulate(8)) {
			t.Error("the same simulation went another way")
		}
	}
}

func TestOneVirtualLoopDoesNotMoveTheTimeOfAnother(t *testing.T) {
	a, b := newVirtual(t, 0), newVirtual(t, 0)
	a.CallLater(hour, noop)
	runIdle(t, a)
	if at := b.Time(); at != 0 {
		t.Errorf("the other is at %v", at)
	}
}

func TestAPeriodicTimerOnVirtualTimeNeverDrifts(t *testing.T) {
	l := newLoop(t, loop.Options{Clock: loop.Virtual(0)})
	ticks := 0
	var tick func()
	tick = func() {
		if ticks++; ticks < 100_000 {
			l.CallLater(second, tick)
		}
	}
	l.CallLater(second, tick)
	runIdle(t, l)
	if at := l.Time(); at != 100_000*second {
		t.Errorf("a hundred thousand seconds end at %v", at)
	}
}
