package engine

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A testTask is a task that calls a function when it is polled. It is idle at first.
type testTask struct {
	TaskHandle
	f func(it *testTask)
}

// newTestTask makes a task in an open shard.
func newTestTask(t testing.TB, eng *Engine, f func(it *testTask)) *testTask {
	t.Helper()
	it := &testTask{f: f}
	var err error
	it.TaskHandle, err = eng.SpawnIdle(it, func(body any, _ *TaskContext) bool {
		it := body.(*testTask)
		it.f(it)
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// wake makes the task ready, wherever it is called.
func (it *testTask) wake() {
	if it.t.word.move(it.gen, taskWake).do == taskQueue {
		it.s.enqueue(it.t)
	}
}

// wakeAfter arms the timer of the task.
func (it *testTask) wakeAfter(d time.Duration) {
	cx := TaskContext{s: it.s, t: it.t, gen: it.gen, want: never}
	cx.WakeAt(cx.After(d))
	cx.arm()
}

// The worker has several shards, and each of them always has a ready task.
func TestAWorkerPollsTheTasksOfAllItsShards(t *testing.T) {
	eng, err := New(Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Shutdown(t.Context(), func() int { return 0 })
	if err := eng.Resize(1); err != nil {
		t.Fatal(err)
	}
	w := (*eng.workers.Load())[0]
	claim := w.claim(eng.Now(), 0)
	shards := *w.shards.Load()
	polls := make([]int, len(shards))
	for i, s := range shards {
		eng.openShards.Store(&[]*Shard{s})
		newTestTask(t, eng, func(it *testTask) {
			polls[i]++
			it.wake()
		}).wake()
	}
	tn := w.newTurn(claim)
	tn.until = eng.Now() + int64(20*time.Millisecond)
	tn.run((*turn).loop, tn.restart)
	for i, n := range polls {
		if n == 0 {
			t.Errorf("no task of shard %d of %d was polled: %v", i, len(polls), polls)
		}
	}
}

// A goroutine has read the clock. Before it polls, another one replaces it, reads the clock, too, and
// pops a timer.
func TestAPollNeverComesBeforeTheTimeThatItWasRequestedFor(t *testing.T) {
	p := NewProbe()
	p.holdWorkers()
	s := p.Shard(0)
	p.Open(s)
	const asked = int64(10 * ProbeTick)
	var polled []int64
	_, err := p.Spawn(nil, func(_ any, cx *TaskContext) bool {
		polled = append(polled, cx.Time())
		cx.WakeAt(asked)
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	tn := &turn{w: s.owner.Load(), claim: probeClaim}
	early := int64(9 * ProbeTick)
	tn.pollAt(s, early)
	tn.now = asked + 1
	s.pop(tn)
	tn.pollAt(s, early)
	if len(polled) != 2 || polled[1] < asked {
		t.Errorf("polls at %v, want two, and the second not before %d", polled, asked)
	}
}

// The only deadline of the engine is a task's, and far. However the task gives it up, the timekeeper
// must not wake for it.
func TestTheTimekeeperParksAfterATaskGaveUpItsDeadline(t *testing.T) {
	for name, giveUp := range map[string]func(h TaskHandle, cx *TaskContext) (done bool){
		"Done":       func(TaskHandle, *TaskContext) bool { return true },
		"CancelWake": func(_ TaskHandle, cx *TaskContext) bool { cx.CancelWake(); return false },
		"Abort":      func(h TaskHandle, _ *TaskContext) bool { h.Abort(); return false },
		"Goexit":     func(TaskHandle, *TaskContext) bool { runtime.Goexit(); return false },
	} {
		t.Run(name, func(t *testing.T) {
			eng, err := New(Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer eng.Shutdown(t.Context(), func() int { return 0 })
			var polls atomic.Int64
			h, err := eng.Spawn(nil, func(_ any, cx *TaskContext) bool {
				if polls.Add(1) == 1 {
					cx.WakeAt(cx.After(time.Hour))
					return false
				}
				return giveUp(cx.Handle(), cx)
			})
			if err != nil {
				t.Fatal(err)
			}
			armed := func() int { return eng.Stats().Armed }
			testkit.Eventually(t, "the task has a deadline", func() bool { return armed() == 1 })
			time.Sleep(30 * time.Millisecond) // until the timekeeper has settled
			h.Wake()
			testkit.Eventually(t, "the deadline is given up", func() bool { return polls.Load() == 2 && armed() == 0 })
			if !testkit.TrueWithin(time.Second, func() bool {
				eng.timekeeper.mu.Lock()
				defer eng.timekeeper.mu.Unlock()
				return eng.timekeeper.mode == modeParked
			}) {
				t.Errorf("the timekeeper is not parked after a second")
			}
		})
	}
}
