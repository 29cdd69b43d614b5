package engine

import (
	"reflect"
	"time"
	"unsafe"
)

// A pollBatch is a batch of polls. It is divided into groups, each measured by a single reading of
// the clock, because reading it after every poll would take longer than many polls do. The first
// group of a turn is a single poll; a group that was short is followed by one twice its size. With a
// Logger or a SlowCallback, and on a fake clock, every poll is measured by itself.
//
// A task counts toward the batch when it is taken from a ready list, and once more for each poll
// beyond the first.
type pollBatch struct {
	began int64 // when the batch began
	limit int64 // when it must end, whatever is left to do
	n     int   // how many tasks count in it, including all of the current group
	over  bool  // the batch is over; decided when a group ends

	size  int // tasks in a full group, at most batchSize
	group int // tasks in the current group: size, or fewer if the batch may end with it
	left  int // how many of those are still to come
	polls int // how many of the group's polls ran on this goroutine
}

// A full group that takes less than shortGroup is followed by one twice its size, and a group that
// takes more than longGroup by one a quarter of its size. The watchdog sees groups, not polls: a
// group that takes 5 ms counts as blocked.
const (
	shortGroup = int64(60 * time.Microsecond)
	longGroup  = int64(125 * time.Microsecond)
)

// A TaskContext gives a poll the time and its task's handle, and collects its requests to be polled
// again. Package foliot documents it as Context.
type TaskContext struct {
	s        *Shard
	t        *task // nil: no poll is running
	gen      uint32
	now      int64
	want     int64 // when the poll wants its task to be polled again; never: no request
	canceled bool  // the poll called CancelWake
}

// Handle returns the task's handle.
func (cx *TaskContext) Handle() TaskHandle { return TaskHandle{cx.s, cx.t, cx.gen} }

// Time returns the time of the poll.
func (cx *TaskContext) Time() int64 { return cx.now }

// After returns the time d from now, but no later than the end of time, the latest deadline that a
// timer can have. At the end of time itself nothing is later, so for a positive d After returns
// Never. It panics if the poll has entered another bubble.
func (cx *TaskContext) After(d time.Duration) int64 {
	now, err := cx.s.eng.CheckedNow()
	if err != nil {
		panic(err)
	}
	now = max(now, cx.now)
	if due := cx.s.eng.Deadline(now, d); due > now || d <= 0 {
		return due
	}
	return never
}

// WakeAt requests that the task be polled at time due. Of several requests by one poll, the earliest
// counts. A time beyond the end of time means the end of time, or nothing once that has come;
// otherwise a task that always asks for a later time would be polled there forever.
func (cx *TaskContext) WakeAt(due int64) {
	if last := cx.s.eng.last; due > last {
		if cx.now >= last {
			return
		}
		due = last
	}
	cx.want = min(cx.want, max(due, 0))
}

// CancelWake cancels the requests of this poll and of earlier ones, and reports whether there were
// any.
func (cx *TaskContext) CancelWake() bool {
	had := cx.want != never
	cx.want = never
	if cx.canceled {
		return had
	}
	cx.canceled = true
	cx.s.mu.Lock()
	defer cx.s.unlock()
	return cx.s.disarm(cx.t.timer, eventStop) || had
}

// arm arms the task's timer for the time that the poll requested.
func (cx *TaskContext) arm() {
	s := cx.s
	at := s.eng.Ceil(cx.want)
	s.mu.Lock()
	if !s.closed {
		s.armTask(cx.t, at)
	}
	s.unlock()
	if s.eng.manual != nil {
		s.eng.manual.armed(cx.now, s.eng.Nanos(at))
	}
}

// poll polls a batch of ready tasks from the worker's shards, and reports whether there were any. If
// a poll panics or calls Goexit, poll does not return, and abandonPoll cleans up.
func (t *turn) poll() (any bool) {
	eng := t.w.eng
	shards := *t.w.shards.Load()
	for i := range shards {
		s := shards[(t.from+i)%len(shards)]
		if s.ready.empty() {
			continue
		}
		if !any {
			any = true
			t.drv.beforeUserCode(eng, t.now)
			t.begin(t.now)
			b := &t.batch
			b.began, b.limit, b.n, b.over = t.now, t.limit(), 0, false
			b.nextGroup()
		}
		if !t.pollShard(s) {
			t.from = (t.from + i + 1) % len(shards) // the next batch begins with the others
			break
		}
	}
	if !any {
		t.polling = 0
		return false
	}
	if t.batch.left < t.batch.group {
		t.endGroup()
	}
	t.polling = t.since(t.batch.began)
	eng.label() // a poll may have changed the labels
	return true
}

// pollShard polls a shard's ready tasks. It returns false if the batch or the goroutine's turn is
// over.
func (t *turn) pollShard(s *Shard) (more bool) {
	for t.held() && !t.batch.over {
		task, refilled := s.ready.pop(s.tasks)
		if refilled {
			t.afterRefill(s)
		}
		if task == nil {
			return true
		}
		gen, _ := task.word.load()
		m := task.word.move(gen, taskTake)
		switch m.do {
		case taskPoll:
			if !t.w.shouldSpawn(t.now) {
				t.pollTask(s, task, gen)
				continue
			}
			t.w.spawn(call{shard: s, task: task, gen: gen})
		case taskDelete:
			s.deleteTask(task)
		default:
			s.checkTaskMove(m, task, taskTake)
		}
		t.tookOne()
	}
	return false
}

// nextGroup begins a group. No group extends past the batch's first batchSize tasks, because the
// batch may end there.
func (b *pollBatch) nextGroup() {
	b.group = b.size
	if b.n < batchSize {
		b.group = min(b.group, batchSize-b.n)
	}
	b.n += b.group
	b.left = b.group
}

// tookOne counts a task in the current group. If it is the last one, tookOne ends the group and
// returns how long it took; otherwise it returns 0.
func (t *turn) tookOne() (took int64) {
	if t.batch.left--; t.batch.left == 0 {
		took = t.endGroup()
	}
	return took
}

// endGroup ends a group of polls: it reads the clock, then records and returns how long they took. It
// also decides whether the batch is over, and begins the next group.
func (t *turn) endGroup() (took int64) {
	w, eng, b := t.w, t.w.eng, &t.batch
	t.now = eng.Now()
	if b.polls > 0 {
		took = t.end(t.now, b.polls)
		w.polls.Add(uint64(b.polls))
		b.polls = 0
	}
	switch {
	case eng.fake || eng.observes():
	case took > longGroup:
		b.size = max(b.size/4, 1)
	case b.left == 0 && b.group == b.size && took < shortGroup:
		b.size = min(2*b.size, batchSize)
	}
	b.n -= b.left
	b.over = t.now >= b.limit || b.n >= batchSize && t.since(b.began) >= t.firing
	b.nextGroup()
	return took
}

// afterRefill is called after this goroutine moved tasks from inbox to todo. In between, the ready
// list looked empty, which misleads goroutines that look only once: one that replaced this goroutine
// and has since released the worker, and Resize, if it gave the shard to another worker. In either
// case afterRefill wakes the owner.
func (t *turn) afterRefill(s *Shard) {
	if s.owner.Load() != t.w || !t.held() {
		s.wakeOwnerIfReady()
	}
}

func (s *Shard) wakeOwnerIfReady() {
	if !s.ready.empty() {
		s.wakeOwner()
	}
}

// visibleNow returns the time that a poll sees. A manual clock with ShowsEnd shows other goroutines
// the time at which an Advance will end, and a turn that a wake started sees that time as well.
func (t *turn) visibleNow() int64 {
	if t.tasksOnly && t.w.eng.manual.ShowsEnd {
		return max(t.now, t.w.eng.manual.target.Load())
	}
	return t.now
}

// pollTask polls a task in the state taskExecuting. If the task is woken meanwhile and no other task
// of the shard is ready, pollTask polls it again, until the batch is over. If a poll panics or calls
// Goexit, t.cx.t remains set, and abandonPoll ends the poll. A slow poll is logged after that, because
// the logger may do the same.
func (t *turn) pollTask(s *Shard, task *task, gen uint32) {
	cx, body, end, slow := &t.cx, task.body, taskPending, int64(0)
	cx.s, cx.t, cx.gen = s, task, gen
	for {
		if t.batch.polls == 0 && t.claim != noClaim {
			t.w.since.Store(t.now) // once per group, which is what the watchdog sees
			if s.eng.Logger != nil {
				t.w.current.setTask(body)
			}
		}
		cx.now = s.tasks.raise(t.visibleNow())
		cx.want, cx.canceled = never, false
		t.batch.polls++
		done := s.tasks.poll(body, cx)
		if took := t.tookOne(); took > 0 && s.eng.SlowCallback > 0 && took > int64(s.eng.SlowCallback) {
			slow = took
		}
		if done {
			end = taskFinished
			break
		}
		if cx.want != never {
			cx.arm()
		}
		if !s.ready.empty() || slow > 0 || t.batch.over || !t.held() || task.word.move(gen, taskAgain).do != taskPoll {
			break // if the move was illegal, so is finishPoll's, which reports it
		}
	}
	t.finishPoll(end)
	if slow > 0 {
		s.eng.logSlow(taskName(body), slow)
	}
}

// finishPoll ends a poll. e is taskPending or taskFinished.
func (t *turn) finishPoll(e taskEvent) {
	s, task := t.cx.s, t.cx.t
	t.cx.t = nil
	m := task.word.move(t.cx.gen, e)
	switch m.do {
	case taskQueue:
		s.enqueue(task)
	case taskDelete:
		s.deleteTask(task)
	default:
		s.checkTaskMove(m, task, e)
	}
}

// abandonPoll ends a poll that did not return normally, if there is one.
func (t *turn) abandonPoll() {
	if t.batch.polls > 0 {
		t.endGroup()
	}
	if t.cx.t != nil {
		t.finishPoll(taskFinished)
	}
}

// raise raises last to now and returns it. The result is later than now if another goroutine polled a
// task of the shard, or popped a task's timer, with a later reading of the clock. For a task, time
// therefore never goes back, and no poll comes before the time it was requested for.
func (a *taskArena) raise(now int64) int64 {
	for {
		last := a.last.Load()
		if now <= last {
			return last
		}
		if a.last.CompareAndSwap(last, now) {
			return now
		}
	}
}

// taskName returns a task's name for the log: the function's name if the task is a function, and
// otherwise the name of its Poll method.
func taskName(body any) string {
	typ := reflect.TypeOf(body)
	if typ.Kind() == reflect.Func {
		return FuncName(body)
	}
	return pollName(typ)
}

// pollName returns the name of a type's Poll method.
func pollName(typ reflect.Type) string { return "(" + typ.String() + ").Poll" }

// setTask records which task the worker is polling.
func (c *currentWork) setTask(body any) {
	words := (*interfaceWords)(unsafe.Pointer(&body))
	if reflect.TypeOf(body).Kind() == reflect.Func {
		c.setFunc(words.data)
		return
	}
	c.typ.Store((*byte)(words.typ))
	c.fn.Store(nil)
}
