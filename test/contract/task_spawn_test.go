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

// spawn is Spawn of a function on a runtime that has no reason to refuse.
func spawn(t testing.TB, r *foliot.Runtime, f foliot.TaskFunc) foliot.TaskHandle {
	t.Helper()
	h, err := r.Spawn(f)
	if err != nil {
		t.Fatalf("Spawn: %v", err)
	}
	return h
}

// finished is a task that is done with its first poll.
func finished(*foliot.Context) foliot.Status { return foliot.Done }

// idle is a task that wants nothing.
func idle(*foliot.Context) foliot.Status { return foliot.Pending }

// neverPolled is a task that must not be polled.
func neverPolled(t testing.TB, what string) foliot.TaskFunc {
	return func(*foliot.Context) foliot.Status {
		t.Errorf("%s was polled", what)
		return foliot.Done
	}
}

// wantGone checks that a handle names no task.
func wantGone(t testing.TB, what string, h foliot.TaskHandle) {
	t.Helper()
	if h.Alive() {
		t.Errorf("%s: Alive is true", what)
	}
	if h.Wake() {
		t.Errorf("%s: Wake is true", what)
	}
	if h.Abort() {
		t.Errorf("%s: Abort is true", what)
	}
}

// sentry checks of one task that its polls do not overlap and that none follows the last. Its own fields are plain, so
// that the race detector sees polls between which nothing was handed over.
type sentry struct {
	inside atomic.Int32
	over   atomic.Bool
	polls  int
}

func (s *sentry) enter(t testing.TB) {
	if s.inside.Add(1) != 1 {
		t.Error("a task is polled concurrently with itself")
	}
	if s.over.Load() {
		t.Error("a task is polled after its end")
	}
	s.polls++
}

func (s *sentry) leave(st foliot.Status) foliot.Status {
	if st == foliot.Done {
		s.over.Store(true)
	}
	s.inside.Add(-1)
	return st
}

// shortly is eventually for what takes microseconds, and is waited for thousands of times.
func shortly(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		runtime.Gosched()
	}
	testkit.Eventually(t, what, ok)
}

func TestSpawnPollsOnceByItself(t *testing.T) {
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
				t.Error("a task that goes on is not Alive")
			}
		}
		testkit.Eventually(t, "all are polled", func() bool { return total.Load() >= n })
		if got := r.Stats().Tasks; got != n {
			t.Errorf("Tasks is %d, want %d", got, n)
		}
		if got := r.Stats().Armed; got != 0 {
			t.Errorf("Armed is %d for tasks that asked for nothing", got)
		}
		kit.Shutdown(t, r)
		for i := range polls {
			if got := polls[i].Load(); got != 1 {
				t.Fatalf("task %d was polled %d times", i, got)
			}
		}
		if got := r.Stats().Polls; got != n {
			t.Errorf("Polls is %d, want %d", got, n)
		}
	})
}

// poster is a task that is no function.
type poster struct{ polled chan foliot.TaskHandle }

func (p *poster) Poll(cx *foliot.Context) foliot.Status {
	p.polled <- cx.Handle()
	return foliot.Pending
}

func TestTheContextHasTheHandleThatSpawnReturned(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		seen := map[foliot.TaskHandle]bool{}
		for range 100 {
			p := &poster{make(chan foliot.TaskHandle, 1)}
			h, err := r.Spawn(p)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if got := testkit.Receive(t, p.polled, "a poll"); got != h {
					t.Fatalf("Handle is %v, Spawn returned %v", got, h)
				}
				h.Wake()
			}
			testkit.Receive(t, p.polled, "the last poll")
			if seen[h] || h == (foliot.TaskHandle{}) {
				t.Fatalf("the handle %v names two tasks or none", h)
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
		t.Errorf("Spawn(nil) made %v, %d tasks", h, r.Stats().Tasks)
	}
}

// Polls are one after the other on a manual clock, so that all wakes of the second are before the poll of the first.
func TestManyWakesBeforeAPollAreOnePoll(t *testing.T) {
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

func TestAWakeDuringAPollIsAnotherPoll(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		started, release := make(chan struct{}), make(chan struct{})
		var s sentry
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
					t.Error("Wake during a poll is false")
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
		var s sentry
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			s.enter(t)
			if s.polls == 10_000 {
				close(done)
				return s.leave(foliot.Done)
			}
			if !cx.Handle().Wake() {
				t.Error("Wake is false")
			}
			return s.leave(foliot.Pending)
		})
		testkit.Receive(t, done, "the last poll")
	})
}

func TestAWakeInTheLastPollIsForgotten(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 2})
	var ended atomic.Int32
	for range 1000 {
		var s sentry
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			s.enter(t)
			cx.WakeAfter(0)
			cx.Handle().Wake()
			ended.Add(1)
			return s.leave(foliot.Done)
		})
	}
	testkit.Eventually(t, "all ended", func() bool { return ended.Load() == 1000 && r.Stats().Tasks == 0 })
	if got := r.Stats().Armed; got != 0 {
		t.Errorf("Armed is %d", got)
	}
}

// Wakes from many goroutines, self-wakes and timers at once.
func TestATaskIsNeverPolledConcurrentlyWithItselfNorAfterDone(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		const n = 32
		handles := make([]foliot.TaskHandle, n)
		sentries := make([]sentry, n)
		for i := range n {
			handles[i] = spawn(t, r, func(cx *foliot.Context) foliot.Status {
				s := &sentries[i]
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
		testkit.Eventually(t, "none is left", func() bool { return r.Stats().Tasks == 0 })
		if got := r.Stats().Armed; got != 0 {
			t.Errorf("Armed is %d after the end of all tasks", got)
		}
		for i, h := range handles {
			wantGone(t, "ended", h)
			if sentries[i].polls != 300 {
				t.Errorf("%d polls, want 300", sentries[i].polls)
			}
		}
	})
}

// What happened before a wake is visible to the poll that it causes, and no wake is lost.
func TestNoWakeIsLost(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				var box atomic.Int32
				var plain int32 // written before the wake, read in the poll
				ack := make(chan int32, 1)
				h := spawn(t, r, func(*foliot.Context) foliot.Status {
					if v := box.Swap(0); v != 0 {
						ack <- plain
					}
					return foliot.Pending
				})
				for v := int32(1); v <= 500; v++ {
					plain = v
					box.Store(v)
					if !h.Wake() {
						t.Error("Wake is false")
					}
					select {
					case got := <-ack:
						if got != v {
							t.Errorf("the poll saw %d, want %d", got, v)
						}
					case <-time.After(testkit.Timeout):
						t.Error("a wake was lost")
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
	testkit.Eventually(t, "all are armed", func() bool { return r.Stats().Armed == 100 })
	for range 2 {
		kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
	}
	if _, err := r.AfterFunc(hour, func() {}); err != foliot.ErrFull {
		t.Errorf("the third timer: %v", err)
	}
	spawn(t, r, finished)
	if s := r.Stats(); s.Slots != 2 {
		t.Errorf("Slots is %d, want 2", s.Slots)
	}
}
