package contract_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// burn computes for some time.
func burn(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
	}
}

// spawnBusy spawns n tasks that are always ready, and whose polls take some time. They end with the
// function that it returns.
func spawnBusy(t *testing.T, r *foliot.Runtime, n int, each time.Duration) (end func()) {
	t.Helper()
	var over atomic.Bool
	for range n {
		if _, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
			burn(each)
			if over.Load() {
				return foliot.Done
			}
			cx.Handle().Wake()
			return foliot.Pending
		})); err != nil {
			t.Fatal(err)
		}
	}
	return func() { over.Store(true) }
}

// A worker divides its time between tasks that are always ready and callbacks that are due: what
// needs the time T takes 2T and a batch, however many there are. 2,000 callbacks need about 2 ms.
// When they had to wait for 32 polls each, the last was 2 to 5 seconds late.
func TestTasksThatAreAlwaysReadyDelayTimersByTheTimeThatTheseNeed(t *testing.T) {
	const timers = 2000
	limit := 500 * millisecond
	for name, workers := range map[string]int{"1 worker": 1, "2 workers": 2} {
		t.Run(name, func(t *testing.T) {
			var late time.Duration
			for range 3 { // other processes may have taken the processors
				r := kit.NewRuntime(t, foliot.Options{Workers: workers})
				end := spawnBusy(t, r, 400, 10*microsecond)
				var ran sync.WaitGroup
				ran.Add(timers)
				var last atomic.Int64
				due := time.Now().Add(10 * millisecond)
				for range timers {
					kit.After(t, r, time.Until(due), func() {
						last.Store(int64(time.Since(due)))
						ran.Done()
					})
				}
				testkit.Returns(t, "all callbacks", ran.Wait)
				end()
				kit.Shutdown(t, r)
				if late = time.Duration(last.Load()); late < limit {
					break
				}
			}
			if late >= limit {
				t.Errorf("the last of %d timers was %v late beside tasks that are always ready, want less than %v", timers, late, limit)
			}
		})
	}
}

// The same the other way round: callbacks that arm themselves again for now are always due.
func TestTimersThatAreAlwaysDueDoNotKeepTasksWaiting(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	var over atomic.Bool
	for range 100 {
		var timer foliot.Timer
		timer = kit.NewTimer(t, r, func() {
			burn(10 * microsecond)
			if !over.Load() {
				timer.Reset(0)
			}
		})
		timer.Reset(0)
	}
	var polls atomic.Int64
	for range 100 {
		if _, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
			if polls.Add(1) > 2000 {
				return foliot.Done
			}
			cx.Handle().Wake()
			return foliot.Pending
		})); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "2,000 polls", func() bool { return polls.Load() > 2000 })
	over.Store(true)
}

// In a bubble time stands still while a callback or a task keeps itself busy. Neither may wait for
// the clock to get its turn.
func TestInABubbleNeitherTimersNorTasksKeepTheOthersWaiting(t *testing.T) {
	for name, o := range bubbleOptions {
		t.Run("a timer armed for 0, "+name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				var polled atomic.Bool
				done := make(chan struct{})
				var timer foliot.Timer
				timer = kit.NewTimer(t, r, func() {
					if polled.Load() {
						close(done)
						return
					}
					timer.Reset(0)
				})
				timer.Reset(0)
				if _, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
					polled.Store(true)
					return foliot.Done
				})); err != nil {
					t.Fatal(err)
				}
				<-done
			})
		})
		t.Run("a task that wakes itself, "+name, func(t *testing.T) {
			inBubble(t, o, func(t *testing.T, r *foliot.Runtime) {
				var fired atomic.Bool
				done := make(chan struct{})
				if _, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
					if fired.Load() {
						close(done)
						return foliot.Done
					}
					cx.Handle().Wake()
					return foliot.Pending
				})); err != nil {
					t.Fatal(err)
				}
				kit.After(t, r, 0, func() { fired.Store(true) })
				<-done
			})
		})
	}
}

// With one processor and goroutines that compute, the driver wakes late, and the watchdog runs what
// is due. It must not start a goroutine for each worker: each of them would wait behind the others.
func TestOverdueWorkersDoNotWaitForEachOtherOnOneProcessor(t *testing.T) {
	testkit.SkipIfShort(t)
	testkit.SkipUnderRace(t, "callbacks take so long there that the watchdog leaves them to other goroutines")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := kit.NewRuntime(t, foliot.Options{Workers: 4})
	const limit = 60 * millisecond // a goroutine that is started waits for up to 8 slices of 10 ms
	best := hour
	for range 5 {
		due := time.Now().Add(40 * millisecond)
		var worst atomic.Int64
		var armed, ran, busy sync.WaitGroup
		for range 64 { // on all workers: each goroutine arms in another shard
			ran.Add(1)
			armed.Go(func() {
				kit.After(t, r, time.Until(due), func() {
					worst.Store(max(worst.Load(), int64(time.Since(due))))
					ran.Done()
				})
			})
		}
		armed.Wait()
		var over atomic.Bool
		for range 8 {
			busy.Go(func() {
				for !over.Load() {
					burn(millisecond)
				}
			})
		}
		testkit.Returns(t, "all callbacks", ran.Wait)
		over.Store(true)
		busy.Wait()
		best = min(best, time.Duration(worst.Load()))
	}
	t.Logf("the last callback was %v late in the best of five rounds", best)
	if best > limit {
		t.Errorf("the last callback was %v late in the best of five rounds, want at most %v", best, limit)
	}
}
