package contract_test

import (
	"context"
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

func TestShutdownCountsTheTimersOfTasks(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var handles []foliot.TaskHandle
		for i := range 90 {
			handles = append(handles, spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if i%3 == 0 {
					cx.WakeAfter(hour)
				}
				return foliot.Pending
			}))
		}
		for range 5 {
			kit.After(t, r, hour, kit.Never(t, "a timer in an hour"))
		}
		testkit.Eventually(t, "35 timers and 90 polls", func() bool {
			return r.Stats().Armed == 35 && r.Stats().TaskPolls == 90
		})
		for range 2 {
			if got := kit.Shutdown(t, r); got != 35 {
				t.Errorf("Shutdown returns %d, want 35", got)
			}
		}
		for _, h := range handles {
			wantEnded(t, "after Shutdown", h)
		}
		h, err := r.Spawn(foliot.TaskFunc(neverPolled(t, "a task of a closed runtime")))
		if !errors.Is(err, foliot.ErrClosed) || h != (foliot.TaskHandle{}) {
			t.Errorf("Spawn after Shutdown returns %v, %v, want ErrClosed", h, err)
		}
		if s := r.Stats(); s.Tasks != 0 || s.Armed != 0 || s.TaskPolls != 90 {
			t.Errorf("Tasks %d, Armed %d, Polls %d after Shutdown, want 0, 0, 90",
				s.Tasks, s.Armed, s.TaskPolls)
		}
	})
}

func TestShutdownWaitsForARunningPoll(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		started, release := make(chan struct{}), make(chan struct{})
		polls, ended := 0, false // without a lock: Shutdown happens after the poll
		h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
			polls++
			started <- struct{}{}
			<-release
			cx.WakeAfter(0)
			if cx.Handle().Wake() || cx.Handle().Alive() {
				t.Error("Wake or Alive returns true in a closed runtime")
			}
			cx.CancelWake()
			ended = true
			return foliot.Pending
		})
		testkit.Receive(t, started, "the poll")
		ctx, cancel := context.WithTimeout(context.Background(), 5*millisecond)
		defer cancel()
		if _, err := r.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown during a poll returns %v, want DeadlineExceeded", err)
		}
		wantEnded(t, "after Shutdown", h)
		close(release)
		kit.Shutdown(t, r)
		if polls != 1 || !ended {
			t.Errorf("%d polls, ended: %t, want 1, true", polls, ended)
		}
	})
}

func TestShutdownInAPollReturnsWhenItsContextEnds(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	result := make(chan error, 1)
	spawn(t, r, func(*foliot.Context) foliot.Status {
		ctx, cancel := context.WithTimeout(context.Background(), millisecond)
		defer cancel()
		_, err := r.Shutdown(ctx)
		result <- err
		return foliot.Pending
	})
	if err := testkit.Receive(t, result, "Shutdown"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown in a poll returns %v, want DeadlineExceeded", err)
	}
}

// Tasks are polled and their timers expire at the moment of Shutdown.
func TestShutdownEndsBusyTasks(t *testing.T) {
	for round := range 40 {
		r := kit.NewRuntime(t, foliot.Options{Workers: 1 + round%3})
		var closed atomic.Bool
		const n = 50
		handles := make([]foliot.TaskHandle, n)
		var spawned [n]atomic.Pointer[foliot.TaskHandle]
		for i := range n {
			handles[i] = spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if closed.Load() {
					t.Error("a task was polled after Shutdown")
				}
				switch i % 3 {
				case 0:
					cx.Handle().Wake()
				case 1:
					cx.WakeAfter(kit.Random(20 * microsecond))
				default:
					if h := spawned[kit.Random(n)].Load(); h != nil {
						h.Wake()
					}
					cx.WakeAfter(0)
				}
				return foliot.Pending
			})
			spawned[i].Store(&handles[i])
		}
		time.Sleep(kit.Random(300 * microsecond))
		kit.Shutdown(t, r)
		closed.Store(true)
		for _, h := range handles {
			wantEnded(t, "after Shutdown", h)
		}
	}
}

func TestSpawnDuringShutdownLeavesNoTask(t *testing.T) {
	for range 40 {
		r := kit.NewRuntime(t, foliot.Options{Workers: 2})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					h, err := r.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
						cx.WakeAfter(kit.Random(20 * microsecond))
						return foliot.Pending
					}))
					if errors.Is(err, foliot.ErrClosed) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
					if kit.Random(3) == 0 {
						h.Abort()
					}
					runtime.Gosched()
				}
			})
		}
		time.Sleep(kit.Random(200 * microsecond))
		kit.Shutdown(t, r)
		testkit.Returns(t, "the spawning goroutines", wg.Wait)
		if s := r.Stats(); s.Tasks != 0 || s.Armed != 0 {
			t.Fatalf("Tasks is %d, Armed is %d after Shutdown, want 0", s.Tasks, s.Armed)
		}
	}
}

func TestTheDefaultRuntimePollsTasks(t *testing.T) {
	r := foliot.Default()
	done := make(chan struct{})
	delay := foliot.NewDelay(millisecond)
	began := time.Now()
	h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
		if !delay.Poll(cx) {
			return foliot.Pending
		}
		close(done)
		return foliot.Done
	})
	testkit.Receive(t, done, "the end of the task")
	if got := time.Since(began); got < millisecond {
		t.Errorf("a delay of 1ms took %v", got)
	}
	testkit.Eventually(t, "a stale handle", func() bool { return !h.Alive() })
}

func TestTasksArePolledAndTheirHandlesValidAfterResize(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 4})
	const n = 200
	handles := make([]foliot.TaskHandle, n)
	checkers := make([]pollChecker, n)
	polls := make([]atomic.Int32, n)
	for i := range n {
		handles[i] = spawn(t, r, func(cx *foliot.Context) foliot.Status {
			s := &checkers[i]
			s.enter(t)
			polls[i].Add(1)
			if i%2 == 0 {
				cx.WakeAfter(kit.Random(500 * microsecond))
			}
			return s.leave(foliot.Pending)
		})
	}
	var wg sync.WaitGroup
	var stop atomic.Bool
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				if h := handles[kit.Random(n)]; !h.Wake() || !h.Alive() {
					t.Error("the handle of a living task is stale")
				}
				time.Sleep(5 * microsecond)
			}
		})
	}
	for _, workers := range []int{1, 8, 2, 5, 1, 3, 4, 1} {
		if err := r.Resize(workers); err != nil {
			t.Fatal(err)
		}
		before := make([]int32, n)
		for i := range n {
			before[i] = polls[i].Load()
			handles[i].Wake()
		}
		testkit.Eventually(t, "a poll of each task after Resize", func() bool {
			for i := range n {
				if polls[i].Load() <= before[i] {
					return false
				}
			}
			return true
		})
		if got := r.Stats().Tasks; got != n {
			t.Fatalf("Tasks is %d after Resize, want %d", got, n)
		}
	}
	stop.Store(true)
	wg.Wait()
	for _, h := range handles {
		if !h.Abort() {
			t.Error("Abort returns false, want true")
		}
	}
	kit.AwaitNoTasks(t, r)
}

// These tasks are polled only because of their timers.
func TestTheTimersOfTasksExpireAfterResize(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 6})
	var ended atomic.Int32
	for range 300 {
		delay := foliot.NewDelay(kit.Random(40 * millisecond))
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if !delay.Poll(cx) {
				return foliot.Pending
			}
			ended.Add(1)
			return foliot.Done
		})
	}
	for _, workers := range []int{2, 1, 4, 1} {
		time.Sleep(5 * millisecond)
		if err := r.Resize(workers); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "the end of all tasks", func() bool { return ended.Load() == 300 })
}
