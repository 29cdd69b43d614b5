package foliot

import (
	"time"

	"github.com/foliot-go/foliot/internal/engine"
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
	s := rt.eng.LockShard()
	if err := s.RefusesItems(); err != nil {
		s.Unlock()
		return TaskHandle{}, err
	}
	p := tasksOf(s).take()
	p.body = t
	gen, _ := p.word.load()
	p.word.set(gen, taskScheduled)
	s.Unlock()
	enqueue(s, p)
	return TaskHandle{s, p, gen}, nil
}

// A TaskHandle names a task. It becomes stale when the task is done or aborted, and stays
// stale when the memory of the task is used for another one. It is a plain value that can be
// copied and compared. The zero TaskHandle names no task. Its methods may be called from any
// goroutine, also from a Poll.
type TaskHandle struct {
	s   *engine.Shard
	t   *task
	gen uint32
}

// Wake has the task polled soon. Several wakes before a poll lead to one poll. A wake during
// a poll leads to another poll after it. Wake returns false, and does nothing, if the handle
// is stale. It may also do so in a synctest bubble that the runtime is not part of.
func (h TaskHandle) Wake() bool {
	if h.t == nil || !h.s.MayAnnounce() {
		return false
	}
	m := h.t.word.move(h.gen, taskWake)
	if m.do == taskQueue {
		enqueue(h.s, h.t)
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
		h.s.Lock()
		idle := false
		// The slot may have been freed and taken again before this goroutine got the lock.
		if gen, _ := h.t.word.load(); gen == h.gen && !h.s.Closed() {
			freeTimer(h.s, h.t)
			if m.do == taskDelete {
				tasksOf(h.s).put(h.t)
			}
			idle = h.s.Idle()
		}
		h.s.Unlock()
		if idle {
			h.s.Rest()
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

// A Context gives a Poll the time and the handle of its task, and takes its requests to be
// polled again. It must not be used after the Poll has returned.
type Context struct {
	s        *engine.Shard
	t        *task // nil: no poll is running
	gen      uint32
	now      int64
	want     int64 // when the poll wants the task to be polled again; engine.Never: no request
	canceled bool  // the poll has called CancelWake
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
	cx.wake(cx.s.Engine().Add(cx.clock(), d))
}

// WakeAt has the task polled when Now has reached t. Otherwise it is like WakeAfter.
func (cx *Context) WakeAt(t time.Duration) {
	cx.wake(min(max(int64(t), 0), cx.s.Engine().Last()))
}

func (cx *Context) wake(due int64) {
	cx.want = min(cx.want, due)
}

// clock reads the clock. It does not return a time before Now.
func (cx *Context) clock() int64 {
	now, err := cx.s.Engine().Enter()
	if err != nil {
		panic(err) // the poll has entered another bubble
	}
	return max(now, cx.now)
}

// CancelWake cancels the requests of this poll and of earlier ones, and reports whether there
// was any.
func (cx *Context) CancelWake() bool {
	had := cx.want != engine.Never
	cx.want = engine.Never
	if cx.canceled {
		return had
	}
	cx.canceled = true
	cx.s.Lock()
	defer cx.s.Unlock()
	return cx.t.timer != 0 && cx.s.StopItem(cx.t.timer) || had
}
