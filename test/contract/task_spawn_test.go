package contract_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// spawn calls Spawn, which must succeed.
func spawn(t testing.TB, r *foliot.Runtime, f foliot.TaskFunc) foliot.TaskHandle {
	t.Helper()
	h, err := r.Spawn(f)
	if err != nil {
		t.Fatalf("Spawn: %v", err)
	}
	return h
}

// doneTask is a task whose first poll returns Done.
func doneTask(*foliot.Context) foliot.Status { return foliot.Done }

// idleTask is a task that wants nothing.
func idleTask(*foliot.Context) foliot.Status { return foliot.Pending }

// neverPolled returns a task that must not be polled.
func neverPolled(t testing.TB, what string) foliot.TaskFunc {
	return func(*foliot.Context) foliot.Status {
		t.Errorf("%s was polled", what)
		return foliot.Done
	}
}

// wantEnded checks that all calls on the handle of a task that has ended return false.
func wantEnded(t testing.TB, what string, h foliot.TaskHandle) {
	t.Helper()
	if h.Alive() {
		t.Errorf("%s: Alive returns true, want false", what)
	}
	if h.Wake() {
		t.Errorf("%s: Wake returns true, want false", what)
	}
	if h.Abort() {
		t.Errorf("%s: Abort returns true, want false", what)
	}
}

// A pollChecker checks that the polls of a task do not overlap and that none follows Done. polls is
// not atomic, so that the race detector reports two polls without a happens-before edge.
type pollChecker struct {
	polling atomic.Int32 // polls that are running now
	ended   atomic.Bool
	polls   int
}

// enter begins a poll, leave ends it.
func (c *pollChecker) enter(t testing.TB) {
	if c.polling.Add(1) != 1 {
		t.Error("two polls of a task overlap")
	}
	if c.ended.Load() {
		t.Error("a task is polled after its end")
	}
	c.polls++
}

func (c *pollChecker) leave(st foliot.Status) foliot.Status {
	if st == foliot.Done {
		c.ended.Store(true)
	}
	c.polling.Add(-1)
	return st
}

// eventuallySoon is like testkit.Eventually for a condition that takes microseconds: it does not
// sleep at first.
func eventuallySoon(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		runtime.Gosched()
	}
	testkit.Eventually(t, what, ok)
}

func TestSpawnPollsATaskOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		const n = 500
		polls := make([]atomic.Int32, n)
		var total atomic.Int32
		for i := range n {
			h := spawn(t, r, func(*foliot.Context) foliot.Status {
				polls[i].Add(1)
				total.Add(1)
				return foliot.Pending
			})
			if !h.Alive() {
				t.Error("Alive of a task that is not done returns false")
			}
		}
		testkit.Eventually(t, "a poll of each task", func() bool { return total.Load() >= n })
		if got := r.Stats().Tasks; got != n {
			t.Errorf("Tasks is %d, want %d", got, n)
		}
		if got := r.Stats().Armed; got != 0 {
			t.Errorf("Armed is %d for tasks without timers, want 0", got)
		}
		kit.Shutdown(t, r)
		for i := range polls {
			if got := polls[i].Load(); got != 1 {
				t.Fatalf("task %d was polled %d times, want once", i, got)
			}
		}
		if got := r.Stats().TaskPolls; got != n {
			t.Errorf("TaskPolls is %d, want %d", got, n)
		}
	})
}

// A handleTask is a task that sends its handle in each poll.
type handleTask struct{ polled chan foliot.TaskHandle }

func (p *handleTask) Poll(cx *foliot.Context) foliot.Status {
	p.polled <- cx.Handle()
	return foliot.Pending
}

func TestTheContextHasTheHandleThatSpawnReturned(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		seen := map[foliot.TaskHandle]bool{}
		for range 100 {
			p := &handleTask{make(chan foliot.TaskHandle, 1)}
			h, err := r.Spawn(p)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if got := testkit.Receive(t, p.polled, "a poll"); got != h {
					t.Fatalf("Handle returns %v, want %v as Spawn", got, h)
				}
				h.Wake()
			}
			testkit.Receive(t, p.polled, "the last poll")
			if seen[h] || h == (foliot.TaskHandle{}) {
				t.Fatalf("the handle %v is zero or that of another task", h)
			}
			seen[h] = true
		}
	})
}

func TestANilTaskIsRefused(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	h, err := r.Spawn(nil)
	wantError(t, "Spawn(nil)", err)
	if h != (foliot.TaskHandle{}) || r.Stats().Tasks != 0 {
		t.Errorf("Spawn(nil) returns %v and Tasks is %d, want the zero handle and 0",
			h, r.Stats().Tasks)
	}
}

// On a manual clock polls do not overlap, so the second task makes all wakes before the first is
// polled.
func TestOnePollFollowsManyWakes(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{Workers: 1})
	polls := 0
	h := spawn(t, r, func(*foliot.Context) foliot.Status { polls++; return foliot.Pending })
	clock.Advance(0)
	spawn(t, r, func(*foliot.Context) foliot.Status {
		for range 1000 {
			h.Wake()
		}
		return foliot.Done
	})
	clock.Advance(0)
	if polls != 2 {
		t.Errorf("%d polls, want 2", polls)
	}
}

func TestAnotherPollFollowsAWakeDuringAPoll(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		started, release := make(chan struct{}), make(chan struct{})
		var s pollChecker
		h := spawn(t, r, func(*foliot.Context) foliot.Status {
			s.enter(t)
			started <- struct{}{}
			<-release
			return s.leave(foliot.Pending)
		})
		for range 10 {
			testkit.Receive(t, started, "a poll")
			for range 100 {
				if !h.Wake() {
					t.Error("Wake during a poll returns false, want true")
				}
			}
			release <- struct{}{}
		}
		testkit.Receive(t, started, "the poll of the last wake")
		close(release)
		kit.Shutdown(t, r)
		if s.polls != 11 {
			t.Errorf("%d polls, want 11", s.polls)
		}
	})
}

func TestATaskMayWakeItself(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		done := make(chan struct{})
		var s pollChecker
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			s.enter(t)
			if s.polls == 10_000 {
				close(done)
				return s.leave(foliot.Done)
			}
			if !cx.Handle().Wake() {
				t.Error("Wake returns false, want true")
			}
			return s.leave(foliot.Pending)
		})
		testkit.Receive(t, done, "the last poll")
	})
}

func TestAWakeInTheLastPollIsIgnored(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2})
	var ended atomic.Int32
	for range 1000 {
		var s pollChecker
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			s.enter(t)
			cx.WakeAfter(0)
			cx.Handle().Wake()
			ended.Add(1)
			return s.leave(foliot.Done)
		})
	}
	testkit.Eventually(t, "the end of all tasks", func() bool {
		return ended.Load() == 1000 && r.Stats().Tasks == 0
	})
	if got := r.Stats().Armed; got != 0 {
		t.Errorf("Armed is %d, want 0", got)
	}
}

// The tasks are woken by several goroutines, by themselves and by timers.
func TestPollsOfATaskNeverOverlapAndNoneFollowsDone(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		const n = 32
		handles := make([]foliot.TaskHandle, n)
		checkers := make([]pollChecker, n)
		for i := range n {
			handles[i] = spawn(t, r, func(cx *foliot.Context) foliot.Status {
				s := &checkers[i]
				s.enter(t)
				cx.WakeAfter(kit.Random(20 * microsecond))
				if kit.Random(4) == 0 {
					cx.Handle().Wake()
				}
				if s.polls == 300 {
					return s.leave(foliot.Done)
				}
				return s.leave(foliot.Pending)
			})
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for alive := true; alive; {
					alive = false
					for _, h := range handles {
						alive = h.Wake() || alive
					}
					time.Sleep(10 * microsecond)
				}
			})
		}
		testkit.Returns(t, "the end of all tasks", wg.Wait)
		testkit.Eventually(t, "no tasks", func() bool { return r.Stats().Tasks == 0 })
		if got := r.Stats().Armed; got != 0 {
			t.Errorf("Armed is %d after the end of all tasks, want 0", got)
		}
		for i, h := range handles {
			wantEnded(t, "ended", h)
			if checkers[i].polls != 300 {
				t.Errorf("%d polls, want 300", checkers[i].polls)
			}
		}
	})
}

func TestAPollFollowsEveryWakeAndSeesEarlierWrites(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				var pending atomic.Bool
				var value int32 // without a lock: Wake happens before the poll
				polled := make(chan int32, 1)
				h := spawn(t, r, func(*foliot.Context) foliot.Status {
					if pending.Swap(false) {
						polled <- value
					}
					return foliot.Pending
				})
				for v := int32(1); v <= 500; v++ {
					value = v
					pending.Store(true)
					if !h.Wake() {
						t.Error("Wake returns false, want true")
					}
					select {
					case got := <-polled:
						if got != v {
							t.Errorf("the poll reads %d, want %d", got, v)
						}
					case <-time.After(testkit.Timeout):
						t.Error("a wake-up is lost")
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestTasksDoNotCountForMaxTimers(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{MaxTimers: 2, Workers: 1})
	var armed atomic.Int32
	for range 100 {
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			cx.WakeAfter(hour)
			armed.Add(1)
			return foliot.Pending
		})
	}
	testkit.Eventually(t, "the timers of all tasks", func() bool { return r.Stats().Armed == 100 })
	for range 2 {
		kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
	}
	if _, err := r.AfterFunc(hour, func() {}); err != foliot.ErrFull {
		t.Errorf("AfterFunc of a third timer returns %v, want ErrFull", err)
	}
	spawn(t, r, doneTask)
	if s := r.Stats(); s.Timers != 2 {
		t.Errorf("Timers is %d, want 2", s.Timers)
	}
}

func TestATaskThatIsSpawnedIdleIsFirstPolledAfterAWake(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{MaxTimers: 1})
	kit.After(t, r, 100*hour, func() {})
	var inPoll foliot.TaskHandle
	polls := 0
	h, err := r.SpawnIdle(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
		polls++
		inPoll = cx.Handle()
		cx.WakeAfter(second)
		return foliot.Pending
	}))
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(hour)
	if polls != 0 || !h.Alive() || r.Stats().Tasks != 1 {
		t.Fatalf("%d polls before a Wake, alive %t, Tasks %d; want none, true and 1", polls, h.Alive(), r.Stats().Tasks)
	}
	if !h.Wake() {
		t.Error("Wake returns false, want true")
	}
	clock.Advance(0)
	if polls != 1 || inPoll != h {
		t.Errorf("%d polls after a Wake, want 1 with the same handle (%t)", polls, inPoll == h)
	}
	clock.Advance(3 * second)
	if polls != 4 {
		t.Errorf("%d polls after three seconds, want 4", polls)
	}
}

func TestATaskThatIsSpawnedIdleCanBeEndedBeforeItsFirstPoll(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	aborted, err := r.SpawnIdle(neverPolled(t, "a task that was aborted"))
	if err != nil {
		t.Fatal(err)
	}
	if !aborted.Abort() {
		t.Error("Abort returns false, want true")
	}
	wantEnded(t, "aborted", aborted)
	left, err := r.SpawnIdle(neverPolled(t, "a task that was never woken"))
	if err != nil {
		t.Fatal(err)
	}
	kit.Shutdown(t, r)
	wantEnded(t, "shut down", left)
}

func TestSpawnIdleRefusesWhatSpawnRefuses(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	for _, task := range []foliot.Task{nil, foliot.TaskFunc(nil)} {
		h, err := r.SpawnIdle(task)
		if _, want := r.Spawn(task); err == nil || !errors.Is(err, want) {
			t.Errorf("SpawnIdle returns the error %v, want %v", err, want)
		}
		wantEnded(t, "a nil task", h)
	}
	kit.Shutdown(t, r)
	if _, err := r.SpawnIdle(foliot.TaskFunc(doneTask)); !errors.Is(err, foliot.ErrClosed) {
		t.Errorf("SpawnIdle returns %v after Shutdown, want ErrClosed", err)
	}
}

// A task removes itself from the registry when it is done. With Spawn, a task that is done at once
// would do that before it is entered, and the entry would stay.
func TestAHandleFromSpawnIdleIsStoredBeforeTheTaskIsDone(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2})
	const n = 2000
	var registry sync.Map
	var removed sync.WaitGroup
	removed.Add(n)
	for i := range n {
		h, err := r.SpawnIdle(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
			if got, ok := registry.LoadAndDelete(i); !ok || got != cx.Handle() {
				t.Errorf("task %d finds the handle %v in the registry (%t), want its own", i, got, ok)
			}
			removed.Done()
			return foliot.Done
		}))
		if err != nil {
			t.Fatal(err)
		}
		registry.Store(i, h)
		h.Wake()
	}
	testkit.Returns(t, "all tasks", removed.Wait)
}
