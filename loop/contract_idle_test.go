package loop_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

func TestRunUntilIdleEndsWhenNothingIsLeft(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		runUntilIdle(t, l)
		var tr trace
		l.CallLater(2*millisecond, func() {
			tr.add("timer")
			post(t, l, func() {
				tr.add("post")
				l.CallSoon(func() {
					tr.add("soon")
					l.CallLater(millisecond, tr.record("last"))
				})
			})
		})
		runUntilIdle(t, l)
		tr.want(t, "callbacks that schedule others", "timer post soon last")
		runUntilIdle(t, l)
		wantStep(t, "when idle", l, 0, false)
	})
}

func TestRunUntilIdleEndsAlthoughCallbacksQueueManyOthers(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		for range 5 {
			const want = 200_000
			timers := 0
			l.CallLater(millisecond, func() { timers++ })
			calls := 0
			var batch func()
			batch = func() {
				for range 1024 {
					l.CallSoon(func() { calls++ })
				}
				if calls < want {
					l.CallSoon(batch)
				}
			}
			l.CallSoon(batch)
			runUntilIdle(t, l)
			if calls < want || timers != 1 {
				t.Fatalf("%d calls and %d timers ran, want at least %d and 1", calls, timers, want)
			}
		}
	})
}

func TestALoopWithOnlyCancelledCallsIsIdle(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		start := time.Now()
		before := l.CallLater(hour, mustNotRun(t, "a cancelled timer"))
		during := l.CallLater(2*hour, mustNotRun(t, "a cancelled timer"))
		l.CallLater(second, func() { during.Cancel() })
		before.Cancel()
		runUntilIdleInBubble(t, l)
		if took := time.Since(start); took != second {
			t.Errorf("the loop was idle after %v, want %v", took, second)
		}
		l.CallSoon(mustNotRun(t, "a cancelled call")).Cancel()
		runUntilIdleInBubble(t, l)
	})
}

func TestAHoldKeepsRunUntilIdleWaiting(t *testing.T) {
	eachClockInBubble(t, func(t *testing.T, l *loop.Loop) {
		start := time.Now()
		var tr trace
		l.CallSoon(func() {
			release := l.Hold()
			go func() {
				time.Sleep(second)
				post(t, l, tr.record("result"))
				release()
				release() // does nothing
			}()
			other := l.Hold()
			go func() {
				time.Sleep(minute)
				other()
			}()
		})
		runUntilIdleInBubble(t, l)
		tr.want(t, "held", "result")
		if took := time.Since(start); took != minute {
			t.Errorf("the loop was idle after %v, want %v", took, minute)
		}
		runUntilIdleInBubble(t, l)
	})
}

func TestReleaseMayBeRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		first, second := l.Hold(), l.Hold()
		for range 5 {
			first()
		}
		wantHeld := func(what string) {
			ctx, cancel := context.WithTimeout(context.Background(), hour)
			defer cancel()
			if err := l.RunUntilIdle(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("RunUntilIdle returns %v during %s, want %v",
					err, what, context.DeadlineExceeded)
			}
		}
		wantHeld("the second hold")
		second()
		first()
		runUntilIdleInBubble(t, l)
		third := l.Hold()
		second()
		wantHeld("the third hold")
		third()
	})
}

func TestAPostBeforeReleaseIsCalledBeforeTheLoopIsIdle(t *testing.T) {
	for range 200 {
		l := newLoop(t, loop.Options{})
		const workers = 4
		runs := 0
		var wg sync.WaitGroup
		for range workers {
			release := l.Hold()
			wg.Go(func() {
				post(t, l, func() { runs++ })
				release()
			})
		}
		runUntilIdle(t, l)
		if runs != workers {
			t.Fatalf("the loop was idle after %d of %d posts", runs, workers)
		}
		wg.Wait()
	}
}

func TestRunUntilIdleRunsTimersWhileHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		release := l.Hold()
		l.CallLater(second, tr.record("timer"))
		l.CallLater(minute, func() { tr.add("release"); release() })
		runUntilIdleInBubble(t, l)
		tr.want(t, "held", "timer release")
	})
}

func TestRunCanBeStoppedDuringAHold(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		release := l.Hold()
		defer release()
		l.CallSoon(l.Stop)
		wantRun(t, run, context.Background(), nil)
	})
}
