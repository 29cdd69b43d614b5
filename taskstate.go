package foliot

import "sync/atomic"

// A task is in one of these states. They are kept in one word with the generation of the
// slot, and change by compare-and-swap: whoever wins it has decided, and does what the
// move says. The generation in the same word is what keeps a stale handle from hitting
// the successor in the slot.
//
//	 Spawn        wake, or the poll's own             take            finished
//	   │        ┌────────────────────────┐  ┌────────────────────┐  ┌──────────► gone
//	   ▼        │                        ▼  │                    ▼  │
//	scheduled ◄─┤ idle ─── expire ──────────────────────────► executing
//	   │        │   ▲                                          │   │  wake, expire
//	   │        │   └────────────── pending ───────────────────┘   ▼
//	   │        └────────────────── pending ────────────────────  woken
//	   │ abort                                                     │ abort
//	   ▼                                                           ▼
//	 dead ─── take ──► gone                  gone ◄── pending, finished ── dying
//
// An idle task that is aborted is gone at once.
type taskState uint8

const (
	taskGone      taskState = iota // no task: all handles of the slot are stale
	taskIdle                       // waits for a wake or its timer
	taskScheduled                  // in a list of tasks to be polled
	taskExecuting                  // being polled
	taskWoken                      // being polled, and to be polled again
	taskDying                      // being polled, and aborted
	taskDead                       // in a list of tasks to be polled, and aborted
	numTaskStates
)

// A taskEvent is what can befall a task.
type taskEvent uint8

const (
	taskWake     taskEvent = iota // Wake
	taskTake                      // its turn in the list has come
	taskExpire                    // its timer has expired
	taskPending                   // its Poll has returned Pending
	taskFinished                  // its Poll has returned Done, panicked or called Goexit
	taskAbort                     // Abort
	taskAgain                     // its Poll has returned Pending, and nobody else is to be polled
	numTaskEvents
)

// A taskEffect is what the winner of a move has to do.
type taskEffect uint8

const (
	taskStay   taskEffect = iota // nothing
	taskQueue                    // append the task to the list of those to be polled
	taskPoll                     // poll it
	taskUnarm                    // take its timer away
	taskDelete                   // take its timer away and give the slot back
)

// A taskMove is what an event does to a task in some state. The zero move is one that
// cannot happen.
type taskMove struct {
	legal bool
	ok    bool // what Wake or Abort answers
	to    taskState
	do    taskEffect
}

// taskMoves has room to spare so that no index can be out of range.
var taskMoves = [8][8]taskMove{
	taskGone: {
		taskWake:     {legal: true, to: taskGone},
		taskTake:     {legal: true, to: taskGone}, // the runtime was shut down
		taskExpire:   {legal: true, to: taskGone}, // it was aborted after its timer was popped
		taskPending:  {legal: true, to: taskGone}, // the runtime was shut down while it was polled
		taskFinished: {legal: true, to: taskGone},
		taskAbort:    {legal: true, to: taskGone},
		taskAgain:    {legal: true, to: taskGone},
	},
	taskIdle: {
		taskWake:   {legal: true, ok: true, to: taskScheduled, do: taskQueue},
		taskExpire: {legal: true, to: taskExecuting, do: taskPoll},
		taskAbort:  {legal: true, ok: true, to: taskGone, do: taskDelete},
	},
	taskScheduled: {
		taskWake:   {legal: true, ok: true, to: taskScheduled},
		taskTake:   {legal: true, to: taskExecuting, do: taskPoll},
		taskExpire: {legal: true, to: taskScheduled},
		taskAbort:  {legal: true, ok: true, to: taskDead, do: taskUnarm},
	},
	taskExecuting: {
		taskWake:     {legal: true, ok: true, to: taskWoken},
		taskExpire:   {legal: true, to: taskWoken},
		taskPending:  {legal: true, to: taskIdle},
		taskFinished: {legal: true, to: taskGone, do: taskDelete},
		taskAbort:    {legal: true, ok: true, to: taskDying, do: taskUnarm},
		taskAgain:    {legal: true, to: taskExecuting},
	},
	taskWoken: {
		taskWake:     {legal: true, ok: true, to: taskWoken},
		taskExpire:   {legal: true, to: taskWoken},
		taskPending:  {legal: true, to: taskScheduled, do: taskQueue},
		taskFinished: {legal: true, to: taskGone, do: taskDelete},
		taskAbort:    {legal: true, ok: true, to: taskDying, do: taskUnarm},
		taskAgain:    {legal: true, to: taskExecuting, do: taskPoll},
	},
	taskDying: {
		taskWake:     {legal: true, to: taskDying},
		taskExpire:   {legal: true, to: taskDying},
		taskPending:  {legal: true, to: taskGone, do: taskDelete},
		taskFinished: {legal: true, to: taskGone, do: taskDelete},
		taskAbort:    {legal: true, to: taskDying},
		taskAgain:    {legal: true, to: taskDying},
	},
	taskDead: {
		taskWake:   {legal: true, to: taskDead},
		taskExpire: {legal: true, to: taskDead},
		taskTake:   {legal: true, to: taskGone, do: taskDelete},
		taskAbort:  {legal: true, to: taskDead},
	},
}

// nextTask says what an event does to a task in a state.
func nextTask(s taskState, e taskEvent) taskMove {
	return taskMoves[s&7][e&7]
}

// alive tells whether handles of the task are good.
func (s taskState) alive() bool {
	return s == taskIdle || s == taskScheduled || s == taskExecuting || s == taskWoken
}

// polled tells whether the task is being polled.
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

// end makes whatever task there is gone, and returns what it was.
func (t *taskWord) end() taskState {
	for {
		w := t.w.Load()
		s := taskState(w)
		if s == taskGone || t.w.CompareAndSwap(w, (w>>8+1)<<8|uint64(taskGone)) {
			return s
		}
	}
}

// set is for the owner of a slot that nobody else can know of.
func (t *taskWord) set(gen uint32, s taskState) {
	t.w.Store(uint64(gen)<<8 | uint64(s))
}

// move lets an event befall the task of a generation. If the slot has another one by
// now, that is a task that is gone.
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
