package foliot

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/wheel"
)

// A Task is a small state machine that a worker polls: when it is spawned, when it is
// woken, and when the time has come that it asked for. It takes no goroutine. A task is
// never polled concurrently with itself, and never after Done.
type Task interface {
	// Poll lets the task go on as far as it can. Pending means that it wants to be polled
	// again: upon a Wake, or at the time that it told cx. Poll should not block; if it
	// does, its worker is replaced, as with callbacks.
	Poll(cx *Context) Status
}

// A TaskFunc is a function as a Task.
type TaskFunc func(cx *Context) Status

// Poll calls f.
func (f TaskFunc) Poll(cx *Context) Status { return f(cx) }

// A Status is what a Poll has come to.
type Status uint8

const (
	// Pending means that the task wants to be polled again.
	Pending Status = iota
	// Done means that the task has come to its end. A Poll that panics, with
	// Options.OnPanic, or calls runtime.Goexit has, too.
	Done
)

// Spawn makes a task of t and polls it soon. Tasks do not count for Options.MaxTimers.
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

// refusesTask returns why a shard, which is locked, does not take a task.
func (s *shard) refusesTask() error {
	switch {
	case s.closed:
		return ErrClosed
	case !s.mayEnqueue():
		return errBubble
	}
	return nil
}

// A TaskHandle names a task for ever: it goes stale when the task is done or aborted, and
// stays stale when its slot is used again. It is a plain value, free to copy and to
// compare. The zero TaskHandle names none. Its methods may be called from any goroutine,
// also from a Poll.
type TaskHandle struct {
	s   *shard
	t   *task
	gen uint32
}

// Wake has the task polled soon. Many wakes before the poll are one poll; a wake during a
// poll is another poll after it. It returns false, and does nothing, if the handle is stale,
// or if the call comes from a synctest bubble that the runtime is not part of.
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

// Abort ends the task: it is not polled again, and its timer is gone. It does not wait:
// a poll that has begun may still finish. Of several calls exactly one answers true.
func (h TaskHandle) Abort() bool {
	if h.t == nil {
		return false
	}
	m := h.t.word.move(h.gen, taskAbort)
	if m.do != taskStay {
		h.s.mu.Lock()
		idle := false
		// The slot may have been given back and taken again before the lock was ours.
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

// Alive tells whether the task is neither done nor aborted.
func (h TaskHandle) Alive() bool {
	if h.t == nil {
		return false
	}
	gen, s := h.t.word.load()
	return gen == h.gen && s.alive()
}

// A task is the slot of a task.
type task struct {
	word  taskWord
	link  atomic.Uint32 // the next in a list; owned by the list that the task is in
	index uint32        // the number of this slot; does not change
	body  Task          // written by Spawn, and when the slot is given back

	// timer is the task's entry in the wheel, parked when nothing is armed; 0 until it is
	// first needed. It belongs to the holder of the shard's lock.
	timer wheel.Handle
}

const (
	taskSlabBits = 8
	taskSlabSize = 1 << taskSlabBits
)

// A taskArena has the slots of the tasks of a shard. They are in slabs that do not move.
// The lock of the shard protects it; slabs alone is read without, by those who poll.
type taskArena struct {
	slabs  atomic.Pointer[[]*[taskSlabSize]task]
	free   []*task
	count  int // tasks
	timers int // entries of the wheel that belong to tasks
}

// at returns the slot of a number. Number 0 is none.
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

// put gives back the slot of a task that is gone, or was never there for others to see.
func (a *taskArena) put(t *task) {
	gen, _ := t.word.load()
	t.body = nil
	t.word.set(gen+1, taskGone)
	a.count--
	if gen+1 != 0 {
		a.free = append(a.free, t)
	}
}

// clear makes all tasks gone. Those that are being polled will find out.
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

// unarm takes the timer of a task away. The caller holds the lock.
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

// rearm sets the timer of a task to a tick. The caller holds the lock, and tells the
// timekeeper if rearm answers true.
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

// A Context is what a Poll knows about its task and the time. It is good during that
// poll only.
type Context struct {
	s     *shard
	t     *task
	gen   uint32
	now   int64
	want  int64 // when the poll wants the task to be woken; never: it has not said
	unset bool  // the poll has taken its timer back

	polls uint64 // how many there were that the worker has not counted yet
	away  bool   // the polls are not on the goroutine that runs the worker
}

// polling tells whether a poll is under way.
func (cx *Context) polling() bool {
	return cx != nil && cx.t != nil
}

// Handle returns the handle of the task, the same that Spawn returned.
func (cx *Context) Handle() TaskHandle {
	return TaskHandle{cx.s, cx.t, cx.gen}
}

// Now returns the time on the worker's clock: monotonic, since the start of the runtime,
// and constant within one poll. It costs nothing: the worker has read the clock.
func (cx *Context) Now() time.Duration {
	return time.Duration(cx.now)
}

// WakeAfter has the task polled after d. Within one poll the earliest request wins; it
// replaces what earlier polls have asked for. It counts from this moment, which is a
// little after Now, so that it is never early.
func (cx *Context) WakeAfter(d time.Duration) {
	cx.wake(cx.s.rt.add(cx.clock(), d))
}

// WakeAt has the task polled when Now will be t, like WakeAfter.
func (cx *Context) WakeAt(t time.Duration) {
	cx.wake(min(max(int64(t), 0), cx.s.rt.last))
}

func (cx *Context) wake(due int64) {
	cx.want = min(cx.want, due)
}

// clock reads the clock.
func (cx *Context) clock() int64 {
	now, err := cx.s.rt.enter()
	if err != nil {
		panic(err) // the poll has entered another bubble
	}
	return max(now, cx.now)
}

// CancelWake takes back what this poll and those before have asked for, and tells whether
// there was anything.
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
