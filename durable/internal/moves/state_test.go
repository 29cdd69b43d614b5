package moves

import (
	"fmt"
	"math"
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
fire      .      handling       .         .         handling       handling
tick      .      armedHandling  .         .         armedHandling  armedHandling
retry     .      .              .         handling  .              armedHandling
resume    .      .              handling  .         armedHandling  .
done      .      .              none      .         armed          .
end       .      .              none      .         none           .
again     .      .              retrying  .         armedRetrying  .
postpone  .      .              retrying  .         armedRetrying  .
yield     .      .              .         .         armed          .
die       .      .              none      .         armed          .
skip      .      none           .         .         .              .
skipTick  .      armed          .         .         armedHandling  armedRetrying
`

func TestTheTableOfMoves(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(tableOfMoves), "\n")
	columns := strings.Fields(rows[0])
	if len(rows) != int(Events)+1 || len(columns) != int(States) {
		t.Fatalf("the table has %d rows and %d columns, want %d and %d", len(rows)-1, len(columns), Events, States)
	}
	for e := range Events {
		fields := strings.Fields(rows[e+1])
		if fields[0] != e.String() {
			t.Fatalf("row %d is %s, want %s", e, fields[0], e)
		}
		for s := range States {
			got := "."
			if to := Table[s][e]; to != Illegal {
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
	notSkipped = "the last occurrence of a periodic timer is not skipped while an older one has no outcome"
	noNextOne  = "no next occurrence is armed that it could give way to"
	isHandled  = "what is handled is not armed any more: Cancel returns false"
	notCut     = "no handler was running when the process ended"
	overlapped = "an attempt is running, and those of one occurrence do not overlap"
)

var machine = testkit.Machine[State, Event, uint8, facts]{
	States: stateNames[:],
	Events: eventNames[:],
	Move: func(s State, e Event) testkit.Move[State, uint8] {
		if Table[s][e] == Illegal {
			return testkit.Move[State, uint8]{}
		}
		return testkit.Move[State, uint8]{Legal: true, OK: true, To: Table[s][e]}
	},
	Impossible: map[State]map[Event]string{
		None: {
			Cancel: noTimer, Fire: noTimer, Tick: noTimer, Retry: noTimer, Resume: noTimer, Done: noTimer,
			End: noTimer, Again: noTimer, Postpone: noTimer, Yield: noTimer, Die: noTimer, Skip: noTimer, SkipTick: noTimer,
		},
		Armed: {
			Retry: noRetry, Resume: notCut, Done: noAttempt, End: noAttempt, Again: noAttempt, Postpone: noAttempt,
			Yield: noAttempt, Die: noAttempt,
		},
		Handling: {
			Cancel: isHandled, Fire: noneArmed, Tick: noneArmed, Retry: overlapped, Yield: noNextOne,
			Skip: noneArmed, SkipTick: noneArmed,
		},
		Retrying: {
			Fire: noneArmed, Tick: noneArmed, Resume: notCut, Done: noAttempt, End: noAttempt, Again: noAttempt,
			Postpone: noAttempt, Yield: noAttempt, Die: noAttempt, Skip: noneArmed, SkipTick: once,
		},
		ArmedHandling: {Retry: overlapped, Skip: notSkipped},
		ArmedRetrying: {
			Resume: notCut, Done: noAttempt, End: noAttempt, Again: noAttempt, Postpone: noAttempt, Yield: noAttempt,
			Die: noAttempt, Skip: notSkipped,
		},
	},
	Facts: []facts{
		None:          {},
		Armed:         {armed: true},
		Handling:      {running: true},
		Retrying:      {waiting: true},
		ArmedHandling: {armed: true, running: true},
		ArmedRetrying: {armed: true, waiting: true},
	},
	Outcome: outcomeOf,
	Effect:  func(_, _ facts, _ Event, _ bool) uint8 { return 0 },
}

// outcomeOf returns what an event does, derived from the facts.
func outcomeOf(f facts, e Event) (to facts, ok, starts bool) {
	to = f
	switch e {
	case Schedule:
		to = facts{armed: true}
	case Cancel, Skip, End:
		to = facts{}
	case Fire: // an older occurrence gets no further attempt
		to = facts{running: true}
	case Tick:
		to = facts{armed: true, running: true}
	case Retry:
		to.running, to.waiting = true, false
	case Again, Postpone:
		to.running, to.waiting = false, true
	case Done, Yield, Die:
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
	for s := range States {
		f := machine.Facts[s]
		got := fmt.Sprint(s.HasOccurrence(), s.HasBoth(), s.IsHandling(), s.IsArmed())
		want := fmt.Sprint(f.running || f.waiting, f.armed && (f.running || f.waiting), f.running, f.armed || f.waiting)
		if got != want {
			t.Errorf("state %s has an occurrence, has both, is handling, is armed: %s, want %s", s, got, want)
		}
	}
}

func TestEveryStateLeadsToEveryOther(t *testing.T) {
	for from := range States {
		reached := map[State]bool{from: true}
		for range States {
			for s := range States {
				for e := range Events {
					if to := Table[s][e]; reached[s] && to != Illegal {
						reached[to] = true
					}
				}
			}
		}
		if len(reached) != int(States) {
			t.Errorf("state %s leads to %d states, want %d", from, len(reached), States)
		}
	}
}

// TestTheGreatestRecordHasRecordMax encodes a record with the greatest numbers.
func TestTheGreatestRecordHasRecordMax(t *testing.T) {
	const most = math.MaxUint64
	r := Record{
		State: ArmedRetrying, Kind: "k", Every: math.MaxInt64, Payload: math.MaxUint32 >> 3,
		At: math.MinInt64, Rev: most, Missed: most, Series: most - 1,
		Occurrence: Occurrence{At: math.MinInt64, Rev: most, Attempt: math.MaxUint32, Missed: most, RetryAt: math.MinInt64},
	}
	b := r.Append(nil)
	if len(b) > RecordMax+len(r.Kind) {
		t.Errorf("the greatest record has %d bytes, RecordMax is %d", len(b), RecordMax)
	}
	if got, rest, err := DecodeRecord(b); got != r || len(rest) != 0 || err != nil {
		t.Errorf("it is decoded to %+v, with %d more bytes, %v", got, len(rest), err)
	}
}

// TestAnOccurrenceEndsItsSeriesOnly checks which revisions are of the series of a record, also after a store has kept
// only its age.
func TestAnOccurrenceEndsItsSeriesOnly(t *testing.T) {
	for _, tt := range []struct {
		rev  uint64
		want bool
	}{{4, false}, {5, true}, {6, true}, {9, true}, {10, false}, {11, false}} {
		for s := range States {
			r := Record{State: s, Every: 1000, Rev: 10, Series: 5}
			if s == None {
				r = Record{}
			}
			r.Series = r.Rev - uint64(r.Age())
			want := tt.want && s.IsArmed()
			if got := r.EndSeries(tt.rev); got != want || want && r.State != None {
				t.Errorf("in state %s, revision %d ends the series 5 to 10: %t, want %t; then it is %s", s, tt.rev, got, want, r.State)
			}
		}
	}
	old := Record{Rev: 1 << 40, Series: 1}
	if got := old.Age(); got != math.MaxUint32 {
		t.Errorf("the age of a very long series is %d", got)
	}
}
