package time_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	std "time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

// stressTime is how long a stress test runs.
func stressTime() time.Duration {
	if testing.Short() {
		return 100 * time.Millisecond
	}
	return 500 * time.Millisecond
}

// shortDelay returns a random delay, so short that the next operation may come before, at or after
// the deadline.
func shortDelay() time.Duration { return rand.N(200*time.Microsecond) - 20*time.Microsecond }

// pause waits for a random time, or not at all.
func pause() {
	switch rand.IntN(4) {
	case 0:
		runtime.Gosched()
	case 1:
		for end := std.Now().Add(rand.N(100 * time.Microsecond)); std.Now().Before(end); {
			runtime.Gosched()
		}
	}
}

// disturb starts a goroutine that changes the number of workers, collects garbage and makes
// timers, until the returned function is called.
func disturb() (end func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; n = n%4 + 1 {
			select {
			case <-stop:
				_ = foliot.Default().Resize(runtime.GOMAXPROCS(0))
				return
			default:
			}
			_ = foliot.Default().Resize(n)
			runtime.GC()
			for range 40 {
				time.AfterFunc(time.Hour, func() {}).Stop() // its entry waits to be removed
			}
			std.Sleep(time.Millisecond)
		}
	})
	return func() { close(stop); wg.Wait() }
}

// Each arming ends in exactly one way: its function is called, or a Stop or Reset returns true.
func TestEachArmingOfAFunctionHasExactlyOneEnd(t *testing.T) {
	defer disturb()()
	var armed, called, stopped atomic.Int64
	var timers [8]*time.Timer
	for i := range timers {
		timers[i] = time.AfterFunc(time.Hour, func() { called.Add(1) })
		armed.Add(1)
	}
	var wg sync.WaitGroup
	until := std.Now().Add(stressTime())
	for range 4 {
		wg.Go(func() {
			for std.Now().Before(until) || called.Load() == 0 || stopped.Load() == 0 {
				timer := timers[rand.IntN(len(timers))]
				if rand.IntN(3) > 0 {
					armed.Add(1)
					if timer.Reset(shortDelay()) {
						stopped.Add(1)
					}
				} else if timer.Stop() {
					stopped.Add(1)
				}
				pause()
			}
		})
	}
	wg.Wait()
	for _, timer := range timers {
		if timer.Stop() {
			stopped.Add(1)
		}
	}
	testkit.Eventually(t, "every arming has ended", func() bool {
		return called.Load()+stopped.Load() >= armed.Load()
	})
	std.Sleep(5 * time.Millisecond)
	if c, s, a := called.Load(), stopped.Load(), armed.Load(); c+s != a || c == 0 || s == 0 {
		t.Errorf("%d called + %d stopped, want %d armings, and none of them 0", c, s, a)
	}
}

// Timers that were stopped or have fired leave nothing behind.
func TestNoTimerIsLeftAfterStress(t *testing.T) {
	end := disturb()
	var wg sync.WaitGroup
	until := std.Now().Add(stressTime())
	for range 4 {
		wg.Go(func() {
			for std.Now().Before(until) {
				timer := time.AfterFunc(shortDelay(), func() {})
				switch rand.IntN(4) {
				case 0:
					timer.Stop()
				case 1:
					timer.Reset(shortDelay())
				case 2:
					timer.Reset(time.Hour)
					timer.Stop()
				}
				pause()
			}
		})
	}
	wg.Wait()
	end()
	awaitNoTimers(t, "at the end")
}
