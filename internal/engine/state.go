package engine

// A state is the state of a timer. It is only read and changed with the lock of the timer's
// shard held, so the goroutine that holds the lock decides what happens to the timer. There
// is no other copy of the state, and no flag that is read without the lock. The exception is a
// GoFunc, which is armed if GoFunc.slot is not 0, under the same lock: the entry of one that was
// stopped stays in stateOneShot until it is removed.
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
//	               ▼   expire, arm
//	             armed ────────────► runningArmed, and so on as a timer of NewTimer
//
// Not drawn: the event free leads from every state to the state free, and arm leads from
// oneShot, armed and runningArmed back to the same state.
//
// The callback of a timer never runs concurrently with itself. If a timer is armed while its
// callback runs, and comes due before the callback returns, it waits for the callback to
// return (runningDue). A one-shot needs no such states: its slot is freed when its callback
// starts. A timer of Every is a reusable timer: the goroutine that starts its callback also arms
// it, see repeat. Channel timers and the timers of tasks have no callback and are never in a
// running state.
type state uint8

const (
	stateFree         state = iota // there is no timer: all handles of the slot are stale
	stateOneShot                   // a one-shot, armed
	stateIdle                      // reusable, not armed
	stateArmed                     // reusable and armed
	stateRunning                   // the callback runs, and the timer is not armed
	stateRunningArmed              // the callback runs, and the timer is armed again
	stateRunningDue                // the callback runs, and the timer was armed again and has come due
	numStates
)

// An event is something that happens to a timer.
type event uint8

const (
	eventArm    event = iota // Reset, ResetAt
	eventStop                // Stop
	eventFree                // Free
	eventExpire              // the wheel has popped the timer: its deadline has passed
	eventDone                // its callback has returned
	numEvents
)

// An effect is the action that a move requires of the goroutine that holds the lock.
type effect uint8

const (
	effectNone       effect = iota // nothing
	effectSchedule                 // put the parked entry into the wheel
	effectReschedule               // move the entry in the wheel, or record a later deadline in it
	effectPark                     // take the entry out of the wheel and keep its slot
	effectForget                   // cancel an arming that the wheel has popped already
	effectFree                     // free the slot
	effectRun                      // run the callback
	effectFreeAndRun               // free the slot, then run the callback
)

// A move is the result of an event for a timer in some state. The zero move stands for an
// event that cannot happen in that state.
type move struct {
	legal bool
	ok    bool // the result of Reset, Stop or Free
	to    state
	do    effect
}

// nextMove returns the move for an event in a state.
func nextMove(s state, e event) move {
	return moves[s&15][e&7]
}

// moves is the transition table. It is larger than needed, so that the masks of nextMove keep
// every index in range and no bounds check is needed.
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
}

// pending reports whether the timer is armed: it has an arming that has neither started its
// callback nor been stopped.
func (s state) pending() bool {
	return 1<<s&(1<<stateOneShot|1<<stateArmed|1<<stateRunningArmed|1<<stateRunningDue) != 0
}
