package foliot

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/wheel"
)

// A Task is a small state machine. A worker polls it when it is spawned, when it is woken,
// and at the time that it has asked for. It takes no goroutine. A task is never polled
// concurrently with itself, and never after Done.
type Task interface {
	// Poll continues the task until it is done or must wait. If it returns Pending, the task
	// is polled again after a Wake, or at the time that was requested from cx. Poll should
	// not block. If it does, another goroutine takes over its worker, as with callbacks.
	Poll(cx *Context) Status
}

// A TaskFunc is a function as a Task.
type TaskFunc func(cx *Context) Status

// Poll calls f.
func (f TaskFunc) Poll(cx *Context) Status { return f(cx) }

// A Status is the result of a Poll.
type Status uint8

const (
	// Pending means that the task wants to be polled again.
	Pending Status = iota
	// Done means that the task has ended. A Poll that calls runtime.Goexit, or that panics
	// where Options.OnPanic is set, ends its task too.
	Done
)

// Spawn makes a task of t and has it polled soon. Tasks do not count for Options.MaxTimers.
// Spawn returns ErrClosed after Shutdown, and another error if t is nil. It may return an
// error in a synctest bubble that the runtime is not part of.
func (rt *Runtime) Spawn(t Task) (TaskHandle, error) {
	if f, ok := t.(TaskFunc); t == nil || ok && f == nil {
		return TaskHandle{}, errNilTask
	}
	s := rt.lockShard()
	if err := s.refusesTask(); err != nil {
		s.mu.Unlock()
		return TaskHandle{}, err
	}
	p := s.tasks.take()
	p.body = t
	gen, _ := p.word.load()
	p.word.set(gen, taskScheduled)
	s.mu.Unlock()
	s.enqueue(p)
	return TaskHandle{s, p, gen}, nil
}

// refusesTask returns the error with which a shard rejects a task, or nil if it does not. The
// caller holds the lock.
func (s *shard) refusesTask() error {
	switch {
	case s.closed:
		return ErrClosed
	case !s.mayEnqueue():
		return errBubble
	}
	return nil
}

// A TaskHandle names a task. It becomes stale when the task is done or aborted, and stays
// stale when the memory of the task is used for another one. It is a plain value that can be
// copied and compared. The zero TaskHandle names no task. Its methods may be called from any
// goroutine, also from a Poll.
type TaskHandle struct {
	s   *shard
	t   *task
	gen uint32
}

// Wake has the task polled soon. Several wakes before a poll lead to one poll. A wake during
// a poll leads to another poll after it. Wake returns false, and does nothing, if the handle
// is stale. It may also do so in a synctest bubble that the runtime is not part of.
func (h TaskHandle) Wake() bool {
	if h.t == nil || !h.s.mayEnqueue() {
		return false
	}
	m := h.t.word.move(h.gen, taskWake)
	if m.do == taskQueue {
		h.s.enqueue(h.t)
	}
	return m.ok
}

// Abort ends the task. The task is not polled again, and its timer is stopped. Abort does not
// wait: a poll that has started goes on to its end. Abort returns false if the handle is
// stale, so of several calls at most one returns true.
func (h TaskHandle) Abort() bool {
	if h.t == nil {
		return false
	}
	m := h.t.word.move(h.gen, taskAbort)
	if m.do != taskStay {
		h.s.mu.Lock()
		idle := false
		// The slot may have been freed and taken again before this goroutine got the lock.
		if gen, _ := h.t.word.load(); gen == h.gen && !h.s.closed {
			h.s.unarm(h.t)
			if m.do == taskDelete {
				h.s.tasks.put(h.t)
			}
			idle = h.s.armed == 0
		}
		h.s.mu.Unlock()
		if idle {
			h.s.rt.scrubber.start()
		}
	}
	return m.ok
}

// Alive reports whether the task is neither done nor aborted.
func (h TaskHandle) Alive() bool {
	if h.t == nil {
		return false
	}
	gen, s := h.t.word.load()
	return gen == h.gen && s.alive()
}

// A task is a slot for a Task, free or in use.
type task struct {
	word  taskWord
	link  atomic.Uint32 // the index of the next task in a list. Owned by the list that the task is in
	index uint32        // the index of this slot. Does not change
	body  Task          // written by Spawn, and when the slot is freed; both under the shard's lock

	// timer is the wheel entry of the task. It is parked while nothing is armed. It is 0 until
	// it is first needed. Protected by the shard's lock.
	timer wheel.Handle
}

const (
	taskSlabBits = 8
	taskSlabSize = 1 << taskSlabBits
)

// A taskArena has the task slots of a shard, in slabs that do not move. It is protected by
// the shard's lock. Only slabs is read without it, by goroutines that poll.
type taskArena struct {
	slabs  atomic.Pointer[[]*[taskSlabSize]task]
	free   []*task
	count  int // slots in use
	timers int // wheel entries of tasks
}

// at returns the slot with an index. Index 0 is not used: it stands for no task.
func (a *taskArena) at(i uint32) *task {
	return &(*a.slabs.Load())[i>>taskSlabBits][i&(taskSlabSize-1)]
}

// take returns a free slot. Its state is taskGone.
func (a *taskArena) take() *task {
	if len(a.free) == 0 {
		a.grow()
	}
	t := a.free[len(a.free)-1]
	a.free = a.free[:len(a.free)-1]
	a.count++
	return t
}

func (a *taskArena) grow() {
	var slabs []*[taskSlabSize]task
	if old := a.slabs.Load(); old != nil {
		slabs = *old
	}
	slab := new([taskSlabSize]task)
	first := uint32(len(slabs)) << taskSlabBits
	for k := taskSlabSize - 1; k >= 0; k-- {
		slab[k].index = first + uint32(k)
		if slab[k].index != 0 {
			a.free = append(a.free, &slab[k])
		}
	}
	grown := append(slabs[:len(slabs):len(slabs)], slab)
	a.slabs.Store(&grown)
}

// put frees the slot of a task that is gone. It starts a new generation, so that the handles
// of the old task stay stale. A slot whose generations are used up is not used again.
func (a *taskArena) put(t *task) {
	gen, _ := t.word.load()
	t.body = nil
	t.word.set(gen+1, taskGone)
	a.count--
	if gen+1 != 0 {
		a.free = append(a.free, t)
	}
}

// clear ends all tasks. A goroutine that polls one finds out when its Poll returns; until
// then it needs the body.
func (a *taskArena) clear() {
	if slabs := a.slabs.Load(); slabs != nil {
		for _, slab := range *slabs {
			for k := range slab {
				if t := &slab[k]; !t.word.end().polled() {
					t.body = nil
				}
			}
		}
	}
	a.free, a.count, a.timers = nil, 0, 0
}

// unarm stops the timer of a task and frees its wheel entry. The caller holds the lock.
func (s *shard) unarm(t *task) {
	if t.timer == 0 {
		return
	}
	if b := s.w.Value(t.timer); b != nil && b.state == stateArmed {
		s.armed--
	}
	s.w.Cancel(t.timer)
	s.tasks.timers--
	t.timer = 0
}

// rearm arms the timer of a task for a tick. The caller holds the lock. If rearm returns
// true, the caller calls timekeeper.notify after it has unlocked.
func (s *shard) rearm(t *task, at wheel.Tick) (early bool) {
	if t.timer == 0 {
		t.timer = s.w.Reserve(entry{ptr: unsafe.Pointer(t), state: stateIdle, kind: kindTask})
		s.tasks.timers++
	}
	b := s.w.Value(t.timer)
	if b.state == stateIdle {
		b.state = stateArmed
		s.armed++
	}
	b.aux = s.rt.nextSeq()
	s.w.Reschedule(t.timer, at)
	return s.lowerNext(at)
}

// A Context gives a Poll the time and the handle of its task, and takes its requests to be
// polled again. It must not be used after the Poll has returned.
type Context struct {
	s     *shard
	t     *task
	gen   uint32
	now   int64
	want  int64 // when the poll wants the task to be polled again; never: no request
	unset bool  // the poll has called CancelWake

	polls uint64 // polls that the worker has not counted yet
	away  bool   // the polls are not made by the goroutine that runs the worker
}

// polling reports whether a poll has started and not been finished.
func (cx *Context) polling() bool {
	return cx != nil && cx.t != nil
}

// Handle returns the handle of the task. It equals the handle that Spawn has returned.
func (cx *Context) Handle() TaskHandle {
	return TaskHandle{cx.s, cx.t, cx.gen}
}

// Now returns the time since the start of the runtime. It is monotonic, and constant during
// one poll. Now does not read the clock: the worker has read it before the poll.
func (cx *Context) Now() time.Duration {
	return time.Duration(cx.now)
}

// WakeAfter has the task polled after d. The earliest request of a poll counts. It replaces
// the request of earlier polls. The time d starts at the call of WakeAfter, which is a little
// after Now, so that the poll is never early.
func (cx *Context) WakeAfter(d time.Duration) {
	cx.wake(cx.s.rt.add(cx.clock(), d))
}

// WakeAt has the task polled when Now has reached t. Otherwise it is like WakeAfter.
func (cx *Context) WakeAt(t time.Duration) {
	cx.wake(min(max(int64(t), 0), cx.s.rt.last))
}

func (cx *Context) wake(due int64) {
	cx.want = min(cx.want, due)
}

// clock reads the clock. It does not return a time before Now.
func (cx *Context) clock() int64 {
	now, err := cx.s.rt.enter()
	if err != nil {
		panic(err) // the poll has entered another bubble
	}
	return max(now, cx.now)
}

// CancelWake cancels the requests of this poll and of earlier ones, and reports whether there
// was any.
func (cx *Context) CancelWake() bool {
	had := cx.want != never
	cx.want = never
	if cx.unset {
		return had
	}
	cx.unset = true
	s := cx.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if cx.t.timer == 0 {
		return had
	}
	if b := s.w.Value(cx.t.timer); b != nil && b.state == stateArmed {
		b.state = stateIdle
		s.armed--
		s.w.Park(cx.t.timer)
		had = true
	}
	return had
}
