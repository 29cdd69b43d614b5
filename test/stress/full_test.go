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

// All timers here are armed for an hour or not at all, so that it is known which slots are in use: at least those whose
// making has returned and whose end has not begun, and at most those whose making has begun and whose end has not
// returned.
func TestMaxTimersIsExactWhileEverythingHappensAtOnce(t *testing.T) {
	const most = 40
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 3, MaxTimers: most})
		defer keepResizing(t, r)()
		defer keepCollecting()()
		var making, made, ending, ended, refused atomic.Int64
		use := func(n int64, create func() ([]foliot.Timer, error)) {
			before := ended.Load()
			making.Add(n)
			timers, err := create()
			if err != nil {
				if upper := making.Load() - before; !errors.Is(err, foliot.ErrFull) || upper <= most {
					t.Errorf("%v, with at most %d slots in use and %d more to take, of %d", err, upper-n, n, most)
				}
				refused.Add(1)
				making.Add(-n)
				return
			}
			// Read in this order: the ends that begin in between do not hide anything that was there at first.
			if lower := made.Add(n) - ending.Load(); lower > most {
				t.Errorf("%d slots are in use, of %d", lower, most)
			}
			if rand.IntN(4) == 0 {
				time.Sleep(kit.Random(100 * microsecond))
			}
			ending.Add(n)
			for _, timer := range timers {
				if !timer.Free() {
					t.Errorf("Free is false")
				}
			}
			ended.Add(n)
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
						use(int64(len(calls)), func() ([]foliot.Timer, error) { return r.AfterFuncBatch(nil, calls) })
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d timers, refused %d times", made.Load(), refused.Load())
		if st := r.Stats(); st.Slots != 0 {
			t.Errorf("Slots is %d, after all were freed", st.Slots)
		}
	})
}
