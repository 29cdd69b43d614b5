package stress_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// No timer comes due here, so bounds for the slots in use are known: at least the timers whose
// creation has returned and whose Free has not begun, and at most those whose creation has begun
// and whose Free has not returned.
func TestMaxTimersIsExactWhileTimersAreMadeAndFreed(t *testing.T) {
	const most = 40
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 3, MaxTimers: most})
		defer keepResizing(t, r)()
		defer keepCollecting()()
		var makeBegun, made, freeBegun, freed, refused atomic.Int64
		use := func(n int64, create func() ([]foliot.Timer, error)) {
			before := freed.Load()
			makeBegun.Add(n)
			timers, err := create()
			if err != nil {
				if upper := makeBegun.Load() - before; !errors.Is(err, foliot.ErrFull) || upper <= most {
					t.Errorf("got %v for %d more timers with at most %d of %d slots in use",
						err, n, upper-n, most)
				}
				refused.Add(1)
				makeBegun.Add(-n)
				return
			}
			// freeBegun is read last, so that lower is never too large.
			if lower := made.Add(n) - freeBegun.Load(); lower > most {
				t.Errorf("%d slots are in use, want at most %d", lower, most)
			}
			if rand.IntN(4) == 0 {
				time.Sleep(kit.Random(100 * microsecond))
			}
			freeBegun.Add(n)
			for _, timer := range timers {
				if !timer.Free() {
					t.Error("Free returns false, want true")
				}
			}
			freed.Add(n)
		}
		end := time.Now().Add(testkit.StressTime(t, 250*millisecond))
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for time.Now().Before(end) && !t.Failed() {
					switch rand.IntN(3) {
					case 0:
						use(1, func() ([]foliot.Timer, error) {
							timer, err := r.AfterFunc(hour, func() {})
							return []foliot.Timer{timer}, err
						})
					case 1:
						use(1, func() ([]foliot.Timer, error) {
							timer, err := r.NewTimer(func() {})
							return []foliot.Timer{timer}, err
						})
					case 2:
						calls := make([]foliot.Call, 1+rand.IntN(most/2))
						for i := range calls {
							calls[i] = foliot.Call{After: hour, Func: func() {}}
						}
						use(int64(len(calls)), func() ([]foliot.Timer, error) {
							return r.AfterFuncBatch(nil, calls)
						})
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d timers, refused %d times", made.Load(), refused.Load())
		if st := r.Stats(); st.Timers != 0 {
			t.Errorf("Timers is %d after all timers were freed, want 0", st.Timers)
		}
	})
}
