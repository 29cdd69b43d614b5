package loop_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// In a bubble no time passes between a post and its callback. A loop that checked its inbox at
// intervals would be late.
func TestAPostWakesTheLoopAtOnce(t *testing.T) {
	eachClockInBubble(t, func(t *testing.T, l *loop.Loop) {
		ended := testkit.Async(func() error { return l.Run(context.Background()) })
		for i := range 100 {
			if i == 50 { // from here on the loop waits for a deadline, if its clock is real
				release := l.Hold()
				defer release()
				post(t, l, func() { l.CallLater(year, mustNotRun(t, "a timer in a year")) })
			}
			time.Sleep(time.Duration(i) * 1234567 * microsecond)
			posted := time.Now()
			ran := make(chan time.Time, 1)
			if i%2 == 0 {
				post(t, l, func() { ran <- time.Now() })
			} else {
				postBatch(t, l, noop, func() { ran <- time.Now() })
			}
			if late := (<-ran).Sub(posted); late != 0 {
				t.Errorf("post %d ran after %v, want 0s", i, late)
			}
		}
		stopRun(t, l, ended)
	})
}

// Outside of a bubble, the test cannot distinguish a late loop from a slow machine. It only finds a
// loop that does not wake up at all.
func TestAPostEndsAWaitWithoutADeadline(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		ended := startRun(t, context.Background(), l)
		fastest := testkit.Timeout
		for i := range 50 {
			time.Sleep(time.Duration(i%10) * 300 * microsecond)
			posted := time.Now()
			ran := make(chan time.Time, 1)
			post(t, l, func() { ran <- time.Now() })
			fastest = min(fastest, testkit.Receive(t, ran, "a post").Sub(posted))
		}
		if fastest > 100*millisecond {
			t.Errorf("the fastest of 50 posts took %v, want at most 100ms", fastest)
		}
		stopRun(t, l, ended)
	})
}

// The post arms a timer that is due before the deadline for which the loop sleeps.
func TestATimerArmedByAPostIsOnTime(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		l.CallLater(hour, noop)
		began := time.Now()
		go func() {
			time.Sleep(minute)
			post(t, l, func() {
				l.CallLater(second, func() {
					if took := time.Since(began); took != minute+second {
						t.Errorf("the timer ran after %v, want %v", took, minute+second)
					}
					l.Stop()
				})
			})
		}()
		if err := l.Run(context.Background()); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took != minute+second {
			t.Errorf("Run took %v, want %v", took, minute+second)
		}
	})
}

func TestNoPostOfABurstIsLost(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		const n = 100_000
		runs := 0
		count := func() { runs++ }
		var producer sync.WaitGroup
		producer.Go(func() { // posts to a loop that does not run
			for range n / 4 {
				post(t, l, count)
			}
			postBatch(t, l, slices.Repeat([]func(){count}, n/4)...)
		})
		producer.Wait()
		post(t, l, func() { // posts to a loop that is busy
			producer.Go(func() {
				for range n / 2 {
					post(t, l, count)
				}
			})
			producer.Wait()
		})
		runUntilIdle(t, l)
		if runs != n/4*2+n/2 {
			t.Errorf("%d of %d posts ran", runs, n/4*2+n/2)
		}
	})
}

func TestPostsOfEachGoroutineRunInOrder(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		const producers, each = 8, 2000
		ended := startRun(t, context.Background(), l)
		o := newOracle(t, producers)
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() {
				for i := 0; i < each; {
					if i%16 == p {
						batch := []func(){o.callback(p, i), o.callback(p, i+1), o.callback(p, i+2)}
						postBatch(t, l, batch...)
						clear(batch) // the slice belongs to the caller again
						i += 3
					} else {
						post(t, l, o.callback(p, i))
						i++
					}
				}
			})
		}
		wg.Wait()
		post(t, l, l.Stop)
		wantEnd(t, ended)
		for p, n := range o.next {
			if n < each {
				t.Errorf("%d posts of producer %d ran, want at least %d", n, p, each)
			}
		}
	})
}

func TestAnEmptyBatchSchedulesNothing(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		if err := l.PostBatch(nil); err != nil {
			t.Errorf("PostBatch(nil): %v", err)
		}
		wantStep(t, "after an empty batch", l, 0, false)
		runUntilIdle(t, l)
	})
}

func TestTheSliceOfABatchMayBeReused(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		var tr trace
		for range 2 {
			fs := []func(){tr.record("a"), tr.record("b")}
			postBatch(t, l, fs...)
			fs[0], fs[1] = mustNotRun(t, "a function stored in the slice after PostBatch"), nil
		}
		runUntilIdle(t, l)
		tr.want(t, "two batches", "a b a b")
	})
}

// The variable has no lock. The race detector reports a missing happens-before edge.
func TestWritesBeforeAPostAreVisibleInTheCallback(t *testing.T) {
	eachClock(t, func(t *testing.T, l *loop.Loop) {
		ended := startRun(t, context.Background(), l)
		x := 0
		done := make(chan struct{})
		x = 42
		post(t, l, func() {
			if x != 42 {
				t.Errorf("x is %d in the callback, want 42", x)
			}
			x = 43
			l.Stop()
			close(done)
		})
		testkit.Receive(t, done, "the post")
		wantEnd(t, ended)
		if x != 43 {
			t.Errorf("x is %d after Run, want 43", x)
		}
	})
}
