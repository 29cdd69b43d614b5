package foliot

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A readyListHarness is a ready list with task slots, and what is known about each slot.
type readyListHarness struct {
	q      engine.Ready
	tasks  taskArena
	in     []atomic.Bool  // by slot: it is in the list
	seq    []atomic.Int64 // by slot: the number of the push among those of its pusher
	pushed atomic.Int64
	popped atomic.Int64
	faults atomic.Int64
}

func newReadyListHarness(n int) *readyListHarness {
	c := &readyListHarness{}
	for range n {
		c.tasks.take()
	}
	all := len(*c.tasks.slabs.Load()) * taskSlabSize
	c.in = make([]atomic.Bool, all)
	c.seq = make([]atomic.Int64, all)
	return c
}

// push pushes tasks that are side by side, as Expired does. It pushes none if one of them is in
// the list. The tasks belong to the pusher.
func (c *readyListHarness) push(first uint32, n int, seq int64) bool {
	for i := range uint32(n) {
		if c.in[first+i].Load() {
			return false
		}
	}
	for i := range uint32(n) {
		c.seq[first+i].Store(seq + int64(i))
		c.in[first+i].Store(true)
		if i > 0 {
			c.tasks.at(first + i).link.Store(first + i - 1)
		}
	}
	push(&c.q, c.tasks.at(first), c.tasks.at(first+uint32(n)-1))
	c.pushed.Add(int64(n))
	return true
}

// pop pops a task, which must be in the list, and returns its index and the number of its push.
func (c *readyListHarness) pop() (i uint32, seq int64) {
	t := pop(&c.q, &c.tasks)
	if t == nil {
		return 0, 0
	}
	seq = c.seq[t.index].Load()
	if !c.in[t.index].CompareAndSwap(true, false) {
		c.faults.Add(1)
	}
	c.popped.Add(1)
	return t.index, seq
}

// There are few tasks, so that a slot is often pushed again while a goroutine is in pop.
func TestTheReadyListLosesNothingAndReturnsNothingTwice(t *testing.T) {
	for _, poppers := range []int{1, 2, 3} {
		for _, own := range []uint32{1, 2, 20} {
			const pushers = 3
			c := newReadyListHarness(pushers * 20)
			end := time.Now().Add(60 * time.Millisecond)
			var pushing, popping sync.WaitGroup
			for p := range uint32(pushers) {
				pushing.Go(func() {
					for seq := int64(1); time.Now().Before(end); {
						for k := uint32(0); k < own; {
							n := 1 + int(seq)%min(3, int(own-k))
							if c.push(1+p*own+k, n, seq) {
								seq += int64(n)
							}
							k += uint32(n)
						}
						if seq%64 == 0 {
							runtime.Gosched()
						}
					}
				})
			}
			var over atomic.Bool
			for range poppers {
				popping.Go(func() {
					var last [pushers]int64
					for {
						done := over.Load()
						i, seq := c.pop()
						if i == 0 {
							if done {
								return
							}
							runtime.Gosched()
							continue
						}
						p := (i - 1) / own
						if poppers == 1 && seq != last[p]+1 {
							c.faults.Add(1)
							t.Errorf("push %d of pusher %d is popped after push %d", seq, p, last[p])
							return
						}
						last[p] = seq
					}
				})
			}
			pushing.Wait()
			over.Store(true)
			popping.Wait()
			if c.faults.Load() > 0 || c.pushed.Load() != c.popped.Load() || !c.q.Empty() {
				t.Errorf("%d poppers, %d tasks: %d pushed, %d popped, %d wrong, empty %t",
					poppers, pushers*own, c.pushed.Load(), c.popped.Load(), c.faults.Load(), c.q.Empty())
			}
		}
	}
}

// Abort has changed the state and waits for the lock. Meanwhile the slot is freed, and another
// task with a timer is made in it. With one processor, no goroutine runs before the test lets it,
// so the order is certain.
func TestAnAbortThatComesLateLeavesTheTimerOfTheNextTaskAlone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	y := newTaskHarness()
	first, err := y.spawn()
	if err != nil {
		t.Fatal(err)
	}
	y.s.Lock()
	var returned sync.WaitGroup
	returned.Go(func() { first.h.Abort() })
	for first.h.Alive() {
		runtime.Gosched()
	}
	for range 10 {
		runtime.Gosched() // until Abort waits for the lock
	}
	y.s.Unlock()
	gone := pop(&y.s.Ready, &y.tasks().taskArena)
	if gone.word.move(first.h.gen, taskTake).do != taskDelete {
		t.Fatal("a task that was aborted is not to be deleted")
	}
	y.tasks().delete(gone)
	first.live, first.slot = false, false
	if err := y.spawnInSlotOf(first); err != nil {
		t.Fatal(err)
	}
	returned.Wait()
	if n := y.State(y.s).Armed; n != 1 {
		t.Errorf("%d timers are armed, want 1: Abort has stopped the timer of another task", n)
	}
}

// spawnInSlotOf makes a task in the slot of another. Its first poll requests a timer.
func (y *taskHarness) spawnInSlotOf(first *taskProbe) error {
	second, err := y.spawn()
	if err != nil {
		return err
	}
	if second.h.t != first.h.t {
		return errors.New("the task has another slot")
	}
	for a := (taskActor{script: "t"}); a.at < len(a.script) || a.pc != partNone; {
		if err := y.step(&a); err != nil {
			return err
		}
	}
	return nil
}

// A goroutine is replaced after it has taken the inbox. Its successor finds nothing and ends the
// turn. Then the first goroutine puts the tasks into the list, and must make sure that they are
// polled.
func TestAReplacedGoroutineLeavesNoTaskBehind(t *testing.T) {
	rt, err := New(Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Shutdown(t.Context())
	old := rt.eng.Claim(0)
	var polls atomic.Int64
	const count = 64
	var s *engine.Shard
	for range count {
		h, err := rt.Spawn(TaskFunc(func(*Context) Status { polls.Add(1); return Done }))
		if err != nil {
			t.Fatal(err)
		}
		s = h.s
	}
	last := s.Ready.Inbox.Swap(0)
	old.Replace().WorkUntilIdle()
	ts := s.Source().(*tasks)
	refill(&s.Ready, &ts.taskArena, last)
	ts.Run(old, 32, rt.eng.Now()) // polls nothing, because it has lost the turn
	if n := polls.Load(); n != 0 {
		t.Errorf("a goroutine that was replaced polls %d tasks", n)
	}
	old.WorkUntilIdle()
	for end := time.Now().Add(2 * time.Second); polls.Load() < count; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d tasks are polled", polls.Load(), count)
		}
	}
}

// If polls get their own goroutines, a batch has the same limit as otherwise. The worker must
// read the clock and look at its timers after each batch.
func TestABatchOfPollsOnTheirOwnGoroutinesIsBounded(t *testing.T) {
	rt, err := New(Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Shutdown(t.Context())
	turn := rt.eng.Claim(0)
	const limit, count = 32, 320
	var polled sync.WaitGroup
	polled.Add(count)
	var s *engine.Shard
	for range count {
		h, err := rt.Spawn(TaskFunc(func(*Context) Status { polled.Done(); return Done }))
		if err != nil {
			t.Fatal(err)
		}
		s = h.s
	}
	turn.SpawnAll(true)
	ts := s.Source().(*tasks)
	ts.Run(turn, limit, rt.eng.Now())
	left := 0
	for left < count {
		t := pop(&s.Ready, &ts.taskArena)
		if t == nil {
			break
		}
		left++
		push(&s.Ready, t, t)
	}
	if left == 0 {
		t.Errorf("all of %d tasks are started in one batch, want %d", count, limit)
	}
	turn.SpawnAll(false)
	go turn.WorkUntilIdle()
	polled.Wait()
}
