package foliot

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A crate has slots of tasks, with marks beside them, for a queue that is tried by itself.
type readyListHarness struct {
	q      readyList
	tasks  taskArena
	in     []atomic.Bool  // by slot: in the queue
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

// push pushes one of a pusher's own tasks if it is not in the queue.
func (c *readyListHarness) push(i uint32, seq int64) bool {
	if c.in[i].Load() {
		return false
	}
	c.seq[i].Store(seq)
	c.in[i].Store(true)
	c.q.push(c.tasks.at(i))
	c.pushed.Add(1)
	return true
}

// pop pops one, which must have been in the queue, and returns its number and that of its push.
func (c *readyListHarness) pop() (i uint32, seq int64) {
	t := c.q.pop(&c.tasks)
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

// Few tasks, so that a slot comes round while somebody is between looking and taking.
func TestTheQueueLosesNothingAndGivesNothingTwice(t *testing.T) {
	for _, poppers := range []int{1, 2, 3} {
		for _, own := range []uint32{1, 2, 20} {
			const pushers = 3
			c := newReadyListHarness(pushers * 20)
			end := time.Now().Add(60 * time.Millisecond)
			var pushing, popping sync.WaitGroup
			for p := range uint32(pushers) {
				pushing.Go(func() {
					for seq := int64(1); time.Now().Before(end); {
						for k := range own {
							if c.push(1+p*own+k, seq) {
								seq++
							}
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
			if c.faults.Load() > 0 || c.pushed.Load() != c.popped.Load() || !c.q.empty() {
				t.Errorf("%d poppers, %d tasks: %d pushed, %d popped, %d wrong, empty %t",
					poppers, pushers*own, c.pushed.Load(), c.popped.Load(), c.faults.Load(), c.q.empty())
			}
		}
	}
}

// An Abort that has decided but not yet got the lock is overtaken: the slot is given back and has another task with a
// timer. With one processor nobody runs before the test lets him, so the order is certain.
func TestAnAbortThatComesLateLeavesTheTimerOfTheSuccessorAlone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	y := newTaskHarness()
	first, err := y.spawn()
	if err != nil {
		t.Fatal(err)
	}
	y.s.mu.Lock()
	var answered sync.WaitGroup
	answered.Go(func() { first.h.Abort() })
	for first.h.Alive() {
		runtime.Gosched()
	}
	for range 10 {
		runtime.Gosched() // until it waits for the lock
	}
	y.s.mu.Unlock()
	gone := y.s.ready.pop(&y.s.tasks)
	if gone.word.move(first.h.gen, taskTake).do != taskDelete {
		t.Fatal("the task that is aborted is not to be deleted")
	}
	y.s.delete(gone)
	first.live, first.slot = false, false
	if err := y.successor(first); err != nil {
		t.Fatal(err)
	}
	answered.Wait()
	if y.s.armed != 1 {
		t.Errorf("%d timers are armed: Abort has taken away the timer of a task that it was not for", y.s.armed)
	}
}

// successor makes a task in the slot of another, which asks for a timer in its first poll.
func (y *taskHarness) successor(first *taskProbe) error {
	second, err := y.spawn()
	if err != nil {
		return err
	}
	if second.h.t != first.h.t {
		return errNilTask
	}
	for a := (taskActor{script: "t"}); a.at < len(a.script) || a.pc != partNone; {
		if err := y.step(&a); err != nil {
			return err
		}
	}
	return nil
}

// A goroutine is replaced while it has the inbox in its hands. The one that goes on finds nothing and gives the turn
// back. Then the first one puts the tasks into the list, and has to see to it that they are polled.
func TestAReplacedGoroutineLeavesNoTaskBehind(t *testing.T) {
	rt, err := New(Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Shutdown(t.Context())
	w := (*rt.workers.Load())[0]
	s := w.shards[0]
	old := w.claim(rt.now(), 0)
	var polls atomic.Int64
	const tasks = 2 * pollBatch
	for range tasks {
		if _, err := rt.Spawn(TaskFunc(func(*Context) Status { polls.Add(1); return Done })); err != nil {
			t.Fatal(err)
		}
	}
	last := s.ready.inbox.Swap(0)
	_, e := w.replace(w.since.Load() + patience)
	w.spawnUntil.Store(0)
	rt.goroutines.add()
	w.work(e)
	s.ready.refill(&s.tasks, last)
	w.pollReady(s, &Context{}, w.busy.Load(), pollBatch, rt.now())
	rt.goroutines.add()
	w.work(old)
	for end := time.Now().Add(2 * time.Second); polls.Load() < tasks; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d tasks are polled, and nobody has the turn: busy is %d", polls.Load(), tasks, w.busy.Load())
		}
	}
}

// A worker has several shards, and there is always a task to be polled in each of them.
func TestAWorkerPollsTheTasksOfAllItsShards(t *testing.T) {
	rt, err := New(Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Shutdown(t.Context())
	if err := rt.Resize(1); err != nil {
		t.Fatal(err)
	}
	w := (*rt.workers.Load())[0]
	e := w.claim(rt.now(), 0)
	shards := w.shards
	polls := make([]int, len(shards))
	for i, s := range shards {
		rt.openShards.Store(&[]*shard{s})
		_, err := rt.Spawn(TaskFunc(func(cx *Context) Status {
			polls[i]++
			cx.Handle().Wake()
			return Pending
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	w.run(runMode{claim: e, span: int64(20 * time.Millisecond)})
	for i, n := range polls {
		if n == 0 {
			t.Errorf("no task of shard %d of %d is polled: polls are %v", i, len(shards), polls)
		}
	}
}

// When polls are handed on to goroutines, a batch is no longer than otherwise: the worker looks at the clock, at its turn
// and at its timers after it.
func TestABatchOfPollsThatAreHandedOnIsBounded(t *testing.T) {
	rt, err := New(Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Shutdown(t.Context())
	w := (*rt.workers.Load())[0]
	e := w.claim(rt.now(), 0)
	s := w.shards[0]
	const tasks = 10 * pollBatch
	var polled sync.WaitGroup
	polled.Add(tasks)
	for range tasks {
		if _, err := rt.Spawn(TaskFunc(func(*Context) Status { polled.Done(); return Done })); err != nil {
			t.Fatal(err)
		}
	}
	w.spawnUntil.Store(never)
	w.pollReady(s, &Context{}, w.busy.Load(), pollBatch, rt.now())
	left := 0
	for t := s.ready.pop(&s.tasks); t != nil; t = s.ready.pop(&s.tasks) {
		left++
		s.ready.push(t)
		if left == tasks {
			break
		}
	}
	if left == 0 {
		t.Errorf("all of %d tasks are handed on in one go, and a batch is %d", tasks, pollBatch)
	}
	w.spawnUntil.Store(0)
	rt.goroutines.add()
	go w.work(e)
	polled.Wait()
}
