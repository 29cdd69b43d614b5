package loop_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// Work goes back and forth between the loop and goroutines, which post and then release: RunUntilIdle must come back,
// and not before the last answer has run.
func TestStressRunUntilIdleMissesNoAnswer(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ctx := withPatience(t, end)
		for time.Now().Before(end) {
			asked, answered := 0, 0
			var ask func(depth int)
			ask = func(depth int) {
				asked++
				release := l.Hold()
				go func() {
					pause()
					post(t, l, func() {
						answered++
						for range rand.IntN(3) {
							if depth < 6 {
								ask(depth + 1)
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
				ask(0)
			}
			if err := l.RunUntilIdle(ctx); err != nil {
				t.Fatalf("RunUntilIdle: %v, after %d of %d answers", err, answered, asked)
			}
			if answered != asked {
				t.Fatalf("idle after %d of %d answers", answered, asked)
			}
		}
	})
}

// A goroutine that is at work on the loop's behalf may hold it for others.
func TestStressHoldFromGoroutines(t *testing.T) {
	eachStress(t, func(t *testing.T, l *loop.Loop, end time.Time) {
		ctx := withPatience(t, end)
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
				pause()
				post(t, l, func() { working.Add(-1) })
				release()
			}
			go work(l.Hold(), 0)
			if err := l.RunUntilIdle(ctx); err != nil {
				t.Fatalf("RunUntilIdle: %v", err)
			}
			if n := working.Load(); n != 0 {
				t.Fatalf("idle while %d goroutines are at work", n)
			}
		}
	})
}

// On virtual time, a goroutine that holds the loop sees no time pass, however many timers there are.
func TestStressVirtualTimeStandsStillWhileHeld(t *testing.T) {
	eachProcs(t, func(t *testing.T) {
		l := newVirtual(t, 0)
		end := time.Now().Add(stressTime(t, 200*millisecond))
		answers := 0
		var tick func()
		tick = func() {
			if !time.Now().Before(end) {
				return
			}
			l.CallLater(rand.N(hour), tick)
			if rand.IntN(4) != 0 {
				return
			}
			asked := l.Time()
			release := l.Hold()
			go func() {
				pause()
				post(t, l, func() {
					answers++
					if l.Time() != asked {
						t.Errorf("asked at %v, answered at %v", asked, l.Time())
					}
					release()
				})
			}()
		}
		for range 10 {
			l.CallLater(rand.N(hour), tick)
		}
		if err := l.RunUntilIdle(withPatience(t, end)); err != nil {
			t.Errorf("RunUntilIdle: %v", err)
		}
		if answers == 0 {
			t.Error("nobody answered")
		}
	})
}
