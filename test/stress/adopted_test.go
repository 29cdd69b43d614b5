package stress_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A wakeRecorder is a task that records which wake-ups its polls have seen. Some polls block.
type wakeRecorder struct {
	woken atomic.Int64 // how often the task was woken
	seen  atomic.Int64 // woken at the start of the last poll
}

func (a *wakeRecorder) Poll(cx *foliot.Context) foliot.Status {
	a.seen.Store(a.woken.Load())
	switch rand.IntN(400) {
	case 0:
		time.Sleep(kit.Random(12 * millisecond)) // the worker may be replaced
	case 1:
		cx.WakeAfter(kit.Random(2 * millisecond))
	case 2:
		cx.Handle().Wake()
	}
	return foliot.Pending
}

// keepResizingWidely changes the number of workers between 1 and 40 until end is called. Workers
// adopt shards, pass them on to other workers and give them back.
func keepResizingWidely(t testing.TB, r *foliot.Runtime) (end func()) {
	return keepDoing(func() {
		if err := r.Resize([]int{1, 1, 2, 3, 7, 20, 40}[rand.IntN(7)]); err != nil {
			t.Errorf("Resize: %v", err)
		}
		switch rand.IntN(4) {
		case 0:
			time.Sleep(kit.Random(3 * millisecond))
		case 1:
			runtime.Gosched()
		}
	})
}

// Each goroutine has one task and one timer. They were made while there were many workers, so most
// of them are on adopted shards. The goroutine wakes the task or arms the timer, and waits for it.
func TestNoWakeOrTimerOnAnAdoptedShardIsLostDuringResizes(t *testing.T) {
	d := testkit.StressTime(t, 400*millisecond)
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 40, OnPanic: func(any, []byte) {}})
		defer keepResizingWidely(t, r)()
		defer keepResizingWidely(t, r)()
		var wakes, armings atomic.Int64
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				var a wakeRecorder
				h, err := r.Spawn(&a)
				if err != nil {
					t.Error(err)
					return
				}
				ran := make(chan struct{}, 1)
				timer, err := r.NewTimer(func() {
					ran <- struct{}{}
					switch rand.IntN(200) {
					case 0:
						time.Sleep(kit.Random(8 * millisecond))
					case 1:
						panic("a callback panics")
					case 2:
						runtime.Goexit()
					}
				})
				if err != nil {
					t.Error(err)
					return
				}
				for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); {
					if rand.IntN(2) == 0 {
						if !timer.Reset(kit.Random(300 * microsecond)) {
							t.Error("Reset returns false, want true")
						}
						awaitRun(t, ran, r)
						armings.Add(1)
						continue
					}
					woken := a.woken.Add(1)
					if !h.Wake() {
						t.Error("Wake returns false, want true")
					}
					wakes.Add(1)
					for limit := time.Now().Add(wakeLimit); a.seen.Load() < woken; runtime.Gosched() {
						if time.Now().After(limit) {
							time.Sleep(second / 2) // the whole machine may have been suspended
							if a.seen.Load() < woken {
								t.Errorf("a wake-up is lost: %v", r)
							}
							break
						}
					}
				}
				h.Abort()
				timer.Free()
			})
		}
		wg.Wait()
		t.Logf("%d wakes, %d armings", wakes.Load(), armings.Load())
	})
}

// A poll that panics or calls Goexit ends the goroutine of the worker. Another goroutine must poll
// the remaining tasks of the shard.
func TestTasksOnAnAdoptedShardArePolledAfterAPollEndsTheGoroutine(t *testing.T) {
	d := testkit.StressTime(t, 300*millisecond)
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 40, OnPanic: func(any, []byte) {}})
		defer keepResizingWidely(t, r)()
		for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); {
			const tasks = 200
			var left sync.WaitGroup
			left.Add(tasks)
			for range tasks {
				spawnOn(t, r, func(*foliot.Context) foliot.Status {
					left.Done()
					switch rand.IntN(20) {
					case 0:
						panic("a poll panics")
					case 1:
						runtime.Goexit()
					}
					return foliot.Done
				})
			}
			testkit.Returns(t, "one poll of each task", left.Wait)
		}
		testkit.Eventually(t, "no tasks", func() bool { return r.Stats().Tasks == 0 })
	})
}
