package kvstore

// A timer has two parts. One is armed: the deadline that comes next. The other is the occurrence that
// has fired last and has no outcome yet: its handler is running, or it waits for the next attempt. A
// timer that is due once has one part or the other. A periodic one may have both, because its next
// occurrence is armed when one fires.
type state uint8

const (
	none          state = iota // there is no timer
	armed                      // it waits for its deadline
	handling                   // its handler runs, and nothing is armed
	retrying                   // it waits for another attempt
	armedHandling              // periodic: a handler runs, and the next occurrence is armed
	armedRetrying              // periodic: an occurrence waits for another attempt, and the next one is armed
	states
	illegal = states
)

var stateNames = [states]string{"none", "armed", "handling", "retrying", "armedHandling", "armedRetrying"}

func (s state) String() string { return stateNames[s] }

// An event is what can happen to a timer.
type event uint8

const (
	schedule event = iota // Schedule or Redrive
	cancel                // Cancel
	fire                  // the deadline of a timer that is due once has come
	tick                  // the deadline of a periodic timer has come
	retry                 // the time of another attempt has come
	resume                // the process that was handling has ended, and the attempt is repeated
	done                  // the handler is done
	again                 // the handler failed, and is called again
	yield                 // the handler of a periodic timer failed, and the next occurrence comes before another attempt
	die                   // the handler failed for the last time
	skip                  // the deadline of a timer that is due once came while no process ran
	skipTick              // the same of a periodic timer
	events
)

var eventNames = [events]string{
	"schedule", "cancel", "fire", "tick", "retry", "resume", "done", "again", "yield", "die", "skip", "skipTick",
}

func (e event) String() string { return eventNames[e] }

// moves has the state after an event. All that is not in it is illegal, and refused: it changes
// nothing.
//
// Cancel is refused while a handler runs and nothing is armed: Cancel returns false then. The end of
// an attempt is refused if the timer was replaced or cancelled: it touches nothing of what came after.
var moves = func() (m [states][events]state) {
	for s := range m {
		for e := range m[s] {
			m[s][e] = illegal
		}
	}
	for _, r := range []struct {
		event    event
		from, to state
	}{
		{schedule, none, armed},
		{schedule, armed, armed},
		{schedule, handling, armed},
		{schedule, retrying, armed},
		{schedule, armedHandling, armed},
		{schedule, armedRetrying, armed},

		{cancel, armed, none},
		{cancel, retrying, none},
		{cancel, armedHandling, none},
		{cancel, armedRetrying, none},

		{fire, armed, handling},
		{tick, armed, armedHandling},
		{tick, armedHandling, armedHandling}, // the older occurrence gets no further attempt
		{tick, armedRetrying, armedHandling}, // likewise
		{retry, retrying, handling},
		{retry, armedRetrying, armedHandling},
		{resume, handling, handling},
		{resume, armedHandling, armedHandling},
		{skip, armed, none},
		{skipTick, armed, armed},
		{skipTick, armedHandling, armedHandling},
		{skipTick, armedRetrying, armedRetrying},

		{done, handling, none},
		{done, armedHandling, armed},
		{again, handling, retrying},
		{again, armedHandling, armedRetrying},
		{yield, armedHandling, armed},
		{die, handling, none},
		{die, armedHandling, armed},
	} {
		m[r.from][r.event] = r.to
	}
	return m
}()
