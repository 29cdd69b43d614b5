package contract_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

var sleepRows = []foreignRow{
	{"Runtime.Sleep", nil, func(f *foreignTest) { f.sleep(brief) }},
	{"Runtime.Sleep, for a microsecond", nil, func(f *foreignTest) { f.sleep(microsecond) }},
	{"Runtime.Sleep, with no delay", nil, func(f *foreignTest) { f.sleep(0) }},
	{"Runtime.Sleep, after one in the place of the runtime", nil, func(f *foreignTest) {
		f.own(func(t *testing.T) { f.wantSleepWorks(t) })
		f.sleep(brief)
	}},
	{"Runtime.Sleep, while other goroutines sleep", notEnded, func(f *foreignTest) {
		var returned atomic.Int64
		f.own(func(t *testing.T) {
			for range 3 {
				go func() {
					early := f.notBefore("Sleep", 2*brief)
					if err := f.rt.Sleep(context.Background(), 2*brief); err != nil {
						f.problem("Sleep in the place of the runtime returns %v", err)
					}
					early()
					returned.Add(1)
				}()
			}
		})
		f.foreign(func(t *testing.T) {
			for range 3 {
				ended, cancel := context.WithCancel(context.Background())
				cancel()
				sleepEnded(t, f.rt.Sleep(ended, brief))
			}
		})
		f.sleep(brief)
		f.own(func(t *testing.T) {
			f.within(t, "Sleep in the place of the runtime returns", func() bool { return returned.Load() == 3 })
			f.awaitCallbacks(t)
			f.before = f.rt.Stats()
		})
	}},
	{"Runtime.Sleep, with a context that has ended", nil, func(f *foreignTest) {
		f.start()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		f.foreign(func(t *testing.T) {
			if err := f.rt.Sleep(ctx, hour); err == nil {
				t.Error("Sleep returns nil, want an error")
			} else {
				sleepEnded(t, err)
			}
		})
	}},
	{"Runtime.Sleep, while the foreign place advances the clock", onManual, func(f *foreignTest) {
		f.start()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ctx.Done() // makes the channel outside of all bubbles
		f.foreign(func(t *testing.T) {
			var returned atomic.Bool
			end := f.clock.Now().Add(hour)
			go func() {
				defer returned.Store(true)
				if err := f.rt.Sleep(ctx, hour); err != nil {
					sleepEnded(t, err)
				} else if left := end.Sub(f.clock.Now()); left > 0 {
					t.Errorf("Sleep returns %v early", left)
				}
			}()
			for !returned.Load() {
				if !f.advance(t, hour) {
					cancel()
				}
				runtime.Gosched()
			}
		})
	}},
}

// sleep tries Sleep with a context that ends soon. Sleep may work as usual if the clock of the
// runtime advances meanwhile.
func (f *foreignTest) sleep(d time.Duration) {
	f.start()
	ctx := f.limit()
	var end time.Time
	f.own(func(*testing.T) { end = f.now().Add(d) })
	slept := false
	f.foreign(func(t *testing.T) {
		err := f.rt.Sleep(ctx, d)
		sleepEnded(t, err)
		slept = err == nil
	})
	f.own(func(t *testing.T) {
		if left := end.Sub(f.now()); slept && left > 0 {
			t.Errorf("Sleep returns %v early", left)
		}
	})
}

// sleepEnded checks that the error of Sleep is nil, that of the context, or one that names the
// bubble.
func sleepEnded(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		refused(t, "Sleep", err)
	}
}
