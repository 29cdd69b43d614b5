package contract_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestAnAbortedTaskIsNeverPolledAgainAndItsTimerIsRemoved(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var polls atomic.Int32
		var handles []foliot.TaskHandle
		for range 200 {
			handles = append(handles, spawn(t, r, func(cx *foliot.Context) foliot.Status {
				polls.Add(1)
				cx.WakeAfter(hour)
				return foliot.Pending
			}))
		}
		testkit.Eventually(t, "the timers of all tasks", func() bool { return r.Stats().Armed == 200 })
		for i, h := range handles {
			if !h.Alive() || !h.Abort() {
				t.Fatal("Alive or Abort returns false, want true")
			}
			wantEnded(t, "aborted", h)
			if s := r.Stats(); s.Armed != 199-i || s.Tasks != 199-i {
				t.Fatalf("Armed is %d and Tasks is %d, want %d", s.Armed, s.Tasks, 199-i)
			}
		}
		if got := kit.Shutdown(t, r); got != 0 || polls.Load() != 200 {
			t.Errorf("Shutdown returns %d after %d polls, want 0 after 200", got, polls.Load())
		}
	})
}

// Abort is called at the moment when the timer is due or another goroutine wakes the task. A poll
// that the worker has begun may finish, so the test checks that none begins some time later.
func TestNoPollBeginsAfterAbortReturnsTrue(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var totalPolls atomic.Int32
		for range 300 {
			var polls atomic.Int32
			h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
				polls.Add(1)
				totalPolls.Add(1)
				cx.WakeAfter(kit.Random(30 * microsecond))
				return foliot.Pending
			})
			eventuallySoon(t, "a poll", func() bool { return polls.Load() > 0 })
			go h.Wake()
			if !h.Abort() {
				t.Fatal("Abort returns false, want true")
			}
			wantEnded(t, "aborted", h)
		}
		// When the slot of a task is free, its last poll has ended.
		kit.AwaitNoTasks(t, r)
		before := totalPolls.Load()
		time.Sleep(millisecond) // longer than the timers of the tasks
		if got := totalPolls.Load(); got != before {
			t.Errorf("%d polls of aborted tasks, want none", got-before)
		}
	})
}

func TestExactlyOneOfManyAbortsReturnsTrue(t *testing.T) {
	const callers = 8
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		for round := range 100 {
			h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
				if round%2 == 0 {
					cx.WakeAfter(kit.Random(10 * microsecond))
				}
				if round%3 == 0 {
					cx.Handle().Wake()
				}
				return foliot.Pending
			})
			var aborted atomic.Int32
			var wg sync.WaitGroup
			start := make(chan struct{})
			for range callers {
				wg.Go(func() {
					<-start
					if h.Abort() {
						aborted.Add(1)
					}
				})
			}
			close(start)
			wg.Wait()
			if aborted.Load() != 1 {
				t.Fatalf("%d of %d calls of Abort return true, want 1", aborted.Load(), callers)
			}
			wantEnded(t, "aborted by several goroutines", h)
		}
		kit.AwaitNoTasks(t, r)
	})
}

// The task returns Done while other goroutines abort it. At most one Abort returns true.
func TestATaskIsEndedOnceByAbortOrDone(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	for range 500 {
		var aborted, ended atomic.Int32
		h := spawn(t, r, func(*foliot.Context) foliot.Status { ended.Add(1); return foliot.Done })
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if h.Abort() {
					aborted.Add(1)
				}
			})
		}
		wg.Wait()
		if aborted.Load() > 1 || ended.Load() > 1 {
			t.Fatalf("%d aborts, %d polls, want at most 1", aborted.Load(), ended.Load())
		}
		eventuallySoon(t, "the end", func() bool { return r.Stats().Tasks == 0 })
		if aborted.Load()+ended.Load() == 0 {
			t.Fatal("the task has ended, but was neither polled nor aborted")
		}
		wantEnded(t, "ended", h)
	}
}

func TestATaskMayAbortItself(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		type results struct{ aliveBefore, firstAbort, secondAbort, alive, woken bool }
		for _, st := range []foliot.Status{foliot.Pending, foliot.Done} {
			got := make(chan results, 1)
			var polls atomic.Int32
			h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
				polls.Add(1)
				h := cx.Handle()
				h.Wake()
				cx.WakeAfter(0)
				var res results
				res.aliveBefore = h.Alive()
				res.firstAbort, res.secondAbort, res.alive, res.woken = h.Abort(), h.Abort(), h.Alive(), h.Wake()
				cx.WakeAfter(millisecond)
				got <- res
				return st
			})
			want := results{aliveBefore: true, firstAbort: true}
			if got := testkit.Receive(t, got, "the poll"); got != want {
				t.Errorf("the results in the poll are %+v, want %+v", got, want)
			}
			wantEnded(t, "aborted in its own poll", h)
			kit.AwaitNoTasks(t, r)
			time.Sleep(2 * millisecond)
			if polls.Load() != 1 {
				t.Errorf("%d polls, want 1", polls.Load())
			}
		}
	})
}

func TestAbortDoesNotWaitForARunningPoll(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	started, release := make(chan struct{}), make(chan struct{})
	h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
		started <- struct{}{}
		<-release
		cx.WakeAfter(0)
		return foliot.Pending
	})
	testkit.Receive(t, started, "the poll")
	h.Wake()
	testkit.Returns(t, "Abort", func() {
		if !h.Abort() {
			t.Error("Abort returns false, want true")
		}
	})
	wantEnded(t, "aborted while it is polled", h)
	release <- struct{}{}
	kit.AwaitNoTasks(t, r)
	select {
	case <-started:
		t.Error("the task was polled again after Abort")
	case <-time.After(2 * millisecond):
	}
}

func TestAbortDuringAPollRemovesTheTimerOfAnEarlierPoll(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{Workers: 1})
	started, release := make(chan struct{}, 2), make(chan struct{})
	polls := 0
	h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
		if polls++; polls == 1 {
			cx.WakeAfter(hour)
			return foliot.Pending
		}
		started <- struct{}{}
		<-release
		return foliot.Pending
	})
	testkit.Eventually(t, "the timer of the task", func() bool { return r.Stats().Armed == 1 })
	h.Wake()
	testkit.Receive(t, started, "the second poll")
	if !h.Abort() || r.Stats().Armed != 0 {
		t.Errorf("Abort returns false, or Armed is %d, want 0", r.Stats().Armed)
	}
	close(release)
}

func TestATaskMayAbortAnother(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	other := spawn(t, r, func(cx *foliot.Context) foliot.Status {
		cx.WakeAfter(2 * second)
		if cx.Now() > 0 {
			t.Error("the aborted task was polled")
		}
		return foliot.Pending
	})
	spawn(t, r, func(cx *foliot.Context) foliot.Status {
		if cx.Now() < second {
			cx.WakeAt(second)
			return foliot.Pending
		}
		if !other.Abort() || other.Abort() {
			t.Error("Abort, Abort do not return true, false")
		}
		return foliot.Done
	})
	clock.Advance(hour)
	wantEnded(t, "aborted by another task", other)
	if s := r.Stats(); s.Tasks != 0 || s.Armed != 0 {
		t.Errorf("Tasks is %d, Armed is %d, want 0", s.Tasks, s.Armed)
	}
}

func TestATaskAbortedBeforeItsFirstPollIsNotPolled(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	// On a manual clock polls do not overlap, so the tasks are aborted before they can be polled.
	spawn(t, r, func(*foliot.Context) foliot.Status {
		for range 100 {
			if !spawn(t, r, neverPolled(t, "a task aborted at once")).Abort() {
				t.Error("Abort returns false, want true")
			}
		}
		return foliot.Done
	})
	clock.Advance(hour)
	if got := r.Stats().Tasks; got != 0 {
		t.Errorf("Tasks is %d, want 0", got)
	}
}

// Several goroutines spawn, wake and abort tasks of each other. Each task either returns Done or is
// aborted, and its slot becomes free.
func TestUnderConcurrentAbortsEachTaskEndsOnce(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		const goroutines, rounds = 4, 1500
		var shared [64]atomic.Pointer[foliot.TaskHandle]
		var aborted, ended atomic.Int64
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range rounds {
					pollsLeft := 1 + kit.Random(5)
					h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
						if pollsLeft--; pollsLeft == 0 {
							// If Abort returns false, another goroutine has aborted the task.
							if cx.Handle().Abort() {
								ended.Add(1)
							}
							return foliot.Done
						}
						cx.WakeAfter(kit.Random(50 * microsecond))
						return foliot.Pending
					})
					old := shared[kit.Random(len(shared))].Swap(&h)
					if p := shared[kit.Random(len(shared))].Load(); p != nil {
						p.Wake()
					}
					if old != nil && kit.Random(2) == 0 && old.Abort() {
						aborted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		for i := range shared {
			if p := shared[i].Load(); p != nil && p.Abort() {
				aborted.Add(1)
			}
		}
		kit.AwaitNoTasks(t, r)
		if got := aborted.Load() + ended.Load(); got != goroutines*rounds {
			t.Errorf("%d tasks aborted + %d done, want %d",
				aborted.Load(), ended.Load(), goroutines*rounds)
		}
	})
}
