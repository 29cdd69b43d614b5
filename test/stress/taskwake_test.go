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

// wakeLimit is how long a wake-up may take before it is taken to be lost.
const wakeLimit = 2 * second

// spawnOn is Spawn on a runtime that has no reason to refuse. It may be called from any goroutine.
func spawnOn(t testing.TB, r *foliot.Runtime, f foliot.TaskFunc) foliot.TaskHandle {
	h, err := r.Spawn(f)
	if err != nil {
		t.Errorf("Spawn: %v", err)
	}
	return h
}

// A picket is a task that says when it has been polled.
type picket struct {
	polls atomic.Int64
	then  atomic.Pointer[func()]
}

func (s *picket) Poll(*foliot.Context) foliot.Status {
	if then := s.then.Swap(nil); then != nil {
		(*then)()
	}
	s.polls.Add(1)
	return foliot.Pending
}

// await waits until a poll has ended since there were so many, without sleeping at first.
func (s *picket) await(polls int64) bool {
	for end := time.Now().Add(wakeLimit); s.polls.Load() <= polls; {
		if time.Now().After(end) {
			return s.polls.Load() > polls
		}
		runtime.Gosched()
	}
	return true
}

// Nothing else happens on the runtime that would make good a wake-up that is lost. Whoever ran the worker last is
// asleep, lingers, or is just about to give his turn back.
func TestNoWakeOfATaskOnAnIdleRuntimeIsLost(t *testing.T) {
	d := testkit.StressTime(t, 120*millisecond)
	testkit.EachProcs(t, func(t *testing.T) {
		for _, workers := range []int{1, 4} {
			r := kit.NewRuntime(t, foliot.Options{Workers: workers})
			var task, other picket
			h, err := r.Spawn(&task)
			if err != nil {
				t.Fatal(err)
			}
			o, err := r.Spawn(&other)
			if err != nil {
				t.Fatal(err)
			}
			task.await(0)
			wake := func() {
				if !h.Wake() {
					t.Error("Wake is false")
				}
			}
			rounds := 0
			for end := time.Now().Add(d); time.Now().Before(end); rounds++ {
				if rand.IntN(2) == 0 {
					dither()
				}
				polls := task.polls.Load()
				way := rand.IntN(4)
				switch way {
				case 0, 1:
					wake()
				case 2:
					armOn(t, r, soonDelay()/8, wake)
				case 3:
					other.then.Store(&wake)
					o.Wake()
				}
				if !task.await(polls) {
					t.Fatalf("%d workers, way %d, round %d: a wake is lost", workers, way, rounds)
				}
			}
			t.Logf("%d workers: %d wakes", workers, rounds)
		}
	})
}

// A slot is used again and again, and goroutines try its old handles all the time.
func TestOldHandlesNeverReachTheSuccessorOfATask(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	uses := 1 << 20
	if testkit.RaceEnabled || testing.Short() {
		uses = 1 << 15
	}
	var old [64]atomic.Pointer[foliot.TaskHandle]
	end := keepDoing(func() {
		for i := range old {
			if h := old[i].Load(); h != nil && (h.Wake() || h.Abort() || h.Alive()) {
				t.Error("the handle of a task that has ended answers true")
			}
		}
		time.Sleep(50 * microsecond)
	})
	defer end()
	done := foliot.TaskFunc(func(*foliot.Context) foliot.Status { return foliot.Done })
	idle := foliot.TaskFunc(func(*foliot.Context) foliot.Status { return foliot.Pending })
	armed := foliot.TaskFunc(func(cx *foliot.Context) foliot.Status { cx.WakeAfter(hour); return foliot.Pending })
	var few []foliot.TaskHandle
	for used := 0; used < uses && !t.Failed(); used += len(few) {
		few = few[:0]
		for i, f := range []foliot.TaskFunc{done, idle, armed, done, idle, done, armed, done} {
			few = append(few, spawnOn(t, r, f))
			if i%3 == 1 {
				few[i].Wake()
			}
		}
		for i, h := range few {
			if i%8 == 1 || i%8 == 2 || i%8 == 4 || i%8 == 6 {
				if !h.Abort() {
					t.Error("Abort of a task that is not done is false")
				}
			}
			for h.Alive() {
				runtime.Gosched()
			}
			old[rand.IntN(len(old))].Store(&h)
		}
	}
	testkit.Eventually(t, "no tasks, nothing armed", func() bool { st := r.Stats(); return st.Tasks == 0 && st.Armed == 0 })
}

// All are woken and aborted at the same time, by many. Each is aborted once.
func TestAnAbortStormGivesBackEverySlot(t *testing.T) {
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
			var won atomic.Int64
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for _, i := range rand.Perm(tasks) {
						handles[rand.IntN(tasks)].Wake()
						if handles[i].Abort() {
							won.Add(1)
						}
					}
				})
			}
			wg.Wait()
			if won.Load() != tasks {
				t.Errorf("%d of %d tasks were aborted", won.Load(), tasks)
			}
			testkit.Eventually(t, "no tasks, nothing armed", func() bool { st := r.Stats(); return st.Tasks == 0 && st.Armed == 0 })
		}
	})
}

// After a poll that has blocked, others get goroutines of their own for a while. Timers are seen to all the same, also if
// there are always tasks to be polled.
func TestTimersGoOnAfterAPollThatBlockedAmongBusyTasks(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	for range 500 {
		spawnOn(t, r, func(cx *foliot.Context) foliot.Status {
			cx.Handle().Wake()
			return foliot.Pending
		})
	}
	spawnOn(t, r, func(*foliot.Context) foliot.Status { time.Sleep(30 * millisecond); return foliot.Done })
	for range 5 {
		ran := make(chan struct{})
		armOn(t, r, millisecond, func() { close(ran) })
		select {
		case <-ran:
		case <-time.After(wakeLimit):
			t.Fatalf("a timer does not run in %v: %d workers were replaced", wakeLimit, r.Stats().Blocked)
		}
	}
	kit.Shutdown(t, r)
}

// Tasks are taken from the list in the order in which Shutdown makes them gone, so that the two meet.
func TestShutdownWhileTasksAreTakenFromTheList(t *testing.T) {
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
