package stress_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A goroutine reads a manual clock, another one moves the clock past the deadline, and then the first
// one arms its timer. Nothing else would fire it, and a test in BlockUntil would wait for ever.
func TestWhatAManualClockHasOvertakenFiresByItself(t *testing.T) {
	const d = hour
	for name, arm := range map[string]func(t *testing.T, r *foliot.Runtime, fired func()){
		"AfterFunc": func(t *testing.T, r *foliot.Runtime, fired func()) { kit.After(t, r, d, fired) },
		"Reset":     func(t *testing.T, r *foliot.Runtime, fired func()) { kit.NewTimer(t, r, fired).Reset(d) },
		"Batch": func(t *testing.T, r *foliot.Runtime, fired func()) {
			r.AfterFuncBatch(nil, []foliot.Call{{After: 100 * d, Func: func() {}}, {After: d, Func: fired}})
		},
		"Every": func(t *testing.T, r *foliot.Runtime, fired func()) { r.Every(d, fired) },
		"Sleep": func(t *testing.T, r *foliot.Runtime, fired func()) {
			go func() { r.Sleep(context.Background(), d); fired() }()
		},
		"WithTimeout": func(t *testing.T, r *foliot.Runtime, fired func()) {
			ctx, _ := r.WithTimeout(context.Background(), d)
			context.AfterFunc(ctx, fired)
		},
		"NewChanTimer": func(t *testing.T, r *foliot.Runtime, fired func()) {
			timer, err := r.NewChanTimer(d)
			if err != nil {
				t.Fatal(err)
			}
			go func() { <-timer.C; fired() }()
		},
		"NewTicker": func(t *testing.T, r *foliot.Runtime, fired func()) {
			ticker, err := r.NewTicker(d)
			if err != nil {
				t.Fatal(err)
			}
			go func() { <-ticker.C; ticker.Stop(); fired() }()
		},
		"a task": func(t *testing.T, r *foliot.Runtime, fired func()) {
			woken := false
			r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
				if woken {
					fired()
					return foliot.Done
				}
				woken = true
				cx.WakeAfter(d)
				return foliot.Pending
			}))
		},
		"Queue": func(t *testing.T, r *foliot.Runtime, fired func()) {
			q := foliot.NewQueue[int](r)
			go func() { q.Wait(context.Background(), make([]int, 1)); fired() }()
			q.Push(d, 1)
		},
		"Expirer": func(t *testing.T, r *foliot.Runtime, fired func()) {
			e := foliot.NewExpirer(foliot.ExpirerOptions[int]{Runtime: r, Evict: func(int) { fired() }})
			e.Push(d, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for end, n := time.Now().Add(testkit.StressTime(t, second)/10), 0; time.Now().Before(end); n++ {
				clock := foliot.NewManualClock(kit.Epoch)
				r := kit.NewRuntime(t, foliot.Options{Clock: clock})
				var fired atomic.Bool
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() { clock.Advance(2 * d) })
				}
				wg.Go(func() { arm(t, r, func() { fired.Store(true) }) })
				wg.Wait()
				// It has fired, or counts as one that waits for a later time.
				if !testkit.TrueWithin(testkit.Timeout, func() bool {
					_, waits := clock.Next()
					return fired.Load() || waits && (name != "Batch" || clock.Waiters() == 2)
				}) {
					t.Fatalf("round %d: what was armed neither has fired nor waits", n)
				}
				clock.Advance(10 * d)
				if !testkit.TrueWithin(testkit.Timeout, fired.Load) {
					t.Fatalf("round %d: it does not fire", n)
				}
				kit.Shutdown(t, r)
			}
		})
	}
}
