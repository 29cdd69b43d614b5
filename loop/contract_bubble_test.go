package loop_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/loop"
)

func TestInABubbleTenHoursPassInNoTime(t *testing.T) {
	outside := time.Now()
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		start := time.Now()
		ticks := 0
		var tick func()
		tick = func() {
			ticks++
			if took := time.Since(start); took != time.Duration(ticks)*second {
				t.Errorf("tick %d after %v", ticks, took)
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
		t.Errorf("it took %v", took)
	}
}

func TestInABubbleTimersRunExactlyOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		start := time.Now()
		runs := 0
		for range 1000 {
			d := time.Duration(rand.Uint64() >> (5 + rand.IntN(58)))
			h := l.CallLater(d, func() {
				runs++
				if took := time.Since(start); took != d {
					t.Errorf("a timer of %v ran after %v", d, took)
				}
			})
			if rand.IntN(4) == 0 {
				h.Cancel()
				runs++
			}
		}
		runIdleInBubble(t, l)
		if runs != 1000 {
			t.Errorf("%d of 1000 timers ran", runs)
		}
	})
}

// A bubble deadlocks, or its time stands still, unless a waiting loop blocks in a way that the bubble sees.
func TestInABubbleALoopTalksToGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, loop.Options{})
		start := time.Now()
		answers := 0
		for i := range 100 {
			l.CallLater(time.Duration(i)*second, func() {
				release := l.Hold()
				go func() {
					defer release()
					time.Sleep(minute)
					post(t, l, func() {
						answers++
						if took, want := time.Since(start), time.Duration(i)*second+minute; took != want {
							t.Errorf("answer %d after %v, want %v", i, took, want)
						}
					})
				}()
			})
		}
		runIdleInBubble(t, l)
		if answers != 100 {
			t.Errorf("%d of 100 answers", answers)
		}
		if took := time.Since(start); took != 99*second+minute {
			t.Errorf("it took %v", took)
		}
	})
}

func TestInABubbleAWaitingLoopIsDurablyBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, clock := range map[string]loop.Clock{"system": nil, "virtual": loop.Virtual(0)} {
			l := newLoop(t, loop.Options{Clock: clock})
			runs := 0
			ended := inBackground(func() error { return l.Run(context.Background()) })
			for i := range 10 {
				post(t, l, func() { runs++ })
				synctest.Wait()
				if runs != i+1 {
					t.Errorf("%s: %d of %d posts have run", name, runs, i+1)
				}
			}
			l.Stop()
			synctest.Wait()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("%s: Run: %v", name, err)
				}
			default:
				t.Errorf("%s: Run goes on", name)
			}
		}
	})
}
