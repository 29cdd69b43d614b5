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
	sort   sort
	last   bool         // the next occurrence of a timer with ByNext is the last one
	fire   durable.Fire // the last one
	stop   func()
}

const (
	moveID     = "x"
	movePeriod = time.Hour
	movePause  = time.Minute // until the next attempt
)

type noWatcher struct{}

func (noWatcher) Wake(durable.Wake)   {}
func (noWatcher) Gone(string)         {}
func (noWatcher) Handles(string) bool { return true }
func (noWatcher) HasNext(string) bool { return true }
func (noWatcher) Failed(error)        {}

func newMoveKit(t *testing.T, sort sort) *moveKit {
	k := &moveKit{t: t, engine: NewMemory(), now: time.Unix(1e9, 0), sort: sort}
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
	handled := func(string) bool { return true }
	rules := durable.Rules{Now: k.now, Attempts: -1, Handled: handled, HasNext: handled, Next: k.next}
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

// next is the calendar of timers with ByNext.
func (k *moveKit) next(_ durable.Timer, after time.Time) time.Time {
	if k.last {
		return time.Time{}
	}
	return after.Add(movePeriod)
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
		timer := durable.Timer{ID: moveID, At: k.now.Add(movePeriod), Kind: "k", ByNext: k.sort == byNext}
		if k.sort == every {
			timer.Every = movePeriod
		}
		_, err := k.s.Schedule(k.t.Context(), []durable.Timer{timer}, durable.Condition{})
		return err == nil
	case moves.Cancel:
		ok, err := k.s.Cancel(k.t.Context(), moveID, durable.Condition{})
		if err != nil {
			k.t.Fatal(err)
		}
		return ok
	case moves.Fire, moves.Tick:
		k.last = e == moves.Fire
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
	case moves.End:
		return k.ends(durable.End{How: durable.Ended})
	case moves.Again:
		return k.ends(durable.End{How: durable.Again, Retry: k.now.Add(movePause)})
	case moves.Postpone:
		return k.ends(durable.End{How: durable.Postponed, Retry: k.now.Add(movePause)})
	case moves.Yield:
		return k.ends(durable.End{How: durable.Again, Retry: k.now.Add(2 * movePeriod)})
	case moves.Die:
		return k.ends(durable.End{How: durable.Dead, Error: "no use"})
	}
	panic("unreachable")
}

// A sort of timers.
type sort int

const (
	once sort = iota
	every
	byNext
	sorts
)

// wayTo returns events that lead to a state, or nil if a timer of this sort does not get there.
func (s sort) wayTo(state moves.State) []moves.Event {
	switch {
	case state == moves.None:
		return []moves.Event{}
	case state == moves.Armed:
		return []moves.Event{moves.Schedule}
	case state == moves.Handling && s == once:
		return []moves.Event{moves.Schedule, moves.Fire}
	case state == moves.Retrying && s == once:
		return []moves.Event{moves.Schedule, moves.Fire, moves.Again}
	case state == moves.ArmedHandling && s != once:
		return []moves.Event{moves.Schedule, moves.Tick}
	case state == moves.ArmedRetrying && s != once:
		return []moves.Event{moves.Schedule, moves.Tick, moves.Again}
	}
	return nil
}

// has reports whether an event happens to timers of this sort.
func (s sort) has(e moves.Event) bool {
	switch e {
	case moves.Tick, moves.SkipTick, moves.Yield:
		return s != once
	case moves.Fire:
		return s != every
	case moves.Skip:
		return s == once
	}
	return true
}

func TestTheStoreMakesEveryMoveOfTheTable(t *testing.T) {
	var made [moves.States][moves.Events]bool
	for from := range moves.States {
		for sort := range sorts {
			way := sort.wayTo(from)
			for e := range moves.Events {
				to := moves.Table[from][e]
				if way == nil || to == moves.Illegal || !sort.has(e) {
					continue
				}
				k := newMoveKit(t, sort)
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
				made[from][e] = true
				k.reopen() // what is kept has the same state
				if got := k.state(); got != to {
					t.Errorf("%s in state %s leads to %s after reopening, want %s", e, from, got, to)
				}
			}
		}
	}
	for from := range moves.States {
		for e := range moves.Events {
			if legal := moves.Table[from][e] != moves.Illegal; legal != made[from][e] {
				t.Errorf("%s in state %s: legal is %v, and it was made: %v", e, from, legal, made[from][e])
			}
		}
	}
}

func TestTheStoreRefusesEveryIllegalMove(t *testing.T) {
	refused := map[string]bool{}
	for from := range moves.States {
		for sort := range sorts {
			way := sort.wayTo(from)
			for e := range moves.Events {
				if way == nil || moves.Table[from][e] != moves.Illegal || otherEventHappens(from, e) {
					continue
				}
				k := newMoveKit(t, sort)
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
