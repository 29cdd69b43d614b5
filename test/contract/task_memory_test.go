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

// spawnWithPayload spawns a task that keeps a payload alive. It is not inlined, so that the
// caller's stack has no reference to the task.
//
//go:noinline
func spawnWithPayload(
	t testing.TB, r *foliot.Runtime, poll foliot.TaskFunc,
) (foliot.TaskHandle, weak.Pointer[payload]) {
	f, w := closureWithPayload(nil)
	return spawn(t, r, func(cx *foliot.Context) foliot.Status {
		f()
		return poll(cx)
	}), w
}

func TestATaskThatHasEndedIsCollectable(t *testing.T) {
	for name, poll := range map[string]foliot.TaskFunc{
		"done":       doneTask,
		"done armed": func(cx *foliot.Context) foliot.Status { cx.WakeAfter(hour); return foliot.Done },
		"aborted":    func(cx *foliot.Context) foliot.Status { cx.Handle().Abort(); return foliot.Pending },
		"panicked":   func(*foliot.Context) foliot.Status { panic("on purpose") },
		"goexit":     func(*foliot.Context) foliot.Status { runtime.Goexit(); return foliot.Pending },
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, foliot.Options{Workers: 1, OnPanic: func(any, []byte) {}})
			kit.After(t, r, hour, func() {}) // another timer
			for range 5 {
				h, w := spawnWithPayload(t, r, poll)
				wantCollectedSoon(t, "ended", w)
				wantEnded(t, "ended", h)
			}
			runtime.KeepAlive(r)
		})
	}
}

func TestAnAbortedTaskIsCollectableAtOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var handles []foliot.TaskHandle
		var payloads []weak.Pointer[payload]
		for i := range 100 {
			h, w := spawnWithPayload(t, r, func(cx *foliot.Context) foliot.Status {
				if i%2 == 0 {
					cx.WakeAfter(hour)
				}
				return foliot.Pending
			})
			handles, payloads = append(handles, h), append(payloads, w)
		}
		testkit.Eventually(t, "a poll of each task", func() bool {
			s := r.Stats()
			return s.TaskPolls == 100 && s.Goroutines == 0
		})
		wantReachable(t, "tasks", payloads)
		for _, h := range handles {
			if !h.Abort() {
				t.Fatal("Abort returns false, want true")
			}
		}
		wantCollected(t, "aborted", payloads)
		runtime.KeepAlive(handles)
		runtime.KeepAlive(r)
	})
}

func TestAfterShutdownTasksAreCollectable(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	var payloads []weak.Pointer[payload]
	var handles []foliot.TaskHandle
	for range 100 {
		h, w := spawnWithPayload(t, r, func(cx *foliot.Context) foliot.Status {
			cx.WakeAfter(hour)
			return foliot.Pending
		})
		handles, payloads = append(handles, h), append(payloads, w)
	}
	testkit.Eventually(t, "the timers of all tasks", func() bool { return r.Stats().Armed == 100 })
	kit.Shutdown(t, r)
	wantCollected(t, "shut down", payloads)
	runtime.KeepAlive(handles)
	runtime.KeepAlive(r)
}

// allocsPerRound calls work, which does n rounds, on a runtime that is warmed up. It returns the
// average number of allocations in a round, rounded down.
func allocsPerRound(t *testing.T, n int, work func(n int)) int {
	t.Helper()
	work(4 * n)
	return int(testkit.AllocsPerRun(t, 3, func() { work(n) })) / n
}

func TestWarmOperationsOnTasksDoNotAllocate(t *testing.T) {
	for name, o := range map[string]foliot.Options{
		"default":  {},
		"1 worker": {Workers: 1},
		"manual":   {Clock: foliot.NewManualClock(kit.Epoch)},
	} {
		t.Run(name, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			h := spawn(t, r, idleTask)
			wantNoAllocs(t, "Wake", func() {
				if !h.Wake() || !h.Alive() {
					t.Fatal("Wake returns false, want true")
				}
			})
			h.Abort()
			wantNoAllocs(t, "methods of stale handles", func() {
				if h.Wake() || h.Abort() || h.Alive() {
					t.Fatal("a call on a stale handle returns true")
				}
			})

			var left atomic.Int64
			interval, err := foliot.NewInterval(hour, foliot.Skip)
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
					interval.Poll(cx)
				}
				if left.Load() > 0 && left.Add(-1) > 0 {
					cx.Handle().Wake()
				}
				return foliot.Pending
			})
			if got := allocsPerRound(t, 5000, func(n int) {
				left.Store(int64(n))
				poller.Wake()
				for left.Load() > 0 {
					runtime.Gosched()
				}
			}); got != 0 {
				t.Errorf("a poll that sets its timer makes %d allocations, want none", got)
			}

			var done atomic.Int64
			endingTask := foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
				cx.WakeAfter(hour)
				done.Add(1)
				return foliot.Done
			})
			if got := allocsPerRound(t, 1000, func(n int) {
				done.Store(0)
				for range n {
					if _, err := r.Spawn(endingTask); err != nil {
						t.Fatal(err)
					}
				}
				for done.Load() < int64(n) {
					runtime.Gosched()
				}
			}); got != 0 {
				t.Errorf("a task from Spawn to Done makes %d allocations, want none", got)
			}
		})
	}
}
