package foliot

// A timer is in one of these states, and moves from one to the next under the lock of
// its shard and nowhere else: whoever holds the lock decides, everyone else has lost.
// There is no second place, no flag read without the lock, that could say otherwise.
//
//	            AfterFunc
//	               │
//	    expire     ▼    stop, release
//	free ◄────── once ──────────────► free
//
//	            NewTimer
//	               │
//	               ▼     arm           expire             arm
//	             idle ────────► armed ────────► running ────────► runningArmed
//	               ▲  ◄──────── │                │ ▲  ◄────────        │    ▲
//	               │    stop    ◄────────────────┼─┼───── done ────────┤    │ arm
//	               └──────────── done ───────────┘ └─ done: run again ─┤    │
//	                                                                   ▼    │
//	            release leads from each of these to free            runningDue
//
// A callback never overlaps itself, so an arming that comes due while the callback of
// the one before still runs waits for its end (runningDue). A one-shot has no such
// states: its slot is given back as its callback starts.
type state uint8

const (
	stateFree         state = iota // no timer: all handles of the slot are stale
	stateOneShot                   // a one-shot, armed
	stateIdle                      // reusable, nothing armed
	stateArmed                     // reusable and armed
	stateRunning                   // the callback runs, nothing armed
	stateRunningArmed              // the callback runs, and the timer is armed again
	stateRunningDue                // the callback runs, and the next arming has come due
	numStates
)

// An event is what can befall a timer.
type event uint8

const (
	eventArm    event = iota // Reset, ResetAt
	eventStop                // Stop
	eventFree                // Free
	eventExpire              // its deadline has passed
	eventDone                // its callback has returned
	numEvents
)

// An effect is what the holder of the lock has to do about a move.
type effect uint8

const (
	effectNone       effect = iota // nothing
	effectSchedule                 // arm the parked entry in the wheel
	effectReschedule               // move the armed entry in the wheel, or note that its deadline is later
	effectPark                     // take the entry off the wheel
	effectForget                   // call off an arming that the wheel has handed out already
	effectFree                     // give the slot back
	effectRun                      // call the callback
	effectFreeAndRun               // give the slot back, then call the callback
)

// A move is what an event does to a timer in some state. The zero move is one that
// cannot happen.
type move struct {
	legal bool
	ok    bool // what Reset, Stop or Free answers
	to    state
	do    effect
}

// next says what an event does to a timer in a state.
func nextMove(s state, e event) move {
	return moves[s&15][e&7]
}

// moves has room to spare so that no index can be out of range.
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

// pending tells whether an arming of the timer has neither run nor been stopped.
func (s state) pending() bool {
	return 1<<s&(1<<stateOneShot|1<<stateArmed|1<<stateRunningArmed|1<<stateRunningDue) != 0
}
