package loop_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// runners are Run and RunUntilIdle, for tests in which they do not differ.
var runners = []struct {
	name string
	run  func(l *loop.Loop, ctx context.Context) error
}{
	{"Run", (*loop.Loop).Run},
	{"RunUntilIdle", (*loop.Loop).RunUntilIdle},
}

// eachRunner runs a subtest with Run and with RunUntilIdle, on each kind of clock. run
// returns after testkit.Timeout at the latest.
func eachRunner(t *testing.T, f func(t *testing.T, l *loop.Loop, run func(ctx context.Context) error)) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			eachClock(t, func(t *testing.T, l *loop.Loop) {
				f(t, l, func(ctx context.Context) error {
					ctx, cancel := context.WithTimeout(ctx, testkit.Timeout)
					defer cancel()
					return r.run(l, ctx)
				})
			})
		})
	}
}

// eachRunnerInBubble runs a subtest in a synctest bubble with Run and with RunUntilIdle.
func eachRunnerInBubble(t *testing.T, f func(t *testing.T, l *loop.Loop, run func(ctx context.Context) error)) {
	for _, r := range runners {
		t.Run(r.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *loop.Loop) {
				f(t, l, func(ctx context.Context) error { return r.run(l, ctx) })
			})
		})
	}
}

// runToEnd calls a runner, which must return nil within testkit.Timeout.
func runToEnd(t testing.TB, l *loop.Loop, run func(l *loop.Loop, ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Timeout)
	defer cancel()
	if err := run(l, ctx); err != nil {
		t.Errorf("the loop returned %v", err)
	}
}

// wantRun calls run and checks what it returns.
func wantRun(t testing.TB, run func(context.Context) error, ctx context.Context, want error) {
	t.Helper()
	if err := run(ctx); !errors.Is(err, want) {
		t.Errorf("the loop returned %v, want %v", err, want)
	}
}

func TestStopFromACallbackFinishesTheIteration(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		var tr trace
		l.CallSoon(tr.record("a"))
		l.CallSoon(func() {
			tr.add("stop")
			l.CallSoon(tr.record("next"))
			l.CallLater(0, tr.record("timer0"))
			l.Stop()
		})
		post(t, l, tr.record("b"))
		l.CallLater(0, tr.record("timer"))
		wantRun(t, run, context.Background(), nil)
		tr.want(t, "until Stop", "a stop b timer")
		runUntilIdle(t, l)
		tr.want(t, "after Stop", "next timer0")
	})
}

func TestStopBeforeRunMeansOneIteration(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		var tr trace
		l.CallSoon(func() {
			tr.add("a")
			l.CallSoon(tr.record("c"))
		})
		post(t, l, tr.record("b"))
		far := l.CallLater(hour, tr.record("far"))
		l.Stop()
		l.Stop() // counts as one
		wantRun(t, run, context.Background(), nil)
		tr.want(t, "the one iteration", "a b")
		wantCancel(t, "the timer in an hour", far)
		runUntilIdle(t, l)
		tr.want(t, "after Stop", "c")
	})
}

func TestStopBeforeRunDoesNotWait(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		far := l.CallLater(hour, mustNotRun(t, "a timer in an hour"))
		release := l.Hold()
		defer release()
		l.Stop()
		wantRun(t, run, context.Background(), nil)
		if !far.Pending() {
			t.Error("the timer is no longer pending")
		}
	})
}

func TestAStopEndsOnlyOneRun(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		var tr trace
		l.CallSoon(func() { tr.add("a"); l.Stop(); l.Stop() })
		wantRun(t, run, context.Background(), nil)
		l.CallSoon(func() {
			tr.add("b")
			l.CallSoon(func() {
				tr.add("c")
				l.CallSoon(tr.record("d"))
			})
		})
		runUntilIdle(t, l)
		tr.want(t, "two runs", "a b c d")
	})
}

func TestStopFromAnotherGoroutineEndsAWaitingRunAtOnce(t *testing.T) {
	eachRunnerInBubble(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		h := l.CallLater(hour, mustNotRun(t, "a timer in an hour"))
		for range 10 {
			start := time.Now()
			go func() {
				time.Sleep(second)
				l.Stop()
			}()
			wantRun(t, run, context.Background(), nil)
			if took := time.Since(start); took != second {
				t.Errorf("the run ended after %v, want %v", took, second)
			}
		}
		if !h.Pending() {
			t.Error("the timer is no longer pending")
		}
	})
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
		ended := testkit.Async(func() error { return run(context.Background()) })
		testkit.Receive(t, running, "the first callback")
		stopRun(t, l, ended)
	})
}

func TestRunContinuesWhileThereIsNothingToCall(t *testing.T) {
	eachClockInBubble(t, func(t *testing.T, l *loop.Loop) {
		start := time.Now()
		go func() {
			time.Sleep(hour)
			post(t, l, l.Stop)
		}()
		wantRun(t, l.Run, context.Background(), nil)
		if took := time.Since(start); took != hour {
			t.Errorf("Run returned after %v, want %v", took, hour)
		}
	})
}

func TestTheEndOfTheContextEndsRun(t *testing.T) {
	eachRunnerInBubble(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		ticks := 0
		var tick func()
		tick = func() { ticks++; l.CallLater(second, tick) }
		l.CallLater(second, tick)
		for round := range 3 {
			ctx, cancel := context.WithTimeout(context.Background(), 10*second+500*millisecond)
			wantRun(t, run, ctx, context.DeadlineExceeded)
			cancel()
			time.Sleep(500 * millisecond)
			l.Step()
			if want := (round + 1) * 11; ticks != want {
				t.Errorf("%d ticks, want %d", ticks, want)
			}
		}
	})
}

func TestTheEndOfTheContextWakesAWaitingRunAtOnce(t *testing.T) {
	eachRunnerInBubble(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		l.CallLater(hour, mustNotRun(t, "a timer in an hour"))
		ctx, cancel := context.WithCancel(context.Background())
		start := time.Now()
		go func() {
			time.Sleep(second)
			cancel()
		}()
		wantRun(t, run, ctx, context.Canceled)
		if took := time.Since(start); took != second {
			t.Errorf("the run ended after %v, want %v", took, second)
		}
	})
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
		wantRun(t, run, ctx, context.Canceled)
	})
}

// The run may end at once or some iterations after the context. The next run calls the
// rest.
func TestNoCallbackIsLostWhenTheContextEnds(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var tr trace
		l.CallSoon(func() {
			tr.add("a")
			l.CallSoon(tr.record("c"))
			l.CallLater(millisecond, tr.record("d"))
			cancel()
		})
		l.CallSoon(tr.record("b"))
		for range 2 {
			wantRun(t, run, ctx, context.Canceled)
		}
		runUntilIdle(t, l)
		tr.want(t, "all runs", "a b c d")
	})
}

func TestASecondRunIsAnError(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		ended := startRun(t, context.Background(), l)
		for _, r := range runners {
			returned := testkit.Async(func() error { return r.run(l, context.Background()) })
			err := testkit.Receive(t, returned, r.name)
			if !errors.Is(err, loop.ErrRunning) {
				t.Errorf("%s during Run returns %v, want %v", r.name, err, loop.ErrRunning)
			}
		}
		// The first Run continues.
		ran := make(chan struct{})
		post(t, l, func() { close(ran) })
		testkit.Receive(t, ran, "a post")
		l.Stop()
		if err := testkit.Receive(t, ended, "Run"); err != nil {
			t.Errorf("the first Run returns %v, want nil", err)
		}
	})
}

func TestRunWithinACallbackIsAnError(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		var tr trace
		l.CallSoon(func() {
			tr.add("a")
			for _, r := range runners {
				if err := r.run(l, context.Background()); !errors.Is(err, loop.ErrRunning) {
					t.Errorf("%s in a callback returns %v, want %v", r.name, err, loop.ErrRunning)
				}
			}
		})
		l.CallSoon(func() { tr.add("b"); l.CallSoon(func() { tr.add("c"); l.Stop() }) })
		wantRun(t, run, context.Background(), nil)
		tr.want(t, "the outer run", "a b c")
	})
}

func TestRunMayBeCalledFromDifferentGoroutines(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var runs atomic.Int32
		for range 20 {
			l.CallLater(microsecond, func() { runs.Add(1); l.Stop() })
			wantEnd(t, testkit.Async(func() error { return l.Run(context.Background()) }))
		}
		if n := runs.Load(); n != 20 {
			t.Errorf("%d of 20 timers ran", n)
		}
	})
}
