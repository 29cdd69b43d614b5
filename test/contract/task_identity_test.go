package contract_test

import (
	"sync/atomic"
	"testing"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

func TestTheZeroTaskHandleNamesNothing(t *testing.T) {
	var h foliot.TaskHandle
	wantGone(t, "the zero handle", h)
	if h != (foliot.TaskHandle{}) {
		t.Error("handles cannot be compared")
	}
}

func TestTheHandleOfATaskThatIsDoneIsStale(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		for range 100 {
			h := spawn(t, r, finished)
			shortly(t, "the end", func() bool { return !h.Alive() })
			wantGone(t, "done", h)
		}
	})
}

// The slots of tasks that ended are used again at once, so a few of them serve all. Old handles are tried while their
// successors are there, and must leave them alone.
func TestAStaleHandleNeverReachesTheSuccessorInItsSlot(t *testing.T) {
	rounds := 20_000
	if testkit.RaceEnabled {
		rounds = 2000
	}
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
			shortly(t, "the poll", func() bool { return polls.Load() > 0 })
			for range min(len(old), 4) {
				wantGone(t, "stale", old[kit.Random(len(old))])
			}
			if i%3 == 0 {
				shortly(t, "the end", func() bool { return !h.Alive() })
			} else if !h.Alive() || !h.Abort() {
				t.Fatal("a stale handle has ended its successor")
			}
			if polls.Load() != 1 {
				t.Fatalf("%d polls: a stale handle has woken its successor", polls.Load())
			}
			if handles[h] {
				t.Fatal("two tasks have the same handle")
			}
			handles[h] = true
			old = append(old, h)
		}
		testkit.Eventually(t, "none is left", func() bool { s := r.Stats(); return s.Tasks == 0 && s.Armed == 0 })
		for _, h := range old {
			wantGone(t, "stale", h)
		}
	}
}

// The timer of a task that ended must not poll its successor.
func TestAStaleTimerNeverReachesTheSuccessorInItsSlot(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	first := 0
	var ending []foliot.TaskHandle
	for i := range 100 {
		ending = append(ending, spawn(t, r, func(cx *foliot.Context) foliot.Status {
			first++
			cx.WakeAfter(second)
			if i%2 == 0 && cx.Now() > 0 {
				t.Error("the timer of a task that ended polled it")
			}
			return foliot.Pending
		}))
	}
	clock.Advance(second / 2)
	for _, h := range ending {
		if !h.Abort() {
			t.Fatal("Abort is false")
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
			t.Fatalf("successor %d was polled %d times", i, n)
		}
	}
	clock.Advance(hour)
	for i, n := range polls {
		if n != 1+(1-i%2) {
			t.Fatalf("successor %d was polled %d times", i, n)
		}
	}
	if first != 100 {
		t.Errorf("%d polls of the tasks that ended", first)
	}
}

// A handle is good on any goroutine and says the same everywhere, also as a key.
func TestHandlesOfLivingTasksStayGoodAmongManyThatEnd(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	var living []foliot.TaskHandle
	polls := map[foliot.TaskHandle]int{}
	for range 50 {
		living = append(living, spawn(t, r, func(cx *foliot.Context) foliot.Status {
			polls[cx.Handle()]++
			return foliot.Pending
		}))
		for range 50 {
			spawn(t, r, finished)
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
			t.Error("Abort is false")
		}
	}
	if got := r.Stats().Tasks; got != 0 {
		t.Errorf("Tasks is %d", got)
	}
}
