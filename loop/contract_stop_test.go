package loop_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// runners are Run and RunUntilIdle, where they do not differ.
var runners = []struct {
	name string
	run  func(l *loop.Loop, ctx context.Context) error
}{
	{"Run", (*loop.Loop).Run},
	{"RunUntilIdle", (*loop.Loop).RunUntilIdle},
}

// eachRunner runs a test with Run and with RunUntilIdle, which end after a while whatever the loop does.
func eachRunner(t *testing.T, f func(t *testing.T, l *loop.Loop, run func(ctx context.Context) error)) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) {
				f(t, l, func(ctx context.Context) error {
					ctx, cancel := context.WithTimeout(ctx, patience)
					defer cancel()
					return r.run(l, ctx)
				})
			})
		})
	}
}

func TestStopFromACallbackFinishesTheIteration(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		var j journal
		l.CallSoon(j.note("a"))
		l.CallSoon(func() {
			j.add("stop")
			l.CallSoon(j.note("next"))
			l.CallLater(0, j.note("timer0"))
			l.Stop()
		})
		post(t, l, j.note("b"))
		l.CallLater(0, j.note("timer"))
		if err := run(context.Background()); err != nil {
			t.Errorf("%v", err)
		}
		j.want(t, "until stopped", "a stop b timer")
		runIdle(t, l)
		j.want(t, "thereafter", "next timer0")
	})
}

func TestStopBeforeRunMeansOneIteration(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		var j journal
		l.CallSoon(func() {
			j.add("a")
			l.CallSoon(j.note("c"))
		})
		post(t, l, j.note("b"))
		far := l.CallLater(hour, j.note("far"))
		l.Stop()
		l.Stop() // twice is once
		if err := run(context.Background()); err != nil {
			t.Errorf("%v", err)
		}
		j.want(t, "the one iteration", "a b")
		if !far.Cancel() {
			t.Error("the timer is lost")
		}
		runIdle(t, l)
		j.want(t, "thereafter", "c")
	})
}

func TestStopBeforeRunDoesNotWait(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		far := l.CallLater(hour, never(t, "a timer in an hour"))
		release := l.Hold()
		defer release()
		l.Stop()
		if err := run(context.Background()); err != nil {
			t.Errorf("%v", err)
		}
		if !far.Pending() {
			t.Error("the timer is lost")
		}
	})
}

func TestAStopIsUsedUpByTheRunThatItEnds(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		var j journal
		l.CallSoon(func() { j.add("a"); l.Stop(); l.Stop() })
		if err := run(context.Background()); err != nil {
			t.Errorf("%v", err)
		}
		l.CallSoon(func() {
			j.add("b")
			l.CallSoon(func() {
				j.add("c")
				l.CallSoon(j.note("d"))
			})
		})
		runIdle(t, l)
		j.want(t, "two runs", "a b c d")
	})
}

func TestStopFromAnotherGoroutineEndsAWaitingRunAtOnce(t *testing.T) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLoop(t, loop.Options{})
				h := l.CallLater(hour, never(t, "a timer in an hour"))
				for range 10 {
					start := time.Now()
					go func() {
						time.Sleep(second)
						l.Stop()
					}()
					if err := r.run(l, context.Background()); err != nil {
						t.Errorf("%v", err)
					}
					if took := time.Since(start); took != second {
						t.Errorf("stopped after a second, ended after %v", took)
					}
				}
				if !h.Pending() {
					t.Error("the timer is lost")
				}
			})
		})
	}
}

func TestStopFromAnotherGoroutineEndsABusyRun(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		runs := 0
		running := make(chan struct{})
		var again func()
		again = func() {
			if runs++; runs == 1 {
				close(running)
			}
			l.CallSoon(again)
		}
		l.CallSoon(again)
		ended := inBackground(func() error { return run(context.Background()) })
		receive(t, running, "the first callback")
		l.Stop()
		if err := receive(t, ended, "the end"); err != nil {
			t.Errorf("%v", err)
		}
	})
}

func TestRunGoesOnWhenThereIsNothingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, clock := range map[string]loop.Clock{"system": nil, "virtual": loop.Virtual(0)} {
			l := newLoop(t, loop.Options{Clock: clock})
			start := time.Now()
			go func() {
				time.Sleep(hour)
				post(t, l, l.Stop)
			}()
			if err := l.Run(context.Background()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(start); took != hour {
				t.Errorf("%s: ended after %v", name, took)
			}
		}
	})
}

func TestTheEndOfTheContextEndsRun(t *testing.T) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLoop(t, loop.Options{})
				ticks := 0
				var tick func()
				tick = func() { ticks++; l.CallLater(second, tick) }
				l.CallLater(second, tick)
				for round := range 3 {
					ctx, cancel := context.WithTimeout(context.Background(), 10*second+500*millisecond)
					if err := r.run(l, ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v", err)
					}
					cancel()
					time.Sleep(500 * millisecond)
					l.Step()
					if want := (round + 1) * 11; ticks != want {
						t.Errorf("%d ticks, want %d", ticks, want)
					}
				}
			})
		})
	}
}

func TestTheEndOfTheContextWakesAWaitingRunAtOnce(t *testing.T) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLoop(t, loop.Options{})
				l.CallLater(hour, never(t, "a timer in an hour"))
				ctx, cancel := context.WithCancel(context.Background())
				start := time.Now()
				go func() {
					time.Sleep(second)
					cancel()
				}()
				if err := r.run(l, ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
				if took := time.Since(start); took != second {
					t.Errorf("cancelled after a second, ended after %v", took)
				}
			})
		})
	}
}

func TestTheEndOfTheContextEndsABusyRun(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		soons, timers := 0, 0
		var soon, timer func()
		soon = func() {
			if soons++; soons == 1000 {
				cancel()
			}
			l.CallSoon(soon)
		}
		timer = func() { timers++; l.CallLater(0, timer) }
		l.CallSoon(soon)
		l.CallLater(0, timer)
		if err := run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// However soon a loop notices that its context is over, what it has not run is run by the next.
func TestNothingIsLostWhenTheContextEnds(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var j journal
		l.CallSoon(func() {
			j.add("a")
			l.CallSoon(j.note("c"))
			l.CallLater(millisecond, j.note("d"))
			cancel()
		})
		l.CallSoon(j.note("b"))
		for range 2 {
			if err := run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
		runIdle(t, l)
		j.want(t, "in all", "a b c d")
	})
}

func TestASecondRunIsAnError(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		ended := started(t, context.Background(), l)
		for _, r := range runners {
			err := receive(t, inBackground(func() error { return r.run(l, context.Background()) }), r.name)
			if err == nil || errors.Is(err, loop.ErrClosed) {
				t.Errorf("%s beside Run: %v", r.name, err)
			}
		}
		// The first goes on undisturbed.
		ran := make(chan struct{})
		post(t, l, func() { close(ran) })
		receive(t, ran, "a post")
		l.Stop()
		if err := receive(t, ended, "Run"); err != nil {
			t.Errorf("the first Run: %v", err)
		}
	})
}

func TestRunWithinACallbackIsAnError(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		var j journal
		l.CallSoon(func() {
			j.add("a")
			for _, r := range runners {
				if err := r.run(l, context.Background()); err == nil || errors.Is(err, loop.ErrClosed) {
					t.Errorf("%s in a callback: %v", r.name, err)
				}
			}
		})
		l.CallSoon(func() { j.add("b"); l.CallSoon(func() { j.add("c"); l.Stop() }) })
		if err := run(context.Background()); err != nil {
			t.Errorf("%v", err)
		}
		j.want(t, "undisturbed", "a b c")
	})
}

func TestRunMayGoFromGoroutineToGoroutine(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var runs atomic.Int32
		for i := range 20 {
			l.CallLater(microsecond, func() { runs.Add(1); l.Stop() })
			if err := receive(t, inBackground(func() error { return l.Run(context.Background()) }), "Run"); err != nil {
				t.Errorf("round %d: %v", i, err)
			}
		}
		if n := runs.Load(); n != 20 {
			t.Errorf("%d of 20 timers ran", n)
		}
	})
}
