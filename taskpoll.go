package foliot

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/foliot-go/foliot/internal/engine"
)

// tasks has the tasks of a shard. It is the [engine.Source] of the shard: a task is an item, and
// running an item is polling the task.
type tasks struct {
	taskArena
	s            *engine.Shard
	observed     bool         // see engine.Engine.Observes. Does not change
	lastPollTime atomic.Int64 // the latest Context.Now of a poll. Raised by compare-and-swap
	sink         uint64       // what Prefetch has read, stored so that the reads are not optimised away
}

// tasksOf returns the tasks of a shard. It makes them for the first task. The caller holds the
// lock of the shard.
func tasksOf(s *engine.Shard) *tasks {
	if src := s.Source(); src != nil {
		return src.(*tasks)
	}
	ts := &tasks{s: s, observed: s.Engine().Observes()}
	s.SetSource(ts)
	return ts
}

// enqueue adds a task to the ready list and makes sure that it is polled. The caller has just
// moved the task to the state taskScheduled. It is a goroutine of the runtime, or has called
// MayAnnounce.
func enqueue(s *engine.Shard, t *task) {
	if push(&s.Ready, t, t) {
		s.Announce()
	}
}

// freeTimer stops the timer of a task and frees it. The caller holds the lock of the shard.
func freeTimer(s *engine.Shard, t *task) {
	if t.timer != 0 {
		s.FreeItemTimer(t.timer)
		t.timer = 0
	}
}

// A poller polls tasks on a goroutine. It is the Work of a Turn, which keeps it from one run to
// the next.
type poller struct {
	ts    *tasks
	cx    Context
	polls uint64 // polls that Turn.Count has not been told of
}

// pollerOf returns the poller of a turn, for some tasks.
func pollerOf(t *engine.Turn, ts *tasks) *poller {
	p, _ := t.Work.(*poller)
	if p == nil {
		p = new(poller)
		t.Work = p
	}
	p.ts = ts
	return p
}

// Abandon ends a poll that did not return normally.
func (p *poller) Abandon(t *engine.Turn) {
	p.count(t)
	if p.cx.t != nil {
		t.Ended()
		p.finish(taskFinished)
	}
}

func (p *poller) count(t *engine.Turn) {
	t.Count(p.polls)
	p.polls = 0
}

// Run polls tasks of the ready list, at most limit.
func (ts *tasks) Run(turn *engine.Turn, limit int, now int64) {
	p := pollerOf(turn, ts)
	s := ts.s
	for range limit {
		if !turn.Mine() {
			break
		}
		t := pop(&s.Ready, &ts.taskArena)
		if t == nil {
			break
		}
		turn.Took(s)
		gen, _ := t.word.load()
		switch t.word.move(gen, taskTake).do {
		case taskPoll:
			if turn.ShouldSpawn(now) {
				ts.spawn(turn, t, gen)
			} else {
				p.poll(turn, t, gen, limit, now)
			}
		case taskDelete:
			ts.delete(t)
		}
	}
	p.count(turn)
}

// spawn polls a task that is in the state taskExecuting on a new goroutine.
func (ts *tasks) spawn(turn *engine.Turn, t *task, gen uint32) {
	turn.Spawn(ts.s, func(turn *engine.Turn) {
		p := pollerOf(turn, ts)
		p.poll(turn, t, gen, 1, ts.s.Engine().Now())
		p.count(turn)
	})
}

// poll polls a task that is in the state taskExecuting. If the task is woken meanwhile and no
// other task of the shard is ready, poll polls it again, up to limit times. If a Poll panics or
// calls Goexit, p.cx.t is still set, and Abandon ends the poll.
func (p *poller) poll(turn *engine.Turn, t *task, gen uint32, limit int, now int64) {
	cx := &p.cx
	ts := p.ts
	cx.s, cx.t, cx.gen, cx.now = ts.s, t, gen, ts.monotonic(now)
	for n := 1; ; n++ {
		cx.want, cx.canceled = engine.Never, false
		p.polls++
		var status Status
		if ts.observed {
			status = p.pollObserved(turn, t.body)
		} else {
			status = t.body.Poll(cx)
			turn.EndedOne()
		}
		if status == Done {
			p.finish(taskFinished)
			return
		}
		if cx.want != engine.Never {
			cx.arm()
		}
		if n >= limit || !ts.s.Ready.Empty() || t.word.move(gen, taskAgain).do != taskPoll {
			break
		}
	}
	p.finish(taskPending)
}

// pollObserved calls Poll for a runtime with a Logger or a SlowCallback.
func (p *poller) pollObserved(turn *engine.Turn, body Task) Status {
	if f, ok := body.(TaskFunc); ok {
		turn.SetCurrentFunc(*(*unsafe.Pointer)(unsafe.Pointer(&f)))
	} else {
		turn.SetCurrent(body, p.ts)
	}
	status := body.Poll(&p.cx)
	p.ts.s.Engine().SlowItem(turn.Ended(), func() string { return p.ts.NameOf(body) })
	return status
}

// monotonic returns now, or the latest time that any goroutine has polled a task of the shard
// with, if that is later. So Context.Now does not go back for a task.
func (ts *tasks) monotonic(now int64) int64 {
	for {
		last := ts.lastPollTime.Load()
		if now <= last {
			return last
		}
		if ts.lastPollTime.CompareAndSwap(last, now) {
			return now
		}
	}
}

// arm arms the timer of the task for the time that the poll has requested.
func (cx *Context) arm() {
	s, t := cx.s, cx.t
	at := s.Engine().Ceil(cx.want)
	early := false
	s.Lock()
	if !s.Closed() {
		if t.timer == 0 {
			t.timer = s.NewItemTimer(unsafe.Pointer(t))
		}
		early = s.ArmItem(t.timer, at)
	}
	s.Unlock()
	if early {
		s.Notify(at)
	}
}

// finish ends a poll. e says how it has ended.
func (p *poller) finish(e taskEvent) {
	t := p.cx.t
	p.cx.t = nil
	switch t.word.move(p.cx.gen, e).do {
	case taskQueue:
		enqueue(p.ts.s, t)
	case taskDelete:
		p.ts.delete(t)
	}
}

// delete frees the slot of a task that is gone, and its timer.
func (ts *tasks) delete(t *task) {
	ts.s.Lock()
	defer ts.s.Unlock()
	if ts.s.Closed() {
		return
	}
	freeTimer(ts.s, t)
	ts.put(t)
}

// Expired wakes the tasks whose timers have expired: those that wait are added to the ready list,
// all at once.
func (ts *tasks) Expired(items []unsafe.Pointer) (announce bool) {
	var first, last *task
	for _, p := range items {
		t := (*task)(p)
		gen, _ := t.word.load()
		if t.word.move(gen, taskWake).do != taskQueue {
			continue
		}
		if first == nil {
			first = t
		} else {
			t.link.Store(last.index)
		}
		last = t
	}
	return first != nil && push(&ts.s.Ready, first, last)
}

// Prefetch reads the slots of tasks and the values behind their interfaces.
func (ts *tasks) Prefetch(items []unsafe.Pointer) {
	var values [32]unsafe.Pointer
	items = items[:min(len(items), len(values))]
	sum := uint64(0)
	for i, p := range items {
		t := (*task)(p)
		sum += t.word.w.Load() + uint64(t.timer) // the first and the last word: the slot may span two cache lines
		values[i] = (*[2]unsafe.Pointer)(unsafe.Pointer(&t.body))[1]
	}
	for i := range items {
		sum += engine.Touch(values[i])
	}
	ts.sink = sum
}

// Len returns the number of tasks.
func (ts *tasks) Len() int { return ts.count }

// Close ends all tasks.
func (ts *tasks) Close() { ts.clear() }

// Name returns the name of the Poll method of a type.
func (ts *tasks) Name(t reflect.Type) string {
	return "(" + t.String() + ").Poll"
}

// Body returns the Task of an item.
func (ts *tasks) Body(item unsafe.Pointer) any { return (*task)(item).body }

// NameOf returns the name of a TaskFunc, or of the Poll method of another Task.
func (ts *tasks) NameOf(body any) string {
	if f, ok := body.(TaskFunc); ok {
		return engine.FuncName(f)
	}
	return ts.Name(reflect.TypeOf(body))
}
