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

// wakeLimit is the time after which a wake-up counts as lost.
const wakeLimit = 2 * second

// spawnOn calls Spawn, which must succeed. It may be called on any goroutine.
func spawnOn(t testing.TB, r *foliot.Runtime, f foliot.TaskFunc) foliot.TaskHandle {
	h, err := r.Spawn(f)
	if err != nil {
		t.Errorf("Spawn: %v", err)
	}
	return h
}

// A countingTask is a task that counts its polls.
type countingTask struct {
	polls    atomic.Int64
	nextPoll atomic.Pointer[func()] // the next poll calls it once
}

func (task *countingTask) Poll(*foliot.Context) foliot.Status {
	if f := task.nextPoll.Swap(nil); f != nil {
		(*f)()
	}
	task.polls.Add(1)
	return foliot.Pending
}

// await waits for more than the given number of polls, for at most wakeLimit. It reports whether
// there were more. It does not sleep.
func (task *countingTask) await(polls int64) bool {
	for end := time.Now().Add(wakeLimit); task.polls.Load() <= polls; {
		if time.Now().After(end) {
			return task.polls.Load() > polls
		}
		runtime.Gosched()
	}
	return true
}

// The runtime does nothing else, so a lost wake-up is not repaired by another one. The goroutine
// that ran the worker last sleeps, spins, or is about to give up the worker.
func TestNoWakeOfATaskOnAnIdleRuntimeIsLost(t *testing.T) {
	d := testkit.StressTime(t, 120*millisecond)
	testkit.EachProcs(t, func(t *testing.T) {
		for _, workers := range []int{1, 4} {
			r := kit.NewRuntime(t, foliot.Options{Workers: workers})
			var task, other countingTask
			h, err := r.Spawn(&task)
			if err != nil {
				t.Fatal(err)
			}
			otherHandle, err := r.Spawn(&other)
			if err != nil {
				t.Fatal(err)
			}
			task.await(0)
			wake := func() {
				if !h.Wake() {
					t.Error("Wake returns false, want true")
				}
			}
			rounds := 0
			for end := time.Now().Add(d); time.Now().Before(end); rounds++ {
				if rand.IntN(2) == 0 {
					spinOrSleep()
				}
				polls := task.polls.Load()
				way := rand.IntN(4)
				switch way {
				case 0, 1:
					wake()
				case 2:
					armOn(t, r, shortDelay()/8, wake)
				case 3:
					other.nextPoll.Store(&wake)
					otherHandle.Wake()
				}
				if !task.await(polls) {
					t.Fatalf("%d workers, way %d, round %d: a wake-up is lost",
						workers, way, rounds)
				}
			}
			t.Logf("%d workers: %d wakes", workers, rounds)
		}
	})
}

// Slots are used again and again, while a goroutine keeps calling methods on old handles.
func TestOldHandlesNeverAffectTheNextTaskInTheirSlot(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	uses := 1 << 15
	if testkit.Full() {
		uses = 1 << 20
	}
	var old [64]atomic.Pointer[foliot.TaskHandle]
	end := keepDoing(func() {
		for i := range old {
			if h := old[i].Load(); h != nil && (h.Wake() || h.Abort() || h.Alive()) {
				t.Error("a call on a task that has ended returns true")
			}
		}
		time.Sleep(50 * microsecond)
	})
	defer end()
	done := foliot.TaskFunc(func(*foliot.Context) foliot.Status { return foliot.Done })
	idle := foliot.TaskFunc(func(*foliot.Context) foliot.Status { return foliot.Pending })
	armed := foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		cx.WakeAfter(hour)
		return foliot.Pending
	})
	var handles []foliot.TaskHandle
	for used := 0; used < uses && !t.Failed(); used += len(handles) {
		handles = handles[:0]
		for i, f := range []foliot.TaskFunc{done, idle, armed, done, idle, done, armed, done} {
			handles = append(handles, spawnOn(t, r, f))
			if i%3 == 1 {
				handles[i].Wake()
			}
		}
		for i, h := range handles {
			if i == 1 || i == 2 || i == 4 || i == 6 { // idle or armed
				if !h.Abort() {
					t.Error("Abort of a task that has not ended returns false")
				}
			}
			for h.Alive() {
				runtime.Gosched()
			}
			old[rand.IntN(len(old))].Store(&h)
		}
	}
	kit.AwaitNoTasks(t, r)
}

// Several goroutines wake and abort the same tasks at the same time. Each task is aborted once.
func TestConcurrentAbortsFreeEverySlot(t *testing.T) {
	testkit.EachProcs(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{Workers: 3})
		for range 4 {
			const tasks = 1500
			handles := make([]foliot.TaskHandle, tasks)
			for i := range handles {
				handles[i] = spawnOn(t, r, func(cx *foliot.Context) foliot.Status {
					cx.WakeAfter(kit.Random(2 * millisecond))
					return foliot.Pending
				})
			}
			var aborted atomic.Int64
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for _, i := range rand.Perm(tasks) {
						handles[rand.IntN(tasks)].Wake()
						if handles[i].Abort() {
							aborted.Add(1)
						}
					}
				})
			}
			wg.Wait()
			if aborted.Load() != tasks {
				t.Errorf("%d calls of Abort return true, want %d", aborted.Load(), tasks)
			}
			kit.AwaitNoTasks(t, r)
		}
	})
}

// After a poll has blocked, the worker polls tasks on separate goroutines for a while. Timers must
// run during that time, even if there are always tasks to poll.
func TestTimersRunAfterAPollHasBlockedAmongBusyTasks(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	for range 500 {
		spawnOn(t, r, func(cx *foliot.Context) foliot.Status {
			cx.Handle().Wake()
			return foliot.Pending
		})
	}
	spawnOn(t, r, func(*foliot.Context) foliot.Status {
		time.Sleep(30 * millisecond)
		return foliot.Done
	})
	for range 5 {
		ran := make(chan struct{})
		armOn(t, r, millisecond, func() { close(ran) })
		select {
		case <-ran:
		case <-time.After(wakeLimit):
			t.Fatalf("a timer has not run in %v; %d workers were replaced",
				wakeLimit, r.Stats().Blocked)
		}
	}
	kit.Shutdown(t, r)
}

// A worker takes tasks from its list in the order in which Shutdown ends them, so that both often
// handle the same task.
func TestShutdownWhileAWorkerTakesTasksFromItsList(t *testing.T) {
	for end := time.Now().Add(testkit.StressTime(t, 200*millisecond)); time.Now().Before(end); {
		r := kit.NewRuntime(t, foliot.Options{Workers: 1})
		for range 1000 {
			spawnOn(t, r, func(cx *foliot.Context) foliot.Status {
				cx.Handle().Wake()
				return foliot.Pending
			})
		}
		kit.Shutdown(t, r)
	}
}
