package kvstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// A moveKit drives one timer of a real store through its states.
type moveKit struct {
	t      *testing.T
	engine *Memory
	s      *Store
	now    time.Time
	every  time.Duration
	fire   durable.Fire // the last one
	stop   func()
}

const (
	moveID     = "x"
	movePeriod = time.Hour
	movePause  = time.Minute // until the next attempt
)

type noWatcher struct{}

func (noWatcher) Wake(durable.Wake) {}
func (noWatcher) Gone(string)       {}
func (noWatcher) Failed(error)      {}

func newMoveKit(t *testing.T, every time.Duration) *moveKit {
	k := &moveKit{t: t, engine: NewMemory(), now: time.Unix(1e9, 0), every: every}
	k.open()
	return k
}

func (k *moveKit) open() {
	s, err := Open(k.engine)
	if err != nil {
		k.t.Fatal(err)
	}
	k.s = s
	k.watch()
}

// watch makes what is armed now armed before the Run.
func (k *moveKit) watch() {
	if k.stop != nil {
		k.stop()
	}
	stop, err := k.s.Watch(noWatcher{})
	if err != nil {
		k.t.Fatal(err)
	}
	k.stop = stop
}

// reopen ends the process that is handling.
func (k *moveKit) reopen() {
	if err := k.s.Close(); err != nil {
		k.t.Fatal(err)
	}
	k.engine, k.stop = k.engine.Reopen(), nil
	k.open()
}

func (k *moveKit) state() moves.State {
	op := k.s.begin(moveID)
	defer op.end()
	r, err := op.read(moveID)
	if err != nil {
		k.t.Fatal(err)
	}
	return r.State
}

// fires calls Fire and reports whether something has happened.
func (k *moveKit) fires(skip bool) bool {
	rules := durable.Rules{Now: k.now, Attempts: -1, Handled: func(string) bool { return true }}
	if skip {
		k.watch()
		rules.SkipBefore = k.now.Add(1)
	}
	fired, err := k.s.Fire([]string{moveID}, rules)
	if err == nil {
		err = fired.Wait()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	if len(fired.Fires) == 1 {
		k.fire = fired.Fires[0]
	}
	return len(fired.Fires)+len(fired.Skipped) == 1
}

// ends calls Finish and reports whether something has happened.
func (k *moveKit) ends(end durable.End) bool {
	before := k.state()
	_, wait, err := k.s.Finish(k.fire, end)
	if err == nil {
		err = wait()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return k.state() != before
}

// do makes an event happen by the calls of the store, and reports whether something has happened.
func (k *moveKit) do(e moves.Event) bool {
	switch e {
	case moves.Schedule:
		_, err := k.s.Schedule(k.t.Context(), []durable.Timer{{ID: moveID, At: k.now.Add(movePeriod), Kind: "k", Every: k.every}}, durable.Condition{})
		return err == nil
	case moves.Cancel:
		ok, err := k.s.Cancel(k.t.Context(), moveID, durable.Condition{})
		if err != nil {
			k.t.Fatal(err)
		}
		return ok
	case moves.Fire, moves.Tick:
		k.now = k.now.Add(movePeriod)
		return k.fires(false)
	case moves.Skip, moves.SkipTick:
		k.now = k.now.Add(movePeriod)
		return k.fires(true)
	case moves.Retry:
		k.now = k.now.Add(movePause)
		return k.fires(false)
	case moves.Resume:
		k.reopen()
		return k.fires(false)
	case moves.Done:
		return k.ends(durable.End{How: durable.Done})
	case moves.Again:
		return k.ends(durable.End{How: durable.Again, Retry: k.now.Add(movePause)})
	case moves.Yield:
		return k.ends(durable.End{How: durable.Again, Retry: k.now.Add(2 * movePeriod)})
	case moves.Die:
		return k.ends(durable.End{How: durable.Dead, Error: "no use"})
	}
	panic("unreachable")
}

// waysTo are events that lead to each state, for a timer that is due once and for a periodic one. nil: it
// does not get there.
var waysTo = [moves.States][2][]moves.Event{
	moves.None:          {{}, {}},
	moves.Armed:         {{moves.Schedule}, {moves.Schedule}},
	moves.Handling:      {{moves.Schedule, moves.Fire}, nil},
	moves.Retrying:      {{moves.Schedule, moves.Fire, moves.Again}, nil},
	moves.ArmedHandling: {nil, {moves.Schedule, moves.Tick}},
	moves.ArmedRetrying: {nil, {moves.Schedule, moves.Tick, moves.Again}},
}

func TestTheStoreMakesEveryMoveOfTheTable(t *testing.T) {
	made := 0
	for from := range moves.States {
		for periodic, way := range waysTo[from] {
			for e := range moves.Events {
				to := moves.Table[from][e]
				isPeriodic := e == moves.Tick || e == moves.SkipTick || e == moves.Yield
				isOnce := e == moves.Fire || e == moves.Skip
				if way == nil || to == moves.Illegal || isPeriodic && periodic == 0 || isOnce && periodic == 1 {
					continue
				}
				k := newMoveKit(t, time.Duration(periodic)*movePeriod)
				for _, e := range way {
					k.do(e)
				}
				if got := k.state(); got != from {
					t.Fatalf("%v lead to state %s, want %s", way, got, from)
				}
				k.do(e)
				if got := k.state(); got != to {
					t.Errorf("%s in state %s leads to %s, want %s", e, from, got, to)
				}
				made++
				k.reopen() // what is kept has the same state
				if got := k.state(); got != to {
					t.Errorf("%s in state %s leads to %s after reopening, want %s", e, from, got, to)
				}
			}
		}
	}
	legal := 0
	for s := range moves.States {
		for e := range moves.Events {
			if moves.Table[s][e] != moves.Illegal {
				legal++
			}
		}
	}
	if both := 3; made != legal+both { // schedule of none and armed, and cancel of armed, for both sorts of timers
		t.Errorf("%d moves were made, want %d", made, legal+both)
	}
}

func TestTheStoreRefusesEveryIllegalMove(t *testing.T) {
	refused := map[string]bool{}
	for from := range moves.States {
		for periodic, way := range waysTo[from] {
			for e := range moves.Events {
				if way == nil || moves.Table[from][e] != moves.Illegal || otherEventHappens(from, e) {
					continue
				}
				k := newMoveKit(t, time.Duration(periodic)*movePeriod)
				for _, e := range way {
					k.do(e)
				}
				if k.do(e) || k.state() != from {
					t.Errorf("%s in state %s leads to %s, and must be refused", e, from, k.state())
				}
				refused[fmt.Sprint(e, from)] = true
			}
		}
	}
	if len(refused) < 25 {
		t.Errorf("only %d illegal moves were tried", len(refused))
	}
}

// otherEventHappens reports whether the calls that make an event happen make another one happen in a
// state, which is legal: time passes, and all that is due happens; without a next occurrence, yield is
// again.
func otherEventHappens(s moves.State, e moves.Event) bool {
	switch e {
	case moves.Fire, moves.Skip, moves.Tick, moves.SkipTick:
		return s != moves.None && s != moves.Handling
	case moves.Yield:
		return s == moves.Handling
	}
	return false
}
