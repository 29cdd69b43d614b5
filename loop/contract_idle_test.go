package loop_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

func TestRunUntilIdleEndsWhenNothingIsLeft(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		runIdle(t, l)
		var j journal
		l.CallLater(2*millisecond, func() {
			j.add("timer")
			post(t, l, func() {
				j.add("post")
				l.CallSoon(func() {
					j.add("soon")
					l.CallLater(millisecond, j.note("last"))
				})
			})
		})
		runIdle(t, l)
		j.want(t, "all of it", "timer post soon last")
		runIdle(t, l)
		wantStep(t, "when idle", l, 0, false)
	})
}

func TestCancelledCallsDoNotKeepTheLoopFromBeingIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		start := time.Now()
		before := l.CallLater(hour, never(t, "a cancelled timer"))
		during := l.CallLater(2*hour, never(t, "a cancelled timer"))
		l.CallLater(second, func() { during.Cancel() })
		before.Cancel()
		runIdleInBubble(t, l)
		if took := time.Since(start); took != second {
			t.Errorf("idle after %v", took)
		}
		l.CallSoon(never(t, "a cancelled call")).Cancel()
		runIdleInBubble(t, l)
	})
}

func TestAHoldKeepsRunUntilIdleWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, clock := range map[string]loop.Clock{"system": nil, "virtual": loop.Virtual(0)} {
			l := newLoop(t, loop.Options{Clock: clock})
			start := time.Now()
			var j journal
			l.CallSoon(func() {
				release := l.Hold()
				go func() {
					time.Sleep(second)
					post(t, l, j.note("answer"))
					release()
					release() // twice is once
				}()
				other := l.Hold()
				go func() {
					time.Sleep(minute)
					other()
				}()
			})
			runIdleInBubble(t, l)
			j.want(t, name, "answer")
			if took := time.Since(start); took != minute {
				t.Errorf("%s: the last was released after a minute, idle after %v", name, took)
			}
			runIdleInBubble(t, l)
		}
	})
}

func TestReleaseIsIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		first, second := l.Hold(), l.Hold()
		for range 5 {
			first()
		}
		ctx, cancel := context.WithTimeout(context.Background(), hour)
		defer cancel()
		if err := l.RunUntilIdle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second hold did not hold: %v", err)
		}
		second()
		first()
		runIdleInBubble(t, l)
		third := l.Hold()
		second()
		ctx, cancel = context.WithTimeout(context.Background(), hour)
		defer cancel()
		if err := l.RunUntilIdle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the third hold did not hold: %v", err)
		}
		third()
	})
}

func TestAPostBeforeReleaseIsRunBeforeIdle(t *testing.T) {
	for range 200 {
		postThenRelease(t)
	}
}

func postThenRelease(t *testing.T) {
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
	runIdle(t, l)
	if runs != workers {
		t.Fatalf("idle after %d of %d posts", runs, workers)
	}
	wg.Wait()
}

func TestRunUntilIdleRunsTimersWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		var j journal
		release := l.Hold()
		l.CallLater(second, j.note("timer"))
		l.CallLater(minute, func() { j.add("release"); release() })
		runIdleInBubble(t, l)
		j.want(t, "held", "timer release")
	})
}

func TestHoldDoesNotKeepRunFromStopping(t *testing.T) {
	eachRunner(t, func(t *testing.T, l *loop.Loop, run func(context.Context) error) {
		release := l.Hold()
		defer release()
		l.CallSoon(l.Stop)
		if err := run(context.Background()); err != nil {
			t.Errorf("%v", err)
		}
	})
}
