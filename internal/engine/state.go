package engine

import "fmt"

// A state is a timer's state. It is read and changed only under the shard's lock, so whoever holds
// the lock decides what happens to the timer. There is no second copy of the state, and no flag that
// is read without the lock. A GoFunc is the one exception: its entry is always in stateOneShot, and
// GoFunc.slot says, under the same lock, whether it is armed. Reading the entry would be the very
// cache miss that a GoFunc exists to avoid.
//
//	          AfterFunc
//	               │
//	     expire    ▼      stop, free
//	free ◄───── oneShot ──────────────► free
//
//	            NewTimer
//	               │
//	               ▼     arm           expire             arm
//	             idle ────────► armed ────────► running ────────► runningArmed
//	               ▲  ◄────────   ▲             │ ▲ ▲   ◄────────  │  │   ▲
//	               │     stop     │             │ │ │      stop    │  │   │
//	               │              └──── done ───┼─┼─┼──────────────┘  │   │ arm
//	               └─────────────────── done ───┘ │ │         expire  │   │
//	                                              │ │                 ▼   │
//	                                              │ └──── stop ── runningDue
//	                                              └──── done: run again ─┘
//
//	             Every
//	               │
//	               ▼   expire, repeat
//	             armed ───────────────► ticking ── expire ──► tickDue ── done: run again, repeat ──► ticking
//
// Not drawn: free leads from every state to the state free, and arm leads from oneShot, armed and
// runningArmed back to the same state. The states ticking and tickDue correspond to runningArmed and
// runningDue; events lead from them to the corresponding states, except that arm leads to
// runningArmed. But it was the timer itself that armed the next tick, so Stop cancels that tick and
// returns false: to the caller, true means that the callback will not run, and it is running or
// about to.
//
// A timer's callback never runs concurrently with itself. If a timer is armed while its callback runs
// and comes due before the callback returns, it waits (runningDue). A one-shot needs no such states,
// because its slot is freed when its callback starts. Kinds of timers differ in their initial state,
// and in which events follow each other while the lock is held:
//
//	AfterFunc, Sleep, contexts, ChanTimer   begin as oneShot: expire
//	NewTimer, queues                        begin idle: expire, and done when the callback returns
//	Every, Ticker                           begin armed: expire and repeat together, done later
//	a task's timer                          begins idle: expire and done together
type state uint8

const (
	stateFree         state = iota // no timer: all handles to the slot are stale
	stateOneShot                   // a one-shot, armed
	stateIdle                      // reusable, not armed
	stateArmed                     // reusable, armed
	stateRunning                   // callback running, timer not armed
	stateRunningArmed              // callback running, timer armed again
	stateRunningDue                // callback running, timer armed again and due
	stateTicking                   // callback running, next tick armed by the timer itself
	stateTickDue                   // callback running, next tick due
	numStates
)

// An event is something that happens to a timer.
type event uint8

const (
	eventArm    event = iota // Reset, ResetAt
	eventStop                // Stop
	eventFree                // Free
	eventExpire              // the deadline has passed, and the wheel popped the timer
	eventDone                // the callback returned
	eventRepeat              // the callback starts, and the next tick is armed
	numEvents
)

// An effect is what a move requires of the goroutine that holds the lock.
type effect uint8

const (
	effectNone       effect = iota // nothing
	effectSchedule                 // put the parked entry into the wheel
	effectReschedule               // move the entry in the wheel, or postpone it
	effectPark                     // take the entry out of the wheel but keep its slot
	effectForget                   // cancel an arming that the wheel has already popped
	effectFree                     // free the slot
	effectRun                      // run the callback
	effectFreeAndRun               // free the slot, then run the callback
)

// A move is the result of an event in some state. The zero move stands for an event that cannot
// happen in that state.
type move struct {
	legal bool
	ok    bool // the result of Reset, Stop or Free
	to    state
	do    effect
}

// nextMove returns the move for event e in state s.
func nextMove(s state, e event) move {
	return moves[s&15][e&7]
}

// moves is the transition table. It is larger than necessary so that the masks in nextMove keep every
// index in range, which saves the bounds checks.
var moves = [16][8]move{
	stateFree: {
		eventArm:  {legal: true, to: stateFree},
		eventStop: {legal: true, to: stateFree},
		eventFree: {legal: true, to: stateFree},
		eventDone: {legal: true, to: stateFree}, // freed while it ran
	},
	stateOneShot: {
		eventArm:    {legal: true, ok: true, to: stateOneShot, do: effectReschedule},
		eventStop:   {legal: true, ok: true, to: stateFree, do: effectFree},
		eventFree:   {legal: true, ok: true, to: stateFree, do: effectFree},
		eventExpire: {legal: true, to: stateFree, do: effectFreeAndRun},
	},
	stateIdle: {
		eventArm:  {legal: true, ok: true, to: stateArmed, do: effectSchedule},
		eventStop: {legal: true, to: stateIdle},
		eventFree: {legal: true, ok: true, to: stateFree, do: effectFree},
	},
	stateArmed: {
		eventArm:    {legal: true, ok: true, to: stateArmed, do: effectReschedule},
		eventStop:   {legal: true, ok: true, to: stateIdle, do: effectPark},
		eventFree:   {legal: true, ok: true, to: stateFree, do: effectFree},
		eventExpire: {legal: true, to: stateRunning, do: effectRun},
	},
	stateRunning: {
		eventArm:  {legal: true, ok: true, to: stateRunningArmed, do: effectSchedule},
		eventStop: {legal: true, to: stateRunning},
		eventFree: {legal: true, ok: true, to: stateFree, do: effectFree},
		eventDone: {legal: true, to: stateIdle},

		eventRepeat: {legal: true, to: stateTicking, do: effectSchedule},
	},
	stateRunningArmed: {
		eventArm:    {legal: true, ok: true, to: stateRunningArmed, do: effectReschedule},
		eventStop:   {legal: true, ok: true, to: stateRunning, do: effectPark},
		eventFree:   {legal: true, ok: true, to: stateFree, do: effectFree},
		eventExpire: {legal: true, to: stateRunningDue},
		eventDone:   {legal: true, to: stateArmed},
	},
	stateRunningDue: {
		eventArm:  {legal: true, ok: true, to: stateRunningArmed, do: effectSchedule},
		eventStop: {legal: true, ok: true, to: stateRunning, do: effectForget},
		eventFree: {legal: true, ok: true, to: stateFree, do: effectFree},
		eventDone: {legal: true, to: stateRunning, do: effectRun},
	},
	stateTicking: {
		eventArm:    {legal: true, ok: true, to: stateRunningArmed, do: effectReschedule},
		eventStop:   {legal: true, to: stateRunning, do: effectPark},
		eventFree:   {legal: true, ok: true, to: stateFree, do: effectFree},
		eventExpire: {legal: true, to: stateTickDue},
		eventDone:   {legal: true, to: stateArmed},
	},
	stateTickDue: {
		eventArm:  {legal: true, ok: true, to: stateRunningArmed, do: effectSchedule},
		eventStop: {legal: true, to: stateRunning, do: effectForget},
		eventFree: {legal: true, ok: true, to: stateFree, do: effectFree},
		eventDone: {legal: true, to: stateRunning, do: effectRun},
	},
}

// Sets of states, as bits.
const (
	pendingStates = 1<<stateOneShot | 1<<stateArmed | 1<<stateRunningArmed | 1<<stateRunningDue | 1<<stateTicking | 1<<stateTickDue
	waitingStates = 1<<stateRunningDue | 1<<stateTickDue
)

// pending reports whether the timer is armed, that is, whether there is an arming that has neither
// started the callback nor been stopped.
func (s state) pending() bool { return 1<<s&pendingStates != 0 }

// waiting reports whether the timer is due and waits for its callback to return. Its entry is then
// not in the wheel, and its deadline is the tick with which it was popped.
func (s state) waiting() bool { return 1<<s&waitingStates != 0 }

// move changes an entry's state on an event that may be illegal, and returns the move. (The events
// arm, stop and free are legal in every state.) The caller holds the lock and carries out the effect.
func (s *Shard) move(e *entry, ev event) move {
	m := nextMove(e.state, ev)
	if !m.legal {
		m = s.illegal(e.state, ev)
	}
	e.state = m.to
	return m
}

// panicIfIllegal is set by the engine's tests.
var panicIfIllegal bool

// illegal returns the move for an event that cannot happen in state st, which means that the engine
// has a defect. The move changes nothing, so that the defect does no further harm. Tests panic;
// otherwise illegal moves are counted, and the first one is logged.
//
//go:noinline
func (s *Shard) illegal(st state, ev event) move {
	if panicIfIllegal {
		panic(fmt.Sprintf("event %d in state %d", ev, st))
	}
	if s.eng.illegalMoves.Add(1) == 1 {
		s.after |= afterIllegal
	}
	return move{to: st}
}

// reportIllegal logs the first illegal move.
func (eng *Engine) reportIllegal() {
	eng.event("foliot: a timer or a task was in a state that is not possible; please report this defect")
}
