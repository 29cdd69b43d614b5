package foliot

import (
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Task is a small state machine that needs no goroutine. A worker polls it when it is spawned,
// when it is woken, and at the time it asked for. A task is never polled concurrently with itself,
// and never after Done.
type Task interface {
	// Poll continues the task until it is done or has to wait. If Poll returns Pending, the task is
	// polled again after a Wake, or at the time that it requested from cx. Poll should not block.
	// If it does, its worker's other timers and tasks wait until another goroutine takes over the
	// worker, usually for a few milliseconds and for less than 50, as with callbacks.
	Poll(cx *Context) Status
}

// A TaskFunc adapts a function to a Task.
type TaskFunc func(cx *Context) Status

// Poll calls f.
func (f TaskFunc) Poll(cx *Context) Status { return f(cx) }

// A Status is the result of a Poll.
type Status uint8

const (
	// Pending means that the task is to be polled again.
	Pending Status = iota
	// Done means that the task is over. A Poll that calls runtime.Goexit, or that panics where
	// Options.OnPanic is set, also ends its task.
	Done
)

// Spawn starts a task, which is polled soon. Tasks do not count toward Options.MaxTimers. Spawn
// returns ErrClosed after Shutdown, and another error if t is nil. It may return an error in a
// synctest bubble that the runtime is not part of.
func (rt *Runtime) Spawn(t Task) (TaskHandle, error) {
	if isNil(t) {
		return TaskHandle{}, errNilTask
	}
	h, err := rt.eng.Spawn(t, poll)
	return TaskHandle{h}, err
}

// SpawnIdle is like [Runtime.Spawn], but the task is not polled until its first [TaskHandle.Wake].
// Use it for a task whose handle must be known before it runs: after Spawn, the first Poll, and
// even the last, may come before the caller has stored the handle where others look for it.
//
//	h, err := rt.SpawnIdle(s)
//	if err != nil {
//		return err
//	}
//	sessions[id] = h // from here on others can wake it; its Poll deletes the entry when it is done
//	h.Wake()
//
// A task that is never woken stays until [TaskHandle.Abort] or Shutdown.
func (rt *Runtime) SpawnIdle(t Task) (TaskHandle, error) {
	if isNil(t) {
		return TaskHandle{}, errNilTask
	}
	h, err := rt.eng.SpawnIdle(t, poll)
	return TaskHandle{h}, err
}

// isNil reports whether there is nothing to poll.
func isNil(t Task) bool {
	f, ok := t.(TaskFunc)
	return t == nil || ok && f == nil
}

// poll is how the engine polls a task.
func poll(body any, cx *engine.TaskContext) (done bool) {
	return body.(Task).Poll((*Context)(cx)) == Done
}

// A TaskHandle names a task. It becomes stale when the task is done or aborted, and stays stale even
// when the task's memory is reused. It is a plain value that can be copied and compared. The zero
// TaskHandle names no task. Its methods may be called from any goroutine, including from a Poll.
type TaskHandle struct {
	h engine.TaskHandle
}

// Wake causes the task to be polled soon. Several wakes before a poll lead to one poll, and a wake
// during a poll leads to another poll after it. Wake does nothing and returns false if the handle
// is stale. It may also do so in a synctest bubble that the runtime is not part of.
func (h TaskHandle) Wake() bool { return h.h.Wake() }

// Abort ends the task: it is not polled again, and its timer is stopped. Abort does not wait for a
// running poll, which continues to its end. It returns false if the handle is stale, so of several
// calls at most one returns true.
func (h TaskHandle) Abort() bool { return h.h.Abort() }

// Alive reports whether the task is neither done nor aborted.
func (h TaskHandle) Alive() bool { return h.h.Alive() }

// A Context tells a Poll the time and its task's handle, and accepts requests for further polls. It
// must not be used after Poll returns.
type Context engine.TaskContext

// base returns the engine's view of the context.
func (cx *Context) base() *engine.TaskContext { return (*engine.TaskContext)(cx) }

// Handle returns the task's handle, which equals the one that Spawn returned.
func (cx *Context) Handle() TaskHandle { return TaskHandle{cx.base().Handle()} }

// Now returns the time since the runtime's start. It is monotonic, and constant during a poll.
// Calling it costs nothing, because the worker read the clock before the poll.
func (cx *Context) Now() time.Duration { return time.Duration(cx.base().Time()) }

// WakeAfter requests a poll after d. Within a poll the earliest request counts, and it replaces the
// request of earlier polls. The delay begins when WakeAfter is called, which is a little after Now,
// so that the poll is never early.
func (cx *Context) WakeAfter(d time.Duration) { cx.base().WakeAt(cx.base().After(d)) }

// WakeAt is like WakeAfter, but requests a poll for when Now reaches t.
func (cx *Context) WakeAt(t time.Duration) { cx.base().WakeAt(int64(t)) }

// CancelWake cancels the requests of this poll and of earlier ones, and reports whether there were
// any.
func (cx *Context) CancelWake() bool { return cx.base().CancelWake() }
