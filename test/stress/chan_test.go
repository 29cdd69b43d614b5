package stress_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// chanTimers are timers with channels that many goroutines use at the same time.
type chanTimers struct {
	r       *foliot.Runtime
	timers  [8]*foliot.ChanTimer
	tickers [4]*foliot.Ticker

	armed, received, stopped atomic.Int64 // of timers
}

func newChanTimers(t *testing.T, r *foliot.Runtime) *chanTimers {
	c := &chanTimers{r: r}
	for i := range c.timers {
		c.timers[i] = kit.NewChanTimer(t, r, hour)
		c.armed.Add(1)
	}
	for i := range c.tickers {
		c.tickers[i] = kit.NewTicker(t, r, hour)
	}
	return c
}

// operate does one random operation.
func (c *chanTimers) operate() {
	timer, ticker := c.timers[rand.IntN(len(c.timers))], c.tickers[rand.IntN(len(c.tickers))]
	switch rand.IntN(6) {
	case 0, 1:
		c.armed.Add(1)
		if timer.Reset(kit.Random(300*microsecond) - 20*microsecond) {
			c.stopped.Add(1)
		}
	case 2:
		if timer.Stop() {
			c.stopped.Add(1)
		}
	case 3:
		select {
		case <-timer.C:
			c.received.Add(1)
		default:
		}
	case 4:
		ticker.Reset(1 + kit.Random(100*microsecond))
	case 5:
		ticker.Stop()
	}
}

// Each arming ends in exactly one way: its value is received, or a Stop or Reset returns true.
func TestEachArmingOfAChanTimerHasExactlyOneEnd(t *testing.T) {
	for _, opts := range []foliot.Options{{Workers: 1}, {Workers: 3}, {MaxTimers: 100_000}} {
		r := kit.NewRuntime(t, opts)
		c := newChanTimers(t, r)
		ends := []func(){keepResizing(t, r), keepCollecting()}
		var wg sync.WaitGroup
		until := time.Now().Add(testkit.StressTime(t, 300*millisecond))
		// On a busy machine it may take longer until a value is received.
		limit := until.Add(testkit.Timeout)
		for range 4 {
			wg.Go(func() {
				for time.Now().Before(until) || c.received.Load() == 0 && time.Now().Before(limit) {
					c.operate()
					testkit.RandomPause()
				}
			})
		}
		wg.Wait()
		for _, end := range ends {
			end()
		}
		for _, timer := range c.timers {
			if timer.Stop() {
				c.stopped.Add(1)
			}
		}
		for _, ticker := range c.tickers {
			ticker.Stop()
		}
		time.Sleep(5 * millisecond)
		for _, timer := range c.timers {
			if len(timer.C) != 0 {
				t.Error("a value is sent after Stop")
			}
		}
		for _, ticker := range c.tickers {
			if len(ticker.C) != 0 {
				t.Error("a tick is sent after Stop")
			}
		}
		if armed, received, stopped := c.armed.Load(), c.received.Load(), c.stopped.Load(); armed != received+stopped || received == 0 {
			t.Errorf("%d received + %d stopped, want %d armings", received, stopped, armed)
		}
	}
}

func TestTimersWithAChannelMeetShutdown(t *testing.T) {
	until := time.Now().Add(testkit.StressTime(t, 300*millisecond))
	for time.Now().Before(until) && !t.Failed() {
		r := kit.NewRuntime(t, foliot.Options{Workers: 1 + rand.IntN(4)})
		c := newChanTimers(t, r)
		end := keepCollecting()
		var closed atomic.Bool
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for !closed.Load() {
					c.operate()
					testkit.RandomPause()
				}
				for range 20 {
					c.operate()
				}
			})
		}
		time.Sleep(kit.Random(5 * millisecond))
		kit.Shutdown(t, r)
		closed.Store(true)
		wg.Wait()
		end()
		for _, timer := range c.timers {
			timer.Stop()
			if timer.Reset(0) || timer.Stop() {
				t.Error("Reset or Stop returns true after Shutdown")
			}
		}
		if st := r.Stats(); st.Armed != 0 || st.Timers != 0 {
			t.Errorf("Armed is %d and Timers %d after Shutdown, want 0", st.Armed, st.Timers)
		}
	}
}
