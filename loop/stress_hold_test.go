package loop_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/loop"
)

// Callbacks start goroutines, which post a result and then release their hold. The result
// may start more. RunUntilIdle must return, but not before the last result has run.
func TestStressRunUntilIdleMissesNoResult(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ctx := stressContext(t, end)
		for time.Now().Before(end) {
			started, finished := 0, 0
			var start func(depth int)
			start = func(depth int) {
				started++
				release := l.Hold()
				go func() {
					testkit.RandomPause()
					post(t, l, func() {
						finished++
						for range rand.IntN(3) {
							if depth < 6 {
								start(depth + 1)
							}
						}
						if rand.IntN(4) == 0 {
							l.CallLater(rand.N(100*microsecond), func() {})
						}
					})
					release()
					if rand.IntN(2) == 0 {
						release()
					}
				}()
			}
			for range 1 + rand.IntN(4) {
				start(0)
			}
			if err := l.RunUntilIdle(ctx); err != nil {
				t.Fatalf("RunUntilIdle returns %v after %d of %d results", err, finished, started)
			}
			if finished != started {
				t.Fatalf("the loop was idle after %d of %d results", finished, started)
			}
		}
	})
}

// A goroutine that holds the loop may call Hold for other goroutines.
func TestStressRunUntilIdleWaitsForHoldsOfGoroutines(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ctx := stressContext(t, end)
		for time.Now().Before(end) {
			var working atomic.Int32
			var work func(release func(), depth int)
			work = func(release func(), depth int) {
				working.Add(1)
				for range rand.IntN(3) {
					if depth < 5 {
						go work(l.Hold(), depth+1)
					}
				}
				testkit.RandomPause()
				post(t, l, func() { working.Add(-1) })
				release()
			}
			go work(l.Hold(), 0)
			if err := l.RunUntilIdle(ctx); err != nil {
				t.Fatalf("RunUntilIdle: %v", err)
			}
			if n := working.Load(); n != 0 {
				t.Fatalf("the loop was idle while %d goroutines were working", n)
			}
		}
	})
}

// While a goroutine holds the loop, a virtual clock does not move, although timers are
// armed.
func TestStressAVirtualClockDoesNotMoveDuringAHold(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		l := newVirtual(t, 0)
		end := time.Now().Add(testkit.StressTime(t, 200*millisecond))
		results := 0
		var tick func()
		tick = func() {
			if !time.Now().Before(end) {
				return
			}
			l.CallLater(rand.N(hour), tick)
			if rand.IntN(4) != 0 {
				return
			}
			started := l.Time()
			release := l.Hold()
			go func() {
				testkit.RandomPause()
				post(t, l, func() {
					results++
					if l.Time() != started {
						t.Errorf("Time changed from %v to %v during a hold", started, l.Time())
					}
					release()
				})
			}()
		}
		for range 10 {
			l.CallLater(rand.N(hour), tick)
		}
		if err := l.RunUntilIdle(stressContext(t, end)); err != nil {
			t.Errorf("RunUntilIdle: %v", err)
		}
		if results == 0 {
			t.Error("no result was posted")
		}
	})
}
