package contract_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// ladenTask spawns a task with baggage.
//
//go:noinline
func ladenTask(t testing.TB, r *foliot.Runtime, poll foliot.TaskFunc) (foliot.TaskHandle, weak.Pointer[baggage]) {
	f, w := laden(nil)
	return spawn(t, r, func(cx *foliot.Context) foliot.Status {
		f()
		return poll(cx)
	}), w
}

func TestTheBodyOfATaskThatEndedIsCollectable(t *testing.T) {
	for name, poll := range map[string]foliot.TaskFunc{
		"done":       finished,
		"done armed": func(cx *foliot.Context) foliot.Status { cx.WakeAfter(hour); return foliot.Done },
		"aborted":    func(cx *foliot.Context) foliot.Status { cx.Handle().Abort(); return foliot.Pending },
		"panicked":   func(*foliot.Context) foliot.Status { panic("on purpose") },
		"goexit":     func(*foliot.Context) foliot.Status { runtime.Goexit(); return foliot.Pending },
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: 1, OnPanic: func(any, []byte) {}})
			kit.After(t, r, hour, func() {}) // company
			for range 5 {
				h, w := ladenTask(t, r, poll)
				wantCollectedSoon(t, "ended", w)
				wantGone(t, "ended", h)
			}
			runtime.KeepAlive(r)
		})
	}
}

func TestTheBodyOfAnAbortedTaskIsCollectableAtOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var handles []foliot.TaskHandle
		var all []weak.Pointer[baggage]
		for i := range 100 {
			h, w := ladenTask(t, r, func(cx *foliot.Context) foliot.Status {
				if i%2 == 0 {
					cx.WakeAfter(hour)
				}
				return foliot.Pending
			})
			handles, all = append(handles, h), append(all, w)
		}
		testkit.Eventually(t, "all are at rest", func() bool { s := r.Stats(); return s.Polls == 100 && s.Running == 0 })
		runtime.GC()
		for i, w := range all {
			if w.Value() == nil {
				t.Fatalf("the body of the living task %d is gone", i)
			}
		}
		for _, h := range handles {
			if !h.Abort() {
				t.Fatal("Abort is false")
			}
		}
		wantCollected(t, "aborted", all)
		runtime.KeepAlive(handles)
		runtime.KeepAlive(r)
	})
}

func TestShutdownLetsTheBodiesOfTasksGo(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	var all []weak.Pointer[baggage]
	var handles []foliot.TaskHandle
	for range 100 {
		h, w := ladenTask(t, r, func(cx *foliot.Context) foliot.Status { cx.WakeAfter(hour); return foliot.Pending })
		handles, all = append(handles, h), append(all, w)
	}
	testkit.Eventually(t, "all are armed", func() bool { return r.Stats().Armed == 100 })
	kit.Shutdown(t, r)
	wantCollected(t, "shut down", all)
	runtime.KeepAlive(handles)
	runtime.KeepAlive(r)
}

// allocsPerTurn is how many allocations a turn of work takes on average, rounded down, when it is done n times in a row
// on a warm runtime.
func allocsPerTurn(n int, work func(n int)) int {
	work(4 * n)
	return int(testing.AllocsPerRun(3, func() { work(n) })) / n
}

// M-16
func TestWarmOperationsOnTasksDoNotAllocate(t *testing.T) {
	if testkit.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, o := range map[string]foliot.Options{
		"default":  {},
		"1 worker": {Workers: 1},
		"manual":   {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			h := spawn(t, r, idle)
			wantNoAllocs(t, "Wake", func() {
				if !h.Wake() || !h.Alive() {
					t.Fatal("Wake is false")
				}
			})
			h.Abort()
			wantNoAllocs(t, "methods of stale handles", func() {
				if h.Wake() || h.Abort() || h.Alive() {
					t.Fatal("a stale handle answers true")
				}
			})

			var left atomic.Int64
			every, err := foliot.NewInterval(hour, foliot.Skip)
			if err != nil {
				t.Fatal(err)
			}
			delay := foliot.NewDelay(hour)
			poller := spawn(t, r, func(cx *foliot.Context) foliot.Status {
				switch n := left.Load(); n % 4 {
				case 0:
					cx.WakeAfter(hour + time.Duration(n))
				case 1:
					cx.CancelWake()
				case 2:
					delay.Poll(cx)
					every.Poll(cx)
				}
				if left.Load() > 0 && left.Add(-1) > 0 {
					cx.Handle().Wake()
				}
				return foliot.Pending
			})
			if got := allocsPerTurn(5000, func(n int) {
				left.Store(int64(n))
				poller.Wake()
				for left.Load() > 0 {
					runtime.Gosched()
				}
			}); got != 0 {
				t.Errorf("a poll that sets its timer: %d allocations", got)
			}

			var done atomic.Int64
			ending := foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
				cx.WakeAfter(hour)
				done.Add(1)
				return foliot.Done
			})
			if got := allocsPerTurn(1000, func(n int) {
				done.Store(0)
				for range n {
					if _, err := r.Spawn(ending); err != nil {
						t.Fatal(err)
					}
				}
				for done.Load() < int64(n) {
					runtime.Gosched()
				}
			}); got != 0 {
				t.Errorf("Spawn to Done: %d allocations", got)
			}
		})
	}
}
