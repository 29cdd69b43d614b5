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
	free         state = iota // no timer: all handles of the slot are stale
	once                      // a one-shot, armed
	idle                      // reusable, nothing armed
	armed                     // reusable and armed
	running                   // the callback runs, nothing armed
	runningArmed              // the callback runs, and the timer is armed again
	runningDue                // the callback runs, and the next arming has come due
	numStates
)

// An event is what can befall a timer.
type event uint8

const (
	arm     event = iota // Reset, ResetAt
	stop                 // Stop
	release              // Free
	expire               // its deadline has passed
	done                 // its callback has returned
	numEvents
)

// An effect is what the holder of the lock has to do about a move.
type effect uint8

const (
	stay    effect = iota // nothing
	file                  // arm the parked entry in the wheel
	refile                // move the armed entry in the wheel, or note that its deadline is later
	park                  // take the entry off the wheel
	forget                // call off an arming that the wheel has handed out already
	drop                  // give the slot back
	run                   // call the callback
	runDrop               // give the slot back, then call the callback
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
func next(s state, e event) move {
	return moves[s&15][e&7]
}

// moves has room to spare so that no index can be out of range.
var moves = [16][8]move{
	free: {
		arm:     {legal: true, to: free},
		stop:    {legal: true, to: free},
		release: {legal: true, to: free},
		done:    {legal: true, to: free}, // freed while it ran
	},
	once: {
		arm:     {legal: true, ok: true, to: once, do: refile},
		stop:    {legal: true, ok: true, to: free, do: drop},
		release: {legal: true, ok: true, to: free, do: drop},
		expire:  {legal: true, to: free, do: runDrop},
	},
	idle: {
		arm:     {legal: true, ok: true, to: armed, do: file},
		stop:    {legal: true, to: idle},
		release: {legal: true, ok: true, to: free, do: drop},
	},
	armed: {
		arm:     {legal: true, ok: true, to: armed, do: refile},
		stop:    {legal: true, ok: true, to: idle, do: park},
		release: {legal: true, ok: true, to: free, do: drop},
		expire:  {legal: true, to: running, do: run},
	},
	running: {
		arm:     {legal: true, ok: true, to: runningArmed, do: file},
		stop:    {legal: true, to: running},
		release: {legal: true, ok: true, to: free, do: drop},
		done:    {legal: true, to: idle},
	},
	runningArmed: {
		arm:     {legal: true, ok: true, to: runningArmed, do: refile},
		stop:    {legal: true, ok: true, to: running, do: park},
		release: {legal: true, ok: true, to: free, do: drop},
		expire:  {legal: true, to: runningDue},
		done:    {legal: true, to: armed},
	},
	runningDue: {
		arm:     {legal: true, ok: true, to: runningArmed, do: file},
		stop:    {legal: true, ok: true, to: running, do: forget},
		release: {legal: true, ok: true, to: free, do: drop},
		done:    {legal: true, to: running, do: run},
	},
}

// pending tells whether an arming of the timer has neither run nor been stopped.
func (s state) pending() bool {
	return 1<<s&(1<<once|1<<armed|1<<runningArmed|1<<runningDue) != 0
}
