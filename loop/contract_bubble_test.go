package loop_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

func TestInABubbleTenHoursPassAtOnce(t *testing.T) {
	testkit.SkipIfShort(t)
	outside := time.Now()
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		start := time.Now()
		ticks := 0
		var tick func()
		tick = func() {
			ticks++
			if took := time.Since(start); took != time.Duration(ticks)*second {
				t.Errorf("tick %d came after %v", ticks, took)
			}
			if ticks == 36_000 {
				l.Stop()
				return
			}
			l.CallLater(second, tick)
		}
		l.CallLater(second, tick)
		if err := l.Run(context.Background()); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(start); took != 10*hour {
			t.Errorf("ten hours took %v", took)
		}
	})
	if took := time.Since(outside); took > hour {
		t.Errorf("ten hours in a bubble took %v", took)
	}
}

// armRandom arms n timers with random delays, from nanoseconds to a century. Each adds 1
// to runs, and checks that it runs exactly on time. So it must be called in a bubble.
func armRandom(t *testing.T, l *loop.Loop, n int, runs *int) (handles []loop.Handle) {
	start := time.Now()
	for range n {
		d := time.Duration(rand.Uint64() >> (5 + rand.IntN(58)))
		handles = append(handles, l.CallLater(d, func() {
			*runs++
			if took := time.Since(start); took != d {
				t.Errorf("a timer of %v ran after %v", d, took)
			}
		}))
	}
	return handles
}

func TestInABubbleTimersRunExactlyOnTime(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		runs := 0
		for _, h := range armRandom(t, l, 1000, &runs) {
			if rand.IntN(4) == 0 {
				h.Cancel()
				runs++
			}
		}
		runUntilIdleInBubble(t, l)
		if runs != 1000 {
			t.Errorf("%d of 1000 timers ran", runs)
		}
	})
}

// A loop that waits must block in a way that the bubble can see. Otherwise the bubble
// deadlocks, or its time does not move.
func TestInABubbleGoroutinesPostTheirResults(t *testing.T) {
	inBubble(t, func(t *testing.T, l *loop.Loop) {
		start := time.Now()
		results := 0
		for i := range 100 {
			l.CallLater(time.Duration(i)*second, func() {
				release := l.Hold()
				go func() {
					defer release()
					time.Sleep(minute)
					post(t, l, func() {
						results++
						if took, want := time.Since(start), time.Duration(i)*second+minute; took != want {
							t.Errorf("result %d came after %v, want %v", i, took, want)
						}
					})
				}()
			})
		}
		runUntilIdleInBubble(t, l)
		if results != 100 {
			t.Errorf("%d of 100 results came", results)
		}
		if took, want := time.Since(start), 99*second+minute; took != want {
			t.Errorf("RunUntilIdle took %v, want %v", took, want)
		}
	})
}

func TestInABubbleAWaitingLoopIsDurablyBlocked(t *testing.T) {
	eachClockInBubble(t, func(t *testing.T, l *loop.Loop) {
		runs := 0
		ended := testkit.Async(func() error { return l.Run(context.Background()) })
		for i := range 10 {
			post(t, l, func() { runs++ })
			synctest.Wait()
			if runs != i+1 {
				t.Errorf("%d of %d posts have run", runs, i+1)
			}
		}
		l.Stop()
		synctest.Wait()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		default:
			t.Error("Run has not returned after Stop")
		}
	})
}
