package kvstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

// tableOfMoves is the table as a reader wants to see it: a row for each event, a column for each state.
// A dot is an illegal move.
const tableOfMoves = `
          none   armed          handling  retrying  armedHandling  armedRetrying
schedule  armed  armed          armed     armed     armed          armed
cancel    .      none           .         none      none           none
fire      .      handling       .         .         .              .
tick      .      armedHandling  .         .         armedHandling  armedHandling
retry     .      .              .         handling  .              armedHandling
resume    .      .              handling  .         armedHandling  .
done      .      .              none      .         armed          .
again     .      .              retrying  .         armedRetrying  .
yield     .      .              .         .         armed          .
die       .      .              none      .         armed          .
skip      .      none           .         .         .              .
skipTick  .      armed          .         .         armedHandling  armedRetrying
`

func TestTheTableOfMoves(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(tableOfMoves), "\n")
	columns := strings.Fields(rows[0])
	if len(rows) != int(events)+1 || len(columns) != int(states) {
		t.Fatalf("the table has %d rows and %d columns, want %d and %d", len(rows)-1, len(columns), events, states)
	}
	for e := range events {
		fields := strings.Fields(rows[e+1])
		if fields[0] != e.String() {
			t.Fatalf("row %d is %s, want %s", e, fields[0], e)
		}
		for s := range states {
			got := "."
			if to := moves[s][e]; to != illegal {
				got = to.String()
			}
			if columns[s] != s.String() || got != fields[s+1] {
				t.Errorf("%s in state %s leads to %s, and the table says %s", e, s, got, fields[s+1])
			}
		}
	}
}

// facts say what a state means, in other words than the table.
type facts struct {
	armed   bool // a deadline comes next
	running bool // an occurrence has fired, and its handler runs
	waiting bool // an occurrence has fired, and waits for another attempt
}

const (
	noTimer    = "there is no timer"
	noneArmed  = "no deadline is armed"
	noAttempt  = "no attempt is running that could end"
	noRetry    = "no occurrence waits for another attempt"
	once       = "a timer that is due once is not armed while an occurrence has no outcome"
	notOnce    = "only periodic timers are armed while an occurrence has no outcome"
	noNextOne  = "no next occurrence is armed that it could give way to"
	isHandled  = "what is handled is not armed any more: Cancel returns false"
	notCut     = "no handler was running when the process ended"
	overlapped = "an attempt is running, and those of one occurrence do not overlap"
)

var machine = testkit.Machine[state, event, uint8, facts]{
	States: stateNames[:],
	Events: eventNames[:],
	Move: func(s state, e event) testkit.Move[state, uint8] {
		if moves[s][e] == illegal {
			return testkit.Move[state, uint8]{}
		}
		return testkit.Move[state, uint8]{Legal: true, OK: true, To: moves[s][e]}
	},
	Impossible: map[state]map[event]string{
		none: {
			cancel: noTimer, fire: noTimer, tick: noTimer, retry: noTimer, resume: noTimer, done: noTimer,
			again: noTimer, yield: noTimer, die: noTimer, skip: noTimer, skipTick: noTimer,
		},
		armed: {retry: noRetry, resume: notCut, done: noAttempt, again: noAttempt, yield: noAttempt, die: noAttempt},
		handling: {
			cancel: isHandled, fire: noneArmed, tick: noneArmed, retry: overlapped, yield: noNextOne,
			skip: noneArmed, skipTick: noneArmed,
		},
		retrying: {
			fire: noneArmed, tick: noneArmed, resume: notCut, done: noAttempt, again: noAttempt, yield: noAttempt,
			die: noAttempt, skip: noneArmed, skipTick: once,
		},
		armedHandling: {fire: notOnce, retry: overlapped, skip: notOnce},
		armedRetrying: {
			fire: notOnce, resume: notCut, done: noAttempt, again: noAttempt, yield: noAttempt, die: noAttempt, skip: notOnce,
		},
	},
	Facts: []facts{
		none:          {},
		armed:         {armed: true},
		handling:      {running: true},
		retrying:      {waiting: true},
		armedHandling: {armed: true, running: true},
		armedRetrying: {armed: true, waiting: true},
	},
	Outcome: outcomeOf,
	Effect:  func(_, _ facts, _ event, _ bool) uint8 { return 0 },
}

// outcomeOf returns what an event does, derived from the facts.
func outcomeOf(f facts, e event) (to facts, ok, starts bool) {
	to = f
	switch e {
	case schedule:
		to = facts{armed: true}
	case cancel, skip:
		to = facts{}
	case fire:
		to = facts{running: true}
	case tick:
		to = facts{armed: true, running: true}
	case retry:
		to.running, to.waiting = true, false
	case again:
		to.running, to.waiting = false, true
	case done, yield, die:
		to.running = false
	}
	return to, true, false
}

func TestEveryMoveIsLegalOrImpossibleForAReason(t *testing.T) {
	if err := machine.CheckLegal(); err != nil {
		t.Error(err)
	}
}

func TestEveryMoveIsWhatItsEventMeans(t *testing.T) {
	if err := machine.CheckMoves(); err != nil {
		t.Error(err)
	}
}

func TestTheStatesSayWhatTheyMean(t *testing.T) {
	for s := range states {
		f := machine.Facts[s]
		got := fmt.Sprint(s.hasOccurrence(), s.hasBoth(), s.isHandling(), s.isArmed())
		want := fmt.Sprint(f.running || f.waiting, f.armed && (f.running || f.waiting), f.running, f.armed || f.waiting)
		if got != want {
			t.Errorf("state %s has an occurrence, has both, is handling, is armed: %s, want %s", s, got, want)
		}
	}
}

func TestEveryStateLeadsToEveryOther(t *testing.T) {
	for from := range states {
		reached := map[state]bool{from: true}
		for range states {
			for s := range states {
				for e := range events {
					if to := moves[s][e]; reached[s] && to != illegal {
						reached[to] = true
					}
				}
			}
		}
		if len(reached) != int(states) {
			t.Errorf("state %s leads to %d states, want %d", from, len(reached), states)
		}
	}
}
