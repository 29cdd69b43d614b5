package foliot

import (
	"runtime"
	"sync/atomic"
	"time"
)

// pollBatch is how many tasks are polled between two readings of the clock.
const pollBatch = 32

// pollSlow is how long a batch may take before tasks are polled one by one, so that what
// takes long is not taken to block.
const pollSlow = int64(500 * time.Microsecond)

// A queue is the list of tasks that are to be polled, in the order in which they were
// woken. The link is in the slot of the task and a task is in it at most once, so it
// takes no memory and cannot overflow.
//
//	inbox  ─► c ─► b ─► a        whoever wakes a task pushes it: one compare-and-swap
//	todo   ─► x ─► y ─► z        whoever polls takes from here; when it is empty, the
//	                             inbox is taken as a whole and turned round
//
// There is one who polls, or two for a moment, when a goroutine is replaced while it is
// between two polls. Therefore todo has a count of its changes beside it: a goroutine that
// was held up between looking and taking must not put back what others have taken.
type queue struct {
	inbox atomic.Uint32 // number of the task woken last; 0: none
	todo  atomic.Uint64 // changes<<32 | number of the task to be polled next; 0: none
}

// empty tells whether nobody is to be polled.
func (q *queue) empty() bool {
	return q.inbox.Load() == 0 && uint32(q.todo.Load()) == 0
}

// push adds a task and tells whether the inbox was empty.
func (q *queue) push(t *task) bool {
	for {
		head := q.inbox.Load()
		t.link.Store(head)
		if q.inbox.CompareAndSwap(head, t.index) {
			return head == 0
		}
	}
}

// pop takes the next task, or returns nil.
func (q *queue) pop(tasks *taskArena) *task {
	for {
		head := q.todo.Load()
		if uint32(head) != 0 {
			t := tasks.at(uint32(head))
			if q.todo.CompareAndSwap(head, (head>>32+1)<<32|uint64(t.link.Load())) {
				return t
			}
			continue
		}
		if q.inbox.Load() == 0 {
			return nil
		}
		last := q.inbox.Swap(0)
		if last == 0 {
			return nil
		}
		if t := tasks.at(last); t.link.Load() == 0 {
			return t // a list of one needs no turning round
		}
		q.refill(tasks, last)
	}
}

// refill puts the tasks of an inbox into todo, the one that was woken first in front.
func (q *queue) refill(tasks *taskArena, last uint32) {
	first := uint32(0)
	for i := last; i != 0; {
		t := tasks.at(i)
		next := t.link.Load()
		t.link.Store(first)
		first, i = i, next
	}
	for {
		head := q.todo.Load() // not empty only if another has filled it just now
		tasks.at(last).link.Store(uint32(head))
		if q.todo.CompareAndSwap(head, (head>>32+1)<<32|uint64(first)) {
			return
		}
	}
}

// mayEnqueue reports whether the caller may enqueue a task of the shard. A foreign call may
// not, as it could not start a goroutine for the worker. That is found out by reading the
// clock, and only if nobody runs the worker: a goroutine that runs it will see the task.
func (s *shard) mayEnqueue() bool {
	if s.rt.bubble == "" && s.owner.Load().busy.Load() != 0 {
		return true
	}
	return !s.rt.refuses()
}

// enqueue has a task polled that has just been moved to taskScheduled. The caller is a
// goroutine of the runtime, or has asked mayEnqueue.
func (s *shard) enqueue(t *task) {
	if s.ready.push(t) {
		s.announce()
	}
}

// ready returns a shard that has tasks to be polled, or nil. An adopted shard may have none any
// more; then the next call of pollable removes it from the list.
func (w *worker) ready() *shard {
	for _, s := range w.own {
		if !s.ready.empty() {
			return s
		}
	}
	return w.adopted.ready.Load()
}

// pollReady polls some of the tasks that are to be polled, at most limit. cx is in use
// while its task is set: then somebody up the stack has to see to what a Poll that panics
// leaves behind.
func (w *worker) pollReady(s *shard, cx *Context, claim uint64, limit int, now int64) {
	for range limit {
		if w.busy.Load() != claim {
			return
		}
		t := s.ready.pop(&s.tasks)
		if t == nil {
			return
		}
		if (s.maker != w || w.busy.Load() != claim) && !s.ready.empty() {
			s.announce() // pop may have made the queue look empty, see adopted
		}
		gen, _ := t.word.load()
		switch t.word.move(gen, taskTake).do {
		case taskPoll:
			w.pollOrHand(cx, s, t, gen, limit, now)
		case taskDelete:
			s.delete(t)
		}
	}
}

// poll polls a task that is in the state taskExecuting, and again, up to limit times, if
// it is woken meanwhile and nobody else waits.
func (w *worker) poll(cx *Context, s *shard, t *task, gen uint32, limit int, now int64) {
	cx.s, cx.t, cx.gen, cx.now = s, t, gen, s.tell(now)
	for n := 1; ; n++ {
		cx.want, cx.unset = never, false
		cx.polls++
		if w.pollOnce(cx, t.body) == Done {
			cx.finish(taskFinished)
			return
		}
		if cx.want != never {
			cx.arm()
		}
		if n >= limit || !s.ready.empty() || t.word.move(gen, taskAgain).do != taskPoll {
			break
		}
	}
	cx.finish(taskPending)
}

// pollOnce calls Poll, and does what the options want to know.
func (w *worker) pollOnce(cx *Context, body Task) Status {
	rt := w.rt
	if rt.logger == nil && rt.slowAfter == 0 {
		return body.Poll(cx)
	}
	if !cx.away {
		w.current.setTask(body)
	}
	began := time.Now()
	status := body.Poll(cx)
	if rt.slowAfter > 0 {
		rt.slowPoll(body, int64(time.Since(began)))
	}
	return status
}

// tell returns the time to tell a task: now, or what another goroutine has told a task of
// the shard before, so that it does not go back.
func (s *shard) tell(now int64) int64 {
	for {
		last := s.told.Load()
		if now <= last {
			return last
		}
		if s.told.CompareAndSwap(last, now) {
			return now
		}
	}
}

// arm sets the task's timer to what the poll has asked for.
func (cx *Context) arm() {
	s := cx.s
	at := s.rt.ceil(cx.want)
	s.mu.Lock()
	early := !s.closed && s.rearm(cx.t, at)
	s.mu.Unlock()
	if early {
		s.rt.keeper.notice(s.rt.nanos(at))
	}
}

// finish does what is to be done after a Poll that has come to an end.
func (cx *Context) finish(e taskEvent) {
	s, t := cx.s, cx.t
	cx.t = nil
	switch t.word.move(cx.gen, e).do {
	case taskQueue:
		s.enqueue(t)
	case taskDelete:
		s.delete(t)
	}
}

// delete gives back the slot of a task that is gone.
func (s *shard) delete(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.unarm(t)
	s.tasks.put(t)
}

// expired polls a task whose timer has expired, unless it is to be polled anyway.
func (w *worker) expired(cx *Context, c call, now int64) {
	if c.task.word.move(c.gen, taskExpire).do == taskPoll {
		w.pollOrHand(cx, c.shard, c.task, c.gen, 1, now)
	}
}

// pollOrHand polls a task here, or elsewhere if polls have blocked the worker just now.
func (w *worker) pollOrHand(cx *Context, s *shard, t *task, gen uint32, limit int, now int64) {
	if w.rushes(now) {
		w.spawn(call{shard: s, task: t, gen: gen})
		return
	}
	w.poll(cx, s, t, gen, limit, now)
}

// linger waits a little for more tasks to be woken, and tells whether any were: to start a
// goroutine takes longer than most wait for an answer.
func (w *worker) linger() bool {
	rt := w.rt
	if rt.fake || runtime.GOMAXPROCS(0) == 1 {
		return false
	}
	for until := rt.now() + spinAlways; rt.now() < until; {
		for range 50 {
			if w.ready() != nil {
				return true
			}
		}
	}
	return false
}

// rouse starts a goroutine that polls the tasks of a worker that nobody runs.
func (k *keeper) rouse(w *worker) {
	rt := k.rt
	now, err := rt.enter()
	if err != nil {
		k.rouseOutside(w)
		return
	}
	e := w.claim(now, 0)
	if e == 0 {
		return
	}
	rt.crew.enter()
	if rt.manual != nil {
		go rt.manual.serve(w, e)
		return
	}
	k.guarded(now)
	go w.work(e)
}

// rouseOutside is rouse for a foreign caller that enqueued a task while somebody ran the
// worker, and found it released afterwards. A goroutine that it starts would belong to its
// bubble. A cleanup does not: it runs after the next garbage collection, outside of any.
func (k *keeper) rouseOutside(w *worker) {
	runtime.AddCleanup(new(sentinel), func(w *worker) { w.rt.keeper.rouse(w) }, w)
	runtime.GC()
}
