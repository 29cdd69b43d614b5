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

// An answerer is a task that says how often it has been polled, and sometimes misbehaves. wakes is how often it was
// woken before the poll, as far as the poll could see.
type answerer struct {
	woken, answered atomic.Int64
}

func (a *answerer) Poll(cx *foliot.Context) foliot.Status {
	a.answered.Store(a.woken.Load())
	switch rand.IntN(400) {
	case 0:
		time.Sleep(kit.Random(12 * millisecond)) // its worker may be replaced
	case 1:
		cx.WakeAfter(kit.Random(2 * millisecond))
	case 2:
		cx.Handle().Wake()
	}
	return foliot.Pending
}

// storm changes the number of workers all the time: shards are adopted, handed on to another heir and taken back.
func storm(t testing.TB, r *foliot.Runtime) (end func()) {
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

// Each goroutine has a task and a timer of its own, made when there were many workers, so that most of them are on
// adopted shards. It wakes the task or arms the timer, and waits for that alone.
func TestNothingOnAnAdoptedShardIsLostInAResizeStorm(t *testing.T) {
	d := testkit.StressTime(t, 400*millisecond)
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 40, OnPanic: func(any, []byte) {}})
		defer storm(t, r)()
		defer storm(t, r)()
		var wakes, armings atomic.Int64
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				var a answerer
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
							t.Error("Reset is false")
						}
						awaitRun(t, ran, r)
						armings.Add(1)
						continue
					}
					woken := a.woken.Add(1)
					if !h.Wake() {
						t.Error("Wake is false")
					}
					wakes.Add(1)
					for limit := time.Now().Add(wakeLimit); a.answered.Load() < woken; runtime.Gosched() {
						if time.Now().After(limit) {
							time.Sleep(second / 2) // the machine may have stood still
							if a.answered.Load() < woken {
								t.Errorf("a wake is lost: %v", r)
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

// Polls that panic or end their goroutine leave other tasks of the same shard behind, which somebody else has to poll.
func TestATaskThatEndsItsGoroutineOnAnAdoptedShardLeavesNoneBehind(t *testing.T) {
	d := testkit.StressTime(t, 300*millisecond)
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 40, OnPanic: func(any, []byte) {}})
		defer storm(t, r)()
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
			testkit.Returns(t, "tasks that end their goroutines", left.Wait)
		}
		testkit.Eventually(t, "no task is left", func() bool { return r.Stats().Tasks == 0 })
	})
}
