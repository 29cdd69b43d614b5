package engine

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A readyListHarness has a ready list and task slots, and records what must be true of each slot.
type readyListHarness struct {
	q      ready
	tasks  taskArena
	in     []atomic.Bool  // by slot: it is in the ready list
	seq    []atomic.Int64 // by slot: the number of the push among those of its pusher
	pushed atomic.Int64
	popped atomic.Int64
	faults atomic.Int64 // tasks that were popped twice or in the wrong order
}

func newReadyListHarness(n int) *readyListHarness {
	h := &readyListHarness{}
	for range n {
		h.tasks.take()
	}
	all := len(*h.tasks.slabs.Load()) * taskSlabSize
	h.in = make([]atomic.Bool, all)
	h.seq = make([]atomic.Int64, all)
	return h
}

// push pushes n tasks with consecutive indices at once, as Expired does. If one of them is in the
// list, it pushes none and returns false. Only one goroutine pushes these tasks.
func (h *readyListHarness) push(first uint32, n int, seq int64) bool {
	for i := range uint32(n) {
		if h.in[first+i].Load() {
			return false
		}
	}
	for i := range uint32(n) {
		h.seq[first+i].Store(seq + int64(i))
		h.in[first+i].Store(true)
		if i > 0 {
			h.tasks.at(first + i).link.Store(first + i - 1)
		}
	}
	h.q.push(h.tasks.at(first), h.tasks.at(first+uint32(n)-1))
	h.pushed.Add(int64(n))
	return true
}

// pop pops a task and returns its index and the number of its push, or 0 and 0.
func (h *readyListHarness) pop() (i uint32, seq int64) {
	t, _ := h.q.pop(&h.tasks)
	if t == nil {
		return 0, 0
	}
	seq = h.seq[t.index].Load()
	if !h.in[t.index].CompareAndSwap(true, false) {
		h.faults.Add(1)
	}
	h.popped.Add(1)
	return t.index, seq
}

// There are few tasks, so that a task is often pushed again while another goroutine is in pop.
func TestTheReadyListLosesNothingAndReturnsNothingTwice(t *testing.T) {
	for _, poppers := range []int{1, 2, 3} {
		for _, own := range []uint32{1, 2, 20} {
			const pushers = 3
			h := newReadyListHarness(pushers * 20)
			end := time.Now().Add(60 * time.Millisecond)
			var pushing, popping sync.WaitGroup
			for p := range uint32(pushers) {
				pushing.Go(func() {
					for seq := int64(1); time.Now().Before(end); {
						for k := uint32(0); k < own; {
							n := 1 + int(seq)%min(3, int(own-k))
							if h.push(1+p*own+k, n, seq) {
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
						i, seq := h.pop()
						if i == 0 {
							if done {
								return
							}
							runtime.Gosched()
							continue
						}
						p := (i - 1) / own
						if poppers == 1 && seq != last[p]+1 {
							h.faults.Add(1)
							t.Errorf("push %d of pusher %d was popped after push %d", seq, p, last[p])
							return
						}
						last[p] = seq
					}
				})
			}
			pushing.Wait()
			over.Store(true)
			popping.Wait()
			if h.faults.Load() > 0 || h.pushed.Load() != h.popped.Load() || !h.q.empty() {
				t.Errorf("%d poppers, %d tasks: %d pushed, %d popped, %d faults, empty %t",
					poppers, pushers*own, h.pushed.Load(), h.popped.Load(), h.faults.Load(), h.q.empty())
			}
		}
	}
}

// Abort has changed the state and waits for the lock. Meanwhile the slot is freed, and another
// task with a timer is made in it. With one processor, no goroutine runs before the test lets it,
// so the order is certain.
func TestAnAbortThatComesLateLeavesTheTimerOfTheNextTaskAlone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h := newTaskHarness()
	first, err := h.spawn()
	if err != nil {
		t.Fatal(err)
	}
	h.s.mu.Lock()
	var returned sync.WaitGroup
	returned.Go(func() { first.h.Abort() })
	for first.h.Alive() {
		runtime.Gosched()
	}
	for range 10 {
		runtime.Gosched() // lets Abort run until it waits for the lock
	}
	h.s.mu.Unlock()
	gone, _ := h.s.ready.pop(h.s.tasks)
	if gone.word.move(first.h.gen, taskTake).do != taskDelete {
		t.Fatal("the move of an aborted task that is taken does not delete it")
	}
	h.s.deleteTask(gone)
	first.live, first.slot = false, false
	if err := h.spawnInSlotOf(first); err != nil {
		t.Fatal(err)
	}
	returned.Wait()
	if n := h.Armed(h.s); n != 1 {
		t.Errorf("%d timers are armed, want 1: the timer of the second task", n)
	}
}

// spawnInSlotOf makes a task in the slot of another. Its first poll requests a timer.
func (h *taskHarness) spawnInSlotOf(first *taskProbe) error {
	second, err := h.spawn()
	if err != nil {
		return err
	}
	if second.h.t != first.h.t {
		return errors.New("the second task has another slot than the first")
	}
	for a := (taskActor{script: "t"}); a.at < len(a.script) || a.next != stepNone; {
		if err := h.step(&a); err != nil {
			return err
		}
	}
	return nil
}

// claimTurn takes the turn of a worker for the test.
func claimTurn(w *worker) *turn { return &turn{w: w, claim: w.claim(w.eng.Now(), 0)} }

// replace replaces the goroutine that has the turn, as the watchdog does. It returns the new turn.
func (t *turn) replace() *turn {
	_, claim := t.w.replace(t.w.since.Load() + blockedAfter)
	t.w.spawnUntil.Store(0)
	return &turn{w: t.w, claim: claim, batch: pollBatch{size: 1}}
}

// pollAt polls a batch of tasks of a shard. The goroutine has read the clock before: it was now.
func (t *turn) pollAt(s *Shard, now int64) {
	t.now, t.batch = now, pollBatch{began: now, limit: never, size: 1}
	t.batch.nextGroup()
	t.pollShard(s)
}

// workUntilIdle runs the worker until nothing is left to do, and ends the turn.
func (t *turn) workUntilIdle() {
	t.until = never
	for t.run((*turn).loop, t.restart) {
	}
	t.w.release(t.claim)
}

// A goroutine is replaced after it has taken the inbox. Its successor finds nothing and ends the
// turn. Then the first goroutine puts the tasks into the list, and must make sure that they are
// polled.
func TestAReplacedGoroutineLeavesNoTaskBehind(t *testing.T) {
	eng, err := New(Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Shutdown(t.Context(), func() int { return 0 })
	old := claimTurn((*eng.workers.Load())[0])
	var polls atomic.Int64
	const count = 64
	var s *Shard
	for range count {
		h, err := eng.Spawn(nil, func(any, *TaskContext) bool { polls.Add(1); return true })
		if err != nil {
			t.Fatal(err)
		}
		s = h.s
	}
	last := s.ready.inbox.Swap(0)
	old.replace().workUntilIdle()
	s.ready.refill(s.tasks, last)
	old.pollAt(s, eng.Now()) // polls nothing, because it was replaced
	if n := polls.Load(); n != 0 {
		t.Errorf("a goroutine that was replaced has polled %d tasks, want none", n)
	}
	old.workUntilIdle()
	if !testkit.TrueWithin(2*time.Second, func() bool { return polls.Load() == count }) {
		t.Fatalf("%d tasks were polled, want %d", polls.Load(), count)
	}
}

// A batch has the same limit if each poll has its own goroutine. The worker must read the clock and
// look at its timers after each batch.
func TestABatchOfPollsOnTheirOwnGoroutinesIsBounded(t *testing.T) {
	eng, err := New(Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Shutdown(t.Context(), func() int { return 0 })
	turn := claimTurn((*eng.workers.Load())[0])
	const count = 10 * batchSize
	var polled sync.WaitGroup
	polled.Add(count)
	var s *Shard
	for range count {
		h, err := eng.Spawn(nil, func(any, *TaskContext) bool { polled.Done(); return true })
		if err != nil {
			t.Fatal(err)
		}
		s = h.s
	}
	turn.w.spawnUntil.Store(never)
	turn.pollAt(s, eng.Now())
	left := 0
	for left < count {
		t, _ := s.ready.pop(s.tasks)
		if t == nil {
			break
		}
		left++
		s.ready.push(t, t)
	}
	if left == 0 {
		t.Errorf("all %d tasks were started in one batch, want %d", count, batchSize)
	}
	turn.w.spawnUntil.Store(0)
	go turn.workUntilIdle()
	polled.Wait()
}
