package testkit

import (
	"errors"
	"fmt"
)

// A Machine is a state machine: a table of moves, and what its states and events mean. The
// methods compare the two. S, E and D are the types of its states, events and effects. F are the
// facts that describe a state in other words than the table does.
type Machine[S, E, D ~uint8, F comparable] struct {
	States []string // the name of each state
	Events []string // the name of each event

	// Move returns the move of the table for an event in a state.
	Move func(s S, e E) Move[S, D]

	// Impossible says which events cannot happen in a state, and why.
	Impossible map[S]map[E]string

	// Facts are the facts of each state.
	Facts []F

	// Outcome returns what an event does, derived from the facts: the facts afterwards, the
	// result of the event, and whether it starts something.
	Outcome func(from F, e E) (to F, ok, starts bool)

	// Effect returns the effect that leads from one set of facts to another.
	Effect func(from, to F, e E, starts bool) D

	First []S // the states that a new thing can be in
	Last  S   // the state that everything ends in. No other state follows it
}

// A Move is the move of a table for an event in a state. The zero Move stands for an event that
// cannot happen in that state.
type Move[S, D ~uint8] struct {
	Legal bool
	OK    bool // the result of the event
	To    S    // the next state
	Do    D    // what must be done
}

// CheckLegal returns an error unless each event is either legal in a state or impossible for a
// reason.
func (m *Machine[S, E, D, F]) CheckLegal() error {
	return m.each(func(name string, s S, e E, move Move[S, D]) error {
		why, impossible := m.Impossible[s][e]
		switch {
		case move.Legal && impossible:
			return fmt.Errorf("%s is legal, but %s", name, why)
		case !move.Legal && !impossible:
			return fmt.Errorf("%s is not legal, and no reason is given", name)
		case !move.Legal && move != Move[S, D]{}:
			return fmt.Errorf("%s is not legal, but its move is not zero: %+v", name, move)
		}
		return nil
	})
}

// CheckMoves returns an error unless each legal move is the one that follows from the facts.
func (m *Machine[S, E, D, F]) CheckMoves() error {
	return m.each(func(name string, s S, e E, move Move[S, D]) error {
		if !move.Legal {
			return nil
		}
		from, got := m.Facts[s], m.Facts[move.To]
		to, ok, starts := m.Outcome(from, e)
		if got != to {
			return fmt.Errorf("%s leads to %s, which is %+v, want %+v",
				name, m.States[move.To], got, to)
		}
		want := Move[S, D]{Legal: true, OK: ok, To: move.To, Do: m.Effect(from, to, e, starts)}
		if move != want {
			return fmt.Errorf("%s is %+v, want %+v", name, move, want)
		}
		return nil
	})
}

// CheckReachable returns an error unless each state can be reached from the first states, and
// leads to the last state, and the last state leads to no other.
func (m *Machine[S, E, D, F]) CheckReachable() error {
	var errs []error
	reached := m.reach(m.First...)
	for i, name := range m.States {
		if !reached[i] {
			errs = append(errs, fmt.Errorf("state %s is never reached", name))
		}
		if !m.reach(S(i))[m.Last] {
			errs = append(errs, fmt.Errorf("state %s does not lead to %s", name, m.States[m.Last]))
		}
	}
	for i, yes := range m.reach(m.Last) {
		if yes && S(i) != m.Last {
			errs = append(errs, fmt.Errorf("%s leads to state %s", m.States[m.Last], m.States[i]))
		}
	}
	return errors.Join(errs...)
}

// each calls f for every state and event, and returns all errors of f.
func (m *Machine[S, E, D, F]) each(f func(name string, s S, e E, move Move[S, D]) error) error {
	var errs []error
	for i, state := range m.States {
		for j, event := range m.Events {
			s, e := S(i), E(j)
			errs = append(errs, f(event+" in state "+state, s, e, m.Move(s, e)))
		}
	}
	return errors.Join(errs...)
}

// reach returns which states can be reached from some states. Those are among them.
func (m *Machine[S, E, D, F]) reach(from ...S) []bool {
	reached := make([]bool, len(m.States))
	for len(from) > 0 {
		s := from[0]
		from = from[1:]
		if reached[s] {
			continue
		}
		reached[s] = true
		for e := range m.Events {
			if move := m.Move(s, E(e)); move.Legal {
				from = append(from, move.To)
			}
		}
	}
	return reached
}
