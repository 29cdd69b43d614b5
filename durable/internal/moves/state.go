// Package moves decides what happens to a timer: the table of moves, the record that a store keeps, and the
// change of a record by each call of a [durable.Store]. It knows nothing of how records are kept.
package moves

// A State is what a timer is in.
//
// A timer has two parts. One is armed: the deadline that comes next. The other is the occurrence that
// has fired last and has no outcome yet: its handler is running, or it waits for the next attempt. A
// timer that is due once has one part or the other. A periodic one may have both, because its next
// occurrence is armed when one fires.
type State uint8

const (
	None          State = iota // there is no timer
	Armed                      // it waits for its deadline
	Handling                   // its handler runs, and nothing is armed
	Retrying                   // it waits for another attempt
	ArmedHandling              // periodic: a handler runs, and the next occurrence is armed
	ArmedRetrying              // periodic: an occurrence waits for another attempt, and the next one is armed
	States
	Illegal = States
)

var stateNames = [States]string{"none", "armed", "handling", "retrying", "armedHandling", "armedRetrying"}

func (s State) String() string { return stateNames[s] }

// An Event is what can happen to a timer.
type Event uint8

const (
	Schedule Event = iota // Schedule or Redrive
	Cancel                // Cancel
	Fire                  // the deadline of a timer has come, and no other follows
	Tick                  // the deadline of a periodic timer has come
	Retry                 // the time of another attempt has come
	Resume                // the process that was handling has ended, and the attempt is repeated
	Done                  // the handler is done
	End                   // the handler is done, and no further occurrence follows
	Again                 // the handler failed, and is called again
	Postpone              // the handler did not begin, and is called again: the attempt does not count
	Yield                 // the handler of a periodic timer failed or did not begin, and the next occurrence comes before another attempt
	Die                   // the handler failed for the last time
	Skip                  // the deadline of a timer that is due once came while no process ran
	SkipTick              // the same of a periodic timer
	Events
)

var eventNames = [Events]string{
	"schedule", "cancel", "fire", "tick", "retry", "resume", "done", "end", "again", "postpone", "yield", "die", "skip", "skipTick",
}

func (e Event) String() string { return eventNames[e] }

// Table has the state after an event. All that is not in it is illegal, and refused: it changes
// nothing.
//
// Cancel is refused while a handler runs and nothing is armed: Cancel returns false then. The end of
// an attempt is refused if the timer was replaced or cancelled: it touches nothing of what came after.
var Table = func() (m [States][Events]State) {
	for s := range m {
		for e := range m[s] {
			m[s][e] = Illegal
		}
	}
	for _, r := range []struct {
		event    Event
		from, to State
	}{
		{Schedule, None, Armed},
		{Schedule, Armed, Armed},
		{Schedule, Handling, Armed},
		{Schedule, Retrying, Armed},
		{Schedule, ArmedHandling, Armed},
		{Schedule, ArmedRetrying, Armed},

		{Cancel, Armed, None},
		{Cancel, Retrying, None},
		{Cancel, ArmedHandling, None},
		{Cancel, ArmedRetrying, None},

		{Fire, Armed, Handling},
		{Fire, ArmedHandling, Handling}, // the older occurrence gets no further attempt
		{Fire, ArmedRetrying, Handling}, // likewise
		{Tick, Armed, ArmedHandling},
		{Tick, ArmedHandling, ArmedHandling},
		{Tick, ArmedRetrying, ArmedHandling},
		{Retry, Retrying, Handling},
		{Retry, ArmedRetrying, ArmedHandling},
		{Resume, Handling, Handling},
		{Resume, ArmedHandling, ArmedHandling},
		{Skip, Armed, None},
		{SkipTick, Armed, Armed},
		{SkipTick, ArmedHandling, ArmedHandling},
		{SkipTick, ArmedRetrying, ArmedRetrying},

		{Done, Handling, None},
		{Done, ArmedHandling, Armed},
		{End, Handling, None},
		{End, ArmedHandling, None},
		{Again, Handling, Retrying},
		{Again, ArmedHandling, ArmedRetrying},
		{Postpone, Handling, Retrying},
		{Postpone, ArmedHandling, ArmedRetrying},
		{Yield, ArmedHandling, Armed},
		{Die, Handling, None},
		{Die, ArmedHandling, Armed},
	} {
		m[r.from][r.event] = r.to
	}
	return m
}()
