package contract_test

import (
	"sync/atomic"
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
)

func TestMethodsOfTheZeroTaskHandleReturnFalse(t *testing.T) {
	var h foliot.TaskHandle
	wantEnded(t, "the zero handle", h)
	if h != (foliot.TaskHandle{}) {
		t.Error("two zero handles are not equal")
	}
}

func TestTheHandleOfATaskThatIsDoneIsStale(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		for range 100 {
			h := spawn(t, r, doneTask)
			eventuallySoon(t, "the end", func() bool { return !h.Alive() })
			wantEnded(t, "done", h)
		}
	})
}

// The slots of tasks that have ended are used again at once. Calls on old handles must not affect
// the new tasks in these slots.
func TestAStaleHandleNeverAffectsTheNextTaskInItsSlot(t *testing.T) {
	const rounds = 3000
	for _, workers := range []int{1, 3} {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		var old []foliot.TaskHandle
		handles := map[foliot.TaskHandle]bool{}
		for i := range rounds {
			var polls atomic.Int32
			h := spawn(t, r, func(cx *foliot.Context) foliot.Status {
				polls.Add(1)
				if i%4 == 0 {
					cx.WakeAfter(hour)
				}
				if i%3 == 0 {
					return foliot.Done
				}
				return foliot.Pending
			})
			eventuallySoon(t, "the poll", func() bool { return polls.Load() > 0 })
			for range min(len(old), 4) {
				wantEnded(t, "stale", old[kit.Random(len(old))])
			}
			if i%3 == 0 {
				eventuallySoon(t, "the end", func() bool { return !h.Alive() })
			} else if !h.Alive() || !h.Abort() {
				t.Fatal("a stale handle has ended the next task in its slot")
			}
			if polls.Load() != 1 {
				t.Fatalf("%d polls, want 1: a stale handle has woken the next task in its slot",
					polls.Load())
			}
			if handles[h] {
				t.Fatal("two tasks have the same handle")
			}
			handles[h] = true
			old = append(old, h)
		}
		kit.AwaitNoTasks(t, r)
		for _, h := range old {
			wantEnded(t, "stale", h)
		}
	}
}

func TestTheTimerOfAnAbortedTaskNeverPollsTheNextTaskInItsSlot(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	abortedPolls := 0
	var aborted []foliot.TaskHandle
	for i := range 100 {
		aborted = append(aborted, spawn(t, r, func(cx *foliot.Context) foliot.Status {
			abortedPolls++
			cx.WakeAfter(second)
			if i%2 == 0 && cx.Now() > 0 {
				t.Error("the timer of an aborted task has polled it")
			}
			return foliot.Pending
		}))
	}
	clock.Advance(second / 2)
	for _, h := range aborted {
		if !h.Abort() {
			t.Fatal("Abort returns false, want true")
		}
	}
	polls := make([]int, 100)
	for i := range polls {
		spawn(t, r, func(cx *foliot.Context) foliot.Status {
			if polls[i]++; polls[i] == 1 && i%2 == 0 {
				cx.WakeAfter(hour)
			}
			return foliot.Pending
		})
	}
	clock.Advance(2 * second)
	for i, n := range polls {
		if n != 1 {
			t.Fatalf("the new task %d was polled %d times, want 1", i, n)
		}
	}
	clock.Advance(hour)
	for i, n := range polls {
		if want := 2 - i%2; n != want {
			t.Fatalf("the new task %d was polled %d times, want %d", i, n, want)
		}
	}
	if abortedPolls != 100 {
		t.Errorf("%d polls of the aborted tasks, want 100", abortedPolls)
	}
}

// Handle returns the same value in each poll, which can be used as a map key.
func TestHandlesOfLivingTasksStayValidWhileOthersEnd(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	var living []foliot.TaskHandle
	polls := map[foliot.TaskHandle]int{}
	for range 50 {
		living = append(living, spawn(t, r, func(cx *foliot.Context) foliot.Status {
			polls[cx.Handle()]++
			return foliot.Pending
		}))
		for range 50 {
			spawn(t, r, doneTask)
		}
	}
	clock.Advance(0)
	for range 3 {
		for _, h := range living {
			if !h.Wake() || !h.Alive() {
				t.Fatal("the handle of a living task is stale")
			}
		}
		clock.Advance(0)
	}
	for _, h := range living {
		if polls[h] != 4 {
			t.Errorf("%d polls, want 4", polls[h])
		}
		if !h.Abort() {
			t.Error("Abort returns false, want true")
		}
	}
	if got := r.Stats().Tasks; got != 0 {
		t.Errorf("Tasks is %d, want 0", got)
	}
}
