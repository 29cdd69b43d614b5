package engine

import (
	"fmt"
	"sync/atomic"
)

// A taskState is the state of a task. It shares a word with the slot's generation and changes by
// compare-and-swap; the goroutine whose compare-and-swap succeeds carries out the move's effect.
// Because the generation is in the same word, a stale handle cannot change the state of a later task
// in the same slot, and a wake takes no lock.
//
//	 Spawn              SpawnIdle
//	   │                  │
//	   ▼         wake     ▼
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
	taskGone      taskState = iota // no task: all handles to the slot are stale
	taskIdle                       // waiting for a wake or for its timer
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
	taskWake     taskEvent = iota // Wake, or its timer expired
	taskTake                      // it was taken from the ready list
	taskPending                   // its poll returned Pending
	taskFinished                  // its poll returned Done, panicked or called Goexit
	taskAbort                     // Abort
	taskAgain                     // its poll returned Pending, and no other task is ready
	numTaskEvents
)

// A taskEffect is what a goroutine must do after a move.
type taskEffect uint8

const (
	taskStay   taskEffect = iota // nothing
	taskQueue                    // add the task to the ready list
	taskPoll                     // poll the task
	taskUnarm                    // stop its timer and free the wheel entry
	taskDelete                   // like taskUnarm, and free the slot
)

// A taskMove is what an event does to a task in some state. The zero taskMove means that the event
// cannot happen in that state.
type taskMove struct {
	legal bool
	ok    bool // the result of Wake or Abort
	to    taskState
	do    taskEffect
}

// taskMoves is padded to powers of two, so that nextTask compiles without bounds checks.
var taskMoves = [8][8]taskMove{
	taskGone: {
		taskWake:     {legal: true, to: taskGone},
		taskTake:     {legal: true, to: taskGone}, // the engine was shut down
		taskPending:  {legal: true, to: taskGone}, // the engine was shut down during the poll
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

// nextTask returns what event e does to a task in state s.
func nextTask(s taskState, e taskEvent) taskMove {
	return taskMoves[s&7][e&7]
}

// alive reports whether the task's handles are still valid.
func (s taskState) alive() bool {
	return s == taskIdle || s == taskScheduled || s == taskExecuting || s == taskWoken
}

// polled reports whether the task is being polled.
func (s taskState) polled() bool {
	return s == taskExecuting || s == taskWoken || s == taskDying
}

// A taskWord holds a slot's generation and the state of the task in the slot.
type taskWord struct {
	w atomic.Uint64 // generation<<8 | state
}

func (t *taskWord) load() (gen uint32, s taskState) {
	w := t.w.Load()
	return uint32(w >> 8), taskState(w)
}

// end moves the task to taskGone, whatever its generation, and returns its last state.
func (t *taskWord) end() taskState {
	for {
		w := t.w.Load()
		s := taskState(w)
		if s == taskGone || t.w.CompareAndSwap(w, (w>>8+1)<<8|uint64(taskGone)) {
			return s
		}
	}
}

// set stores a generation and a state. No other goroutine may change the word meanwhile: either the
// task is gone, or nobody else has its handle yet.
func (t *taskWord) set(gen uint32, s taskState) {
	t.w.Store(uint64(gen)<<8 | uint64(s))
}

// move applies an event to the task of generation gen. If the slot has moved on to another
// generation, the task counts as gone. An illegal move changes nothing.
func (t *taskWord) move(gen uint32, e taskEvent) taskMove {
	for {
		w := t.w.Load()
		s := taskState(w)
		if uint32(w>>8) != gen {
			s = taskGone
		}
		m := nextTask(s, e)
		if m.to == s || !m.legal || t.w.CompareAndSwap(w, uint64(gen)<<8|uint64(m.to)) {
			return m
		}
	}
}

// checkTaskMove is called after a move that had no effect, to catch an event that is illegal in the
// task's state. (The events wake and abort are legal in every state.) An illegal move is a bug in the
// engine, and is handled like a timer's: see Shard.illegal.
func (s *Shard) checkTaskMove(m taskMove, t *task, e taskEvent) {
	if !m.legal {
		s.illegalTask(t, e)
	}
}

//go:noinline
func (s *Shard) illegalTask(t *task, e taskEvent) {
	if panicIfIllegal {
		_, state := t.word.load()
		panic(fmt.Sprintf("event %d of a task in state %d", e, state))
	}
	if s.eng.illegalMoves.Add(1) == 1 {
		go s.eng.reportIllegal()
	}
}
