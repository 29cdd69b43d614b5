package bench

import (
	"context"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

func newRuntime(t *testing.T, o foliot.Options) *foliot.Runtime {
	t.Helper()
	rt, err := foliot.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(rt) })
	return rt
}

func TestAWakeChainMakesAsManyPollsAsAsked(t *testing.T) {
	for _, tasks := range []int{1, 2} {
		rt := newRuntime(t, foliot.Options{Workers: 1})
		c := &wakeChain{done: make(chan struct{}, 1)}
		handles, err := c.spawn(rt, tasks)
		if err != nil {
			t.Fatal(err)
		}
		waitUntilPolled(rt, uint64(tasks))
		before := rt.Stats().Polls
		for range 3 {
			if failed := c.run(handles[0], 500); failed != 0 {
				t.Errorf("%d tasks: %d failed", tasks, failed)
			}
		}
		for deadline := time.Now().Add(10 * time.Second); rt.Stats().Polls < before+1500 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // a poll is counted after it has returned
		}
		if got := rt.Stats().Polls - before; got != 1500 {
			t.Errorf("%d tasks: %d polls, want 1500", tasks, got)
		}
	}
}

func TestAWakeChainWithAStaleTaskFails(t *testing.T) {
	c := &wakeChain{done: make(chan struct{}, 1)}
	if failed := c.run(foliot.TaskHandle{}, 7); failed != 7 {
		t.Errorf("%d failed, want 7", failed)
	}
}

func TestGroupsCountEachWake(t *testing.T) {
	tasks, err := newTaskGroup(newRuntime(t, foliot.Options{Workers: 1}))
	if err != nil {
		t.Fatal(err)
	}
	for tasks.polled.Load() < groupSize {
		time.Sleep(time.Millisecond)
	}
	before := tasks.polled.Load()
	if failed := tasks.wakeInTurn(5 * groupSize); failed != 0 || tasks.polled.Load() < before+5*groupSize {
		t.Errorf("tasks: %d wakes failed, %d polls", failed, tasks.polled.Load()-before)
	}
	goroutines := newGoroutineGroup()
	defer goroutines.close()
	if failed := goroutines.wakeInTurn(2 * groupSize); failed != 0 || goroutines.woken.Load() != 2*groupSize {
		t.Errorf("goroutines: %d wakes failed, %d woken", failed, goroutines.woken.Load())
	}
}

func TestAllShortTasksEndAndFailedStartsAreCounted(t *testing.T) {
	rt := newRuntime(t, foliot.Options{})
	var all shortTask
	if failed := all.runAll(5*maxInFlight, func(t *shortTask) bool { _, err := rt.Spawn(t); return err == nil }); failed != 0 || all.ended.Load() != 5*maxInFlight {
		t.Errorf("%d failed, %d ended", failed, all.ended.Load())
	}
	var half shortTask
	n := 0
	failed := half.runAll(3*maxInFlight, func(t *shortTask) bool {
		if n++; n%2 == 0 {
			return false
		}
		go t.run()
		return true
	})
	if failed != 3*maxInFlight/2 || half.ended.Load() != 3*maxInFlight/2 {
		t.Errorf("%d failed, %d ended, want half of %d each", failed, half.ended.Load(), 3*maxInFlight)
	}
}

func TestSessionsTickWithBothContenders(t *testing.T) {
	l := periodicLoad{n: 50, period: 20 * time.Millisecond, settle: 40 * time.Millisecond, window: 100 * time.Millisecond}
	var tasks, goroutines periodicCost
	if err := l.tasks(context.Background(), &tasks, foliot.Options{}); err != nil {
		t.Fatal(err)
	}
	l.goroutines(context.Background(), &goroutines)
	for name, c := range map[string]periodicCost{"tasks": tasks, "goroutines": goroutines} {
		if len(c.cpu) != 3 || len(c.rate) != 3 || len(c.bytes) > 1 {
			t.Fatalf("%s: %+v, want three windows", name, c)
		}
		if rate := spread(c.rate); rate.Max == 0 || rate.Max > 2 {
			t.Errorf("%s: %v ticks of each in a period", name, c.rate)
		}
	}
}

func TestFailedPushesAreCounted(t *testing.T) {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q := foliot.NewQueue[uint64](rt)
	if failed := pushAndRemove(q, 100, randomDelays()); failed != 0 || q.Len() != 0 {
		t.Errorf("%d failed, %d left", failed, q.Len())
	}
	shutdown(rt)
	if failed := pushAndRemove(q, 100, randomDelays()); failed != 100 {
		t.Errorf("%d failed after Shutdown, want all of 100", failed)
	}
}
