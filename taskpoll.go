package foliot

import (
	"runtime"
	"time"
)

// pollBatch is how many tasks are polled between two readings of the clock.
const pollBatch = 32

// pollSlow is how long a batch may take before tasks are polled one by one, so that what
// takes long is not taken to block.
const pollSlow = int64(500 * time.Microsecond)

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
			w.pollOrSpawn(cx, s, t, gen, limit, now)
		case taskDelete:
			s.delete(t)
		}
	}
}

// poll polls a task that is in the state taskExecuting, and again, up to limit times, if
// it is woken meanwhile and nobody else waits.
func (w *worker) poll(cx *Context, s *shard, t *task, gen uint32, limit int, now int64) {
	cx.s, cx.t, cx.gen, cx.now = s, t, gen, s.monotonic(now)
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
func (s *shard) monotonic(now int64) int64 {
	for {
		last := s.lastPollTime.Load()
		if now <= last {
			return last
		}
		if s.lastPollTime.CompareAndSwap(last, now) {
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
		s.rt.timekeeper.notify(s.rt.nanos(at))
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
func (w *worker) pollExpired(cx *Context, c call, now int64) {
	if c.task.word.move(c.gen, taskExpire).do == taskPoll {
		w.pollOrSpawn(cx, c.shard, c.task, c.gen, 1, now)
	}
}

// pollOrHand polls a task here, or elsewhere if polls have blocked the worker just now.
func (w *worker) pollOrSpawn(cx *Context, s *shard, t *task, gen uint32, limit int, now int64) {
	if w.shouldSpawn(now) {
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
func (k *timekeeper) startWorker(w *worker) {
	rt := k.rt
	now, err := rt.enter()
	if err != nil {
		k.startWorkerByCleanup(w)
		return
	}
	e := w.claim(now, 0)
	if e == 0 {
		return
	}
	rt.goroutines.add()
	if rt.manual != nil {
		go rt.manual.pollWoken(w, e)
		return
	}
	k.ensureWatchdog(now)
	go w.work(e)
}

// rouseOutside is rouse for a foreign caller that enqueued a task while somebody ran the
// worker, and found it released afterwards. A goroutine that it starts would belong to its
// bubble. A cleanup does not: it runs after the next garbage collection, outside of any.
func (k *timekeeper) startWorkerByCleanup(w *worker) {
	runtime.AddCleanup(new(gcSentinel), func(w *worker) { w.rt.timekeeper.startWorker(w) }, w)
	runtime.GC()
}
