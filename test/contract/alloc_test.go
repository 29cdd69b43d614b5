package contract_test

import (
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// wantNoAllocs calls f some thousands of times to warm up. Further calls must not allocate.
func wantNoAllocs(t *testing.T, name string, f func()) {
	t.Helper()
	const runs = 5000
	for range 4 * runs {
		f()
	}
	if n := testkit.AllocsPerRun(t, runs, f); n != 0 {
		t.Errorf("%s: %v allocations per call, want none", name, n)
	}
}

func TestWarmOperationsOnTimersDoNotAllocate(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"default":  {},
		"1 worker": {Workers: 1},
		"reserved": {Workers: 2, Capacity: 10_000},
		"bound":    {MaxTimers: 100_000},
		"manual":   {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			now := time.Now()
			if o.Clock != nil {
				now = o.Clock.Now()
			}
			f := func() {}
			var timers [1000]foliot.Timer // other timers, with near and far deadlines
			for i := range timers {
				timers[i] = kit.NewTimer(t, r, f)
				timers[i].Reset(hour << (i % 16))
			}
			i := 0
			far := func() time.Duration { i++; return hour + time.Duration(i*7919%100_000)*millisecond }

			wantNoAllocs(t, "AfterFunc and Stop", func() {
				timer, err := r.AfterFunc(far(), f)
				if err != nil || !timer.Stop() {
					t.Fatal("AfterFunc or Stop failed")
				}
			})
			wantNoAllocs(t, "AfterFunc and Free", func() {
				timer, err := r.AfterFunc(far(), f)
				if err != nil || !timer.Free() {
					t.Fatal("AfterFunc or Free failed")
				}
			})
			wantNoAllocs(t, "Reset later", func() {
				if timer := timers[i%1000]; !timer.Reset(100*hour + time.Duration(i)*second) {
					t.Fatal("Reset returns false, want true")
				}
				i++
			})
			wantNoAllocs(t, "Reset earlier", func() {
				if !timers[i%1000].Reset(far() - time.Duration(i)*microsecond) {
					t.Fatal("Reset returns false, want true")
				}
			})
			wantNoAllocs(t, "ResetAt", func() {
				if !timers[i%1000].ResetAt(now.Add(far())) {
					t.Fatal("ResetAt returns false, want true")
				}
			})
			wantNoAllocs(t, "Reset and Stop", func() {
				timer := timers[i%1000]
				if !timer.Reset(far()) || !timer.Stop() || timer.Stop() {
					t.Fatal("Reset or Stop failed")
				}
			})
			wantNoAllocs(t, "NewTimer and Free", func() {
				timer, err := r.NewTimer(f)
				if err != nil || !timer.Free() {
					t.Fatal("NewTimer or Free failed")
				}
			})
			wantNoAllocs(t, "NewTimer, Reset and Free", func() {
				timer, err := r.NewTimer(f)
				if err != nil || !timer.Reset(far()) || !timer.Free() {
					t.Fatal("NewTimer, Reset or Free failed")
				}
			})
			wantNoAllocs(t, "Deadline", func() {
				timer := timers[i%1000]
				timer.Reset(hour)
				if _, ok := timer.Deadline(); !ok {
					t.Fatal("Deadline returns false, want true")
				}
			})
			calls := make([]foliot.Call, 10)
			for k := range calls {
				calls[k] = foliot.Call{After: hour, Func: f}
			}
			batch := make([]foliot.Timer, 0, 10)
			wantNoAllocs(t, "AfterFuncBatch and Stop", func() {
				var err error
				if batch, err = r.AfterFuncBatch(batch[:0], calls); err != nil {
					t.Fatal(err)
				}
				for _, timer := range batch {
					if !timer.Stop() {
						t.Fatal("Stop returns false, want true")
					}
				}
			})
			wantNoAllocs(t, "methods of stale handles", func() {
				if batch[0].Stop() || batch[0].Reset(hour) || batch[0].Free() {
					t.Fatal("a call on a stale handle returns true")
				}
			})
		})
	}
}

func TestWarmOperationsOnQueuesDoNotAllocate(t *testing.T) {
	for name, o := range map[string]foliot.Options{"system": {}, "manual": {Clock: foliot.NewManualClock(time.Now())}} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			q := foliot.NewQueue[int](r)
			for i := range 1000 {
				push(t, q, hour<<(i%10), i)
			}
			buf := make([]int, 4)
			now := time.Now()
			if o.Clock != nil {
				now = o.Clock.Now()
			}
			i := 0
			ago := func() time.Time { i++; return now.Add(-time.Duration(i*7919%100_000) * microsecond) }
			wantNoAllocs(t, "PushAt of an overdue value and TryWait", func() {
				pushAt(t, q, ago(), i)
				if q.TryWait(buf) != 1 || buf[0] != i {
					t.Fatal("TryWait does not return the value")
				}
			})
			wantNoAllocs(t, "PushAt and Remove", func() {
				h := pushAt(t, q, now.Add(time.Duration(i)*second), i)
				if _, ok := q.Remove(h); !ok {
					t.Fatal("Remove returns false")
				}
			})
			wantNoAllocs(t, "PushAt, Peek and TryWait", func() {
				pushAt(t, q, ago(), i)
				if _, v, ok := q.Peek(); !ok || v != i {
					t.Fatal("Peek does not return the value")
				}
				q.TryWait(buf)
				if _, _, ok := q.Peek(); !ok || q.TryWait(buf) != 0 {
					t.Fatal("Peek returns false, or TryWait a value that is not due")
				}
			})
		})
	}
}
