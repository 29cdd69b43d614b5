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

func TestAnAbortedTaskIsNeverPolledAgainAndItsTimerIsGone(t *testing.T) {
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
		testkit.Eventually(t, "all are armed", func() bool { return r.Stats().Armed == 200 })
		for i, h := range handles {
			if !h.Alive() || !h.Abort() {
				t.Fatal("Alive or Abort is false")
			}
			wantGone(t, "aborted", h)
			if s := r.Stats(); s.Armed != 199-i || s.Tasks != 199-i {
				t.Fatalf("Armed is %d and Tasks %d, want %d", s.Armed, s.Tasks, 199-i)
			}
		}
		if got := kit.Shutdown(t, r); got != 0 || polls.Load() != 200 {
			t.Errorf("%d armed, %d polls", got, polls.Load())
		}
	})
}

// Abort at the very moment when the timer is due or somebody wakes the task. A poll claimed before it may finish, so
// what counts is that none begins a good while after.
func TestNoPollBeginsAfterAbortAnsweredTrue(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var all atomic.Int32
		for range 300 {
			var polls atomic.Int32
			h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
				polls.Add(1)
				all.Add(1)
				cx.WakeAfter(kit.Random(30 * microsecond))
				return foliot.Pending
			})
			shortly(t, "a poll", func() bool { return polls.Load() > 0 })
			go h.Wake()
			if !h.Abort() {
				t.Fatal("Abort is false")
			}
			wantGone(t, "aborted", h)
		}
		// A claimed poll is over when the task's slot is given back.
		testkit.Eventually(t, "none is left", func() bool { s := r.Stats(); return s.Tasks == 0 && s.Armed == 0 })
		before := all.Load()
		time.Sleep(millisecond) // more than any of them asked for
		if got := all.Load(); got != before {
			t.Errorf("%d polls of aborted tasks", got-before)
		}
	})
}

func TestExactlyOneOfManyAbortsAnswersTrue(t *testing.T) {
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
			var yes atomic.Int32
			var wg sync.WaitGroup
			start := make(chan struct{})
			for range callers {
				wg.Go(func() {
					<-start
					if h.Abort() {
						yes.Add(1)
					}
				})
			}
			close(start)
			wg.Wait()
			if yes.Load() != 1 {
				t.Fatalf("%d of %d callers heard true", yes.Load(), callers)
			}
			wantGone(t, "aborted by many", h)
		}
		testkit.Eventually(t, "none is left", func() bool { s := r.Stats(); return s.Tasks == 0 && s.Armed == 0 })
	})
}

// The task ends by itself while others abort it: either it is Done or exactly one of them has ended it.
func TestAbortAndDoneAreOneEnd(t *testing.T) {
	r := kit.NewRuntime(t, foliot.Options{})
	for range 500 {
		var yes, ended atomic.Int32
		h := spawn(t, r, func(*foliot.Context) foliot.Status { ended.Add(1); return foliot.Done })
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if h.Abort() {
					yes.Add(1)
				}
			})
		}
		wg.Wait()
		if yes.Load() > 1 || ended.Load() > 1 {
			t.Fatalf("%d aborts, %d polls", yes.Load(), ended.Load())
		}
		shortly(t, "the end", func() bool { return r.Stats().Tasks == 0 })
		if yes.Load()+ended.Load() == 0 {
			t.Fatal("the task ended neither way")
		}
		wantGone(t, "ended", h)
	}
}

func TestAbortWorksInTheOwnPoll(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		type answers struct{ before, first, again, alive, woken bool }
		for _, st := range []foliot.Status{foliot.Pending, foliot.Done} {
			heard := make(chan answers, 1)
			var polls atomic.Int32
			h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
				polls.Add(1)
				h := cx.Handle()
				h.Wake()
				cx.WakeAfter(0)
				var a answers
				a.before = h.Alive()
				a.first, a.again, a.alive, a.woken = h.Abort(), h.Abort(), h.Alive(), h.Wake()
				cx.WakeAfter(millisecond)
				heard <- a
				return st
			})
			if got := testkit.Receive(t, heard, "the poll"); got != (answers{before: true, first: true}) {
				t.Errorf("in the own poll: %+v", got)
			}
			wantGone(t, "aborted in its own poll", h)
			testkit.Eventually(t, "none is left", func() bool { s := r.Stats(); return s.Tasks == 0 && s.Armed == 0 })
			time.Sleep(2 * millisecond)
			if polls.Load() != 1 {
				t.Errorf("%d polls", polls.Load())
			}
		}
	})
}

func TestAbortDoesNotWaitForThePollUnderWay(t *testing.T) {
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
			t.Error("Abort is false")
		}
	})
	wantGone(t, "aborted while it is polled", h)
	release <- struct{}{}
	testkit.Eventually(t, "none is left", func() bool { s := r.Stats(); return s.Tasks == 0 && s.Armed == 0 })
	select {
	case <-started:
		t.Error("it is polled again")
	case <-time.After(2 * millisecond):
	}
}

// The prior arming of a task that is being polled goes with the task.
func TestAbortDuringAPollTakesThePriorArmingAway(t *testing.T) {
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
	testkit.Eventually(t, "armed", func() bool { return r.Stats().Armed == 1 })
	h.Wake()
	testkit.Receive(t, started, "the second poll")
	if !h.Abort() || r.Stats().Armed != 0 {
		t.Errorf("Abort is false or Armed not 0: %d", r.Stats().Armed)
	}
	close(release)
}

func TestATaskMayAbortAnother(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	victim := spawn(t, r, func(cx *foliot.Context) foliot.Status {
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
		if !victim.Abort() || victim.Abort() {
			t.Error("Abort is not true once")
		}
		return foliot.Done
	})
	clock.Advance(hour)
	wantGone(t, "aborted by another task", victim)
	if s := r.Stats(); s.Tasks != 0 || s.Armed != 0 {
		t.Errorf("%d tasks, %d armed", s.Tasks, s.Armed)
	}
}

func TestATaskAbortedBeforeItsFirstPollIsNotPolled(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	spawn(t, r, func(*foliot.Context) foliot.Status { // polls are one after the other here, so this one is before theirs
		for range 100 {
			if !spawn(t, r, neverPolled(t, "a task aborted at once")).Abort() {
				t.Error("Abort is false")
			}
		}
		return foliot.Done
	})
	clock.Advance(hour)
	if got := r.Stats().Tasks; got != 0 {
		t.Errorf("Tasks is %d", got)
	}
}

// Spawns, wakes and aborts of everybody by everybody. Each task ends exactly one way, and all slots come back.
func TestAStormOfAborts(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		const goroutines, rounds = 4, 1500
		var shelf [64]atomic.Pointer[foliot.TaskHandle]
		var aborted, ended atomic.Int64
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range rounds {
					life := 1 + kit.Random(5)
					h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
						if life--; life == 0 {
							// Done is what ends it only if nobody has aborted it before this poll returns.
							if cx.Handle().Abort() {
								ended.Add(1)
							}
							return foliot.Done
						}
						cx.WakeAfter(kit.Random(50 * microsecond))
						return foliot.Pending
					})
					old := shelf[kit.Random(len(shelf))].Swap(&h)
					if p := shelf[kit.Random(len(shelf))].Load(); p != nil {
						p.Wake()
					}
					if old != nil && kit.Random(2) == 0 && old.Abort() {
						aborted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		for i := range shelf {
			if p := shelf[i].Load(); p != nil && p.Abort() {
				aborted.Add(1)
			}
		}
		testkit.Eventually(t, "none is left", func() bool { s := r.Stats(); return s.Tasks == 0 && s.Armed == 0 })
		if got := aborted.Load() + ended.Load(); got != goroutines*rounds {
			t.Errorf("%d aborted and %d ended, %d spawned", aborted.Load(), ended.Load(), goroutines*rounds)
		}
	})
}
