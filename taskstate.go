package foliot

import "sync/atomic"

// A taskState is the state of a task. It is kept in one word with the generation of the slot,
// and changes by compare-and-swap. The goroutine whose compare-and-swap succeeds carries out
// the effect of the move. Because the generation is in the same word, a stale handle cannot
// change the state of a later task in the same slot.
//
//	 Spawn
//	   │
//	   ▼         wake
//	scheduled ◄──────── idle ◄─────── pending ───────┐
//	 │ │  ▲                                          │
//	 │ │  │                                          │   finished
//	 │ └──┼───────────────── take ────────────► executing ──────────► gone
//	 │    │                                          │
//	 │    │                                          │ wake
//	 │    │                                          ▼
//	 │    └──────────────── pending ─────────────  woken
//	 │ abort                                         │ abort
//	 ▼                                               ▼
//	dead ─── take ──► gone      gone ◄── pending, finished ── dying
//
// These moves are not drawn:
//
//	idle       abort      ─► gone
//	executing  abort      ─► dying
//	woken      again      ─► executing
//	woken      finished   ─► gone
//	any        Shutdown   ─► gone
type taskState uint8

const (
	taskGone      taskState = iota // no task: all handles of the slot are stale
	taskIdle                       // waits for a wake or for its timer
	taskScheduled                  // in the ready list
	taskExecuting                  // being polled
	taskWoken                      // being polled, and to be polled again
	taskDying                      // being polled, and aborted
	taskDead                       // in the ready list, and aborted
	numTaskStates
)

// A taskEvent is something that happens to a task.
type taskEvent uint8

const (
	taskWake     taskEvent = iota // Wake, or its timer has expired
	taskTake                      // it was taken from the ready list
	taskPending                   // its Poll has returned Pending
	taskFinished                  // its Poll has returned Done, panicked or called Goexit
	taskAbort                     // Abort
	taskAgain                     // its Poll has returned Pending, and the ready list is empty
	numTaskEvents
)

// A taskEffect is what a goroutine must do after it has made a move.
type taskEffect uint8

const (
	taskStay   taskEffect = iota // nothing
	taskQueue                    // add the task to the ready list
	taskPoll                     // poll the task
	taskUnarm                    // stop its timer and free the wheel entry
	taskDelete                   // the same, and free the slot
)

// A taskMove is what an event does to a task in some state. The zero taskMove means that the
// event cannot happen in that state.
type taskMove struct {
	legal bool
	ok    bool // the result of Wake or Abort
	to    taskState
	do    taskEffect
}

// taskMoves is larger than needed, so that nextTask needs no bounds checks.
var taskMoves = [8][8]taskMove{
	taskGone: {
		taskWake:     {legal: true, to: taskGone},
		taskTake:     {legal: true, to: taskGone}, // the runtime was shut down
		taskPending:  {legal: true, to: taskGone}, // the runtime was shut down while it was polled
		taskFinished: {legal: true, to: taskGone},
		taskAbort:    {legal: true, to: taskGone},
		taskAgain:    {legal: true, to: taskGone},
	},
	taskIdle: {
		taskWake:  {legal: true, ok: true, to: taskScheduled, do: taskQueue},
		taskAbort: {legal: true, ok: true, to: taskGone, do: taskDelete},
	},
	taskScheduled: {
		taskWake:  {legal: true, ok: true, to: taskScheduled},
		taskTake:  {legal: true, to: taskExecuting, do: taskPoll},
		taskAbort: {legal: true, ok: true, to: taskDead, do: taskUnarm},
	},
	taskExecuting: {
		taskWake:     {legal: true, ok: true, to: taskWoken},
		taskPending:  {legal: true, to: taskIdle},
		taskFinished: {legal: true, to: taskGone, do: taskDelete},
		taskAbort:    {legal: true, ok: true, to: taskDying, do: taskUnarm},
		taskAgain:    {legal: true, to: taskExecuting},
	},
	taskWoken: {
		taskWake:     {legal: true, ok: true, to: taskWoken},
		taskPending:  {legal: true, to: taskScheduled, do: taskQueue},
		taskFinished: {legal: true, to: taskGone, do: taskDelete},
		taskAbort:    {legal: true, ok: true, to: taskDying, do: taskUnarm},
		taskAgain:    {legal: true, to: taskExecuting, do: taskPoll},
	},
	taskDying: {
		taskWake:     {legal: true, to: taskDying},
		taskPending:  {legal: true, to: taskGone, do: taskDelete},
		taskFinished: {legal: true, to: taskGone, do: taskDelete},
		taskAbort:    {legal: true, to: taskDying},
		taskAgain:    {legal: true, to: taskDying},
	},
	taskDead: {
		taskWake:  {legal: true, to: taskDead},
		taskTake:  {legal: true, to: taskGone, do: taskDelete},
		taskAbort: {legal: true, to: taskDead},
	},
}

// nextTask returns what an event does to a task in a state.
func nextTask(s taskState, e taskEvent) taskMove {
	return taskMoves[s&7][e&7]
}

// alive reports whether handles of the task are not stale.
func (s taskState) alive() bool {
	return s == taskIdle || s == taskScheduled || s == taskExecuting || s == taskWoken
}

// polled reports whether the task is being polled.
func (s taskState) polled() bool {
	return s == taskExecuting || s == taskWoken || s == taskDying
}

// A taskWord is the generation of a slot and the state of the task in it.
type taskWord struct {
	w atomic.Uint64 // generation<<8 | state
}

func (t *taskWord) load() (gen uint32, s taskState) {
	w := t.w.Load()
	return uint32(w >> 8), taskState(w)
}

// end makes the task in the slot gone, whatever its generation, and returns the state that it
// was in.
func (t *taskWord) end() taskState {
	for {
		w := t.w.Load()
		s := taskState(w)
		if s == taskGone || t.w.CompareAndSwap(w, (w>>8+1)<<8|uint64(taskGone)) {
			return s
		}
	}
}

// set stores a generation and a state. The caller is the only goroutine that may change the
// word: the task is gone, or no other goroutine has its handle yet.
func (t *taskWord) set(gen uint32, s taskState) {
	t.w.Store(uint64(gen)<<8 | uint64(s))
}

// move applies an event to the task of a generation. If the slot has another generation now,
// the task counts as gone.
func (t *taskWord) move(gen uint32, e taskEvent) taskMove {
	for {
		w := t.w.Load()
		s := taskState(w)
		if uint32(w>>8) != gen {
			s = taskGone
		}
		m := nextTask(s, e)
		if m.to == s || t.w.CompareAndSwap(w, uint64(gen)<<8|uint64(m.to)) {
			return m
		}
	}
}
