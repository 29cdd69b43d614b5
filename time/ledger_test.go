package time_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	std "time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/time"
)

// stressTime is how long a stress test runs.
func stressTime() time.Duration {
	if testing.Short() {
		return 100 * time.Millisecond
	}
	return 500 * time.Millisecond
}

// soon returns a random delay, so short that the next operation may come before, at or after
// the deadline.
func soon() time.Duration { return rand.N(200*time.Microsecond) - 20*time.Microsecond }

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
				time.NewTimer(time.Hour) // they make older channel timers weak
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
			for std.Now().Before(until) {
				timer := timers[rand.IntN(len(timers))]
				if rand.IntN(3) > 0 {
					armed.Add(1)
					if timer.Reset(soon()) {
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
	eventually(t, "every arming is accounted for", func() bool { return called.Load()+stopped.Load() >= armed.Load() })
	std.Sleep(5 * time.Millisecond)
	if c, o, a := called.Load(), stopped.Load(), armed.Load(); c+o != a || c == 0 || o == 0 {
		t.Errorf("%d called and %d stopped of %d", c, o, a)
	}
}

// The same for values: each is received once, or taken back by a Stop or Reset that returns
// true.
func TestEachArmingOfATimerHasExactlyOneEnd(t *testing.T) {
	defer disturb()()
	var armed, received, stopped atomic.Int64
	var timers [8]*time.Timer
	for i := range timers {
		timers[i] = time.NewTimer(time.Hour)
		armed.Add(1)
	}
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-timers[0].C:
				case <-timers[1].C:
				case <-timers[2].C:
				case <-timers[3].C:
				case <-timers[4].C:
				case <-timers[5].C:
				case <-stop:
					return
				}
				received.Add(1)
			}
		})
	}
	until := std.Now().Add(stressTime())
	for range 3 {
		writers.Go(func() {
			for std.Now().Before(until) {
				timer := timers[rand.IntN(len(timers))]
				switch rand.IntN(5) {
				case 0:
					if timer.Stop() {
						stopped.Add(1)
					}
				case 1:
					select {
					case <-timer.C:
						received.Add(1)
					default:
					}
				default:
					armed.Add(1)
					if timer.Reset(soon()) {
						stopped.Add(1)
					}
				}
				pause()
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	for _, timer := range timers {
		if timer.Stop() {
			stopped.Add(1)
		}
		wantEmpty(t, timer.C, "after Stop")
	}
	if r, o, a := received.Load(), stopped.Load(), armed.Load(); r+o != a || r == 0 || o == 0 {
		t.Errorf("%d received and %d stopped of %d", r, o, a)
	}
}

// After its last Reset a ticker ticks, whatever has happened to it before.
func TestATickerTicksAfterAnyStopsAndResets(t *testing.T) {
	defer disturb()()
	var wg sync.WaitGroup
	until := std.Now().Add(stressTime())
	for range 4 {
		ticker := time.NewTicker(time.Hour)
		for range 2 {
			wg.Go(func() {
				for std.Now().Before(until) {
					switch rand.IntN(4) {
					case 0:
						ticker.Stop()
					case 1:
						select {
						case <-ticker.C:
						default:
						}
					default:
						ticker.Reset(1 + rand.N(100*time.Microsecond))
					}
					pause()
				}
			})
		}
		defer func() {
			ticker.Reset(time.Millisecond)
			receive(t, ticker.C, "a tick")
			receive(t, ticker.C, "another")
			ticker.Stop()
			wantEmpty(t, ticker.C, "after Stop")
		}()
	}
	wg.Wait()
}

// Timers that become unreachable leave nothing behind, armed or not.
func TestTimersThatComeAndGoLeaveNothingBehind(t *testing.T) {
	end := disturb()
	var wg sync.WaitGroup
	until := std.Now().Add(stressTime())
	for range 4 {
		wg.Go(func() {
			for std.Now().Before(until) {
				switch rand.IntN(6) {
				case 0:
					time.NewTimer(soon()).Stop()
				case 1:
					time.NewTimer(time.Hour).Reset(soon())
				case 2:
					<-time.After(soon())
				case 3:
					time.NewTicker(1 + rand.N(time.Millisecond))
				case 4:
					time.AfterFunc(soon(), func() {}).Reset(soon())
				case 5:
					time.Sleep(soon())
				}
				pause()
			}
		})
	}
	wg.Wait()
	end()
	allGone(t, "after the end")
}
