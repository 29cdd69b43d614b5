package foliot

import (
	"runtime"
	"time"
)

// pollBatch is how many tasks are polled between two readings of the clock.
const pollBatch = 32

// pollSlow is how long a batch may take before tasks are polled one by one. The watchdog
// measures from the start of a batch. Without this limit, a batch of slow polls would look
// like one poll that blocks.
const pollSlow = int64(500 * time.Microsecond)

// mayEnqueue reports whether the caller may enqueue a task of the shard. A foreign call may
// not, because it could not start a goroutine for the worker. The check reads the clock. A
// runtime that belongs to no bubble does without it while a goroutine runs the worker: that
// goroutine will see the task.
func (s *shard) mayEnqueue() bool {
	return s.owner.Load().busy.Load() != 0 && !s.rt.fake || !s.rt.refuses()
}

// enqueue adds a task to the ready list and makes sure that it is polled. The caller has just
// moved the task to the state taskScheduled. It is a goroutine of the runtime, or has called
// mayEnqueue.
func (s *shard) enqueue(t *task) {
	if s.ready.push(t) {
		s.announce()
	}
}

// ready returns a shard that has tasks to be polled, or nil. An adopted shard that it returns
// may have none left. Then the next call of pollable removes that shard from the list.
func (w *worker) ready() *shard {
	for _, s := range w.own {
		if !s.ready.empty() {
			return s
		}
	}
	return w.adopted.ready.Load()
}

// pollReady polls tasks of the ready list, at most limit. It sets cx.t while it polls a task.
// If a Poll panics or calls Goexit, cx.t is still set, and run finishes the poll.
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
			s.announce() // pop may have made the ready list look empty, see adopted
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

// poll polls a task that is in the state taskExecuting. If the task is woken meanwhile and no
// other task of the shard is ready, poll polls it again, up to limit times.
func (w *worker) poll(cx *Context, s *shard, t *task, gen uint32, limit int, now int64) {
	cx.s, cx.t, cx.gen, cx.now = s, t, gen, s.monotonic(now)
	for n := 1; ; n++ {
		cx.want, cx.unset = never, false
		cx.polls++
		var status Status
		if w.rt.observesPolls {
			status = w.pollObserved(cx, t.body)
		} else {
			status = t.body.Poll(cx)
		}
		if status == Done {
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

// pollObserved calls Poll for a runtime with a Logger or a SlowCallback.
func (w *worker) pollObserved(cx *Context, body Task) Status {
	rt := w.rt
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

// monotonic returns now, or the latest time that any goroutine has polled a task of the shard
// with, if that is later. So Context.Now does not go back for a task.
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

// arm arms the timer of the task for the time that the poll has requested.
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

// finish ends a poll. e says how it has ended.
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

// delete frees the slot of a task that is gone, and its timer.
func (s *shard) delete(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.unarm(t)
	s.tasks.put(t)
}

// pollExpired polls a task whose timer has expired, unless the task is in the ready list, is
// being polled, or is gone.
func (w *worker) pollExpired(cx *Context, c call, now int64) {
	if c.task.word.move(c.gen, taskExpire).do == taskPoll {
		w.pollOrSpawn(cx, c.shard, c.task, c.gen, 1, now)
	}
}

// pollOrSpawn polls a task on this goroutine. If the worker was blocked a short time ago, it
// polls the task on a new one.
func (w *worker) pollOrSpawn(cx *Context, s *shard, t *task, gen uint32, limit int, now int64) {
	if w.shouldSpawn(now) {
		w.spawn(call{shard: s, task: t, gen: gen})
		return
	}
	w.poll(cx, s, t, gen, limit, now)
}

// linger spins for a short time, and reports whether a task was woken meanwhile. A task that
// waits for another goroutine is often woken within that time. Starting a new goroutine for
// it would take longer.
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

// startWorker starts a goroutine that runs a worker, unless a goroutine runs it already.
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

// startWorkerByCleanup does what startWorker does for a foreign caller. Such a caller has
// enqueued a task while a goroutine ran the worker, and has found the worker released
// afterwards. A goroutine that it starts would belong to its synctest bubble. A cleanup
// belongs to no bubble: it runs after the next garbage collection, on a goroutine of Go.
func (k *timekeeper) startWorkerByCleanup(w *worker) {
	runtime.AddCleanup(new(gcSentinel), func(w *worker) { w.rt.timekeeper.startWorker(w) }, w)
	runtime.GC()
}
