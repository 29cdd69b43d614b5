package foliot

import (
	"testing"
	"time"
)

// These are the kinds of values that a Task can be. Prefetch reads the memory behind the interface,
// whatever kind of value is there.
type (
	emptyTask   struct{}
	smallTask   int32
	pointerTask struct{ _ *pointerTask }
	mapTask     map[string]int
	bigTask     [1 << 10]byte
)

func (emptyTask) Poll(cx *Context) Status    { return again(cx) }
func (smallTask) Poll(cx *Context) Status    { return again(cx) }
func (*pointerTask) Poll(cx *Context) Status { return again(cx) }
func (mapTask) Poll(cx *Context) Status      { return again(cx) }
func (bigTask) Poll(cx *Context) Status      { return again(cx) }

func again(cx *Context) Status {
	cx.WakeAfter(time.Second)
	return Pending
}

func TestPrefetchReadsTasksOfEveryKind(t *testing.T) {
	clock := NewManualClock(time.Unix(0, 0))
	rt, err := New(Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	kinds := []Task{
		emptyTask{},
		smallTask(7), (*pointerTask)(nil), &pointerTask{},
		mapTask(nil),
		mapTask{},
		bigTask{},
		TaskFunc(again),
	}
	for range 50 {
		for _, k := range kinds {
			if _, err := rt.Spawn(k); err != nil {
				t.Fatal(err)
			}
		}
	}
	clock.Advance(0)
	s := rt.eng.LockShard()
	ts := tasksOf(s)
	s.Unlock()
	for range 3 {
		before := rt.Stats().Polls
		clock.Advance(3 * time.Second)
		if polled := rt.Stats().Polls - before; polled != uint64(3*50*len(kinds)) {
			t.Fatalf("%d polls in three seconds, want %d", polled, 3*50*len(kinds))
		}
		if ts.sink == 0 {
			t.Fatal("Prefetch has read nothing")
		}
	}
}
