package foliot

import (
	"fmt"
	"testing"
)

// A mutant is a table of moves that is wrong in one place.
type mutant struct {
	s state
	e event
	m move
}

func (m mutant) String() string {
	return fmt.Sprintf("%s in state %s: ok %t, to %s, effect %d", eventNames[m.e], stateNames[m.s], m.m.ok, stateNames[m.m.to], m.m.do)
}

// essence returns of a move what makes a difference to the shard. Two moves of the same essence do the same.
func essence(s state, e event, m move) move {
	if e == expire || e == done {
		m.ok = false // nobody is answered
	}
	switch {
	case e == arm && m.do == file && s.pending():
		m.do = refile // which files what is parked, and counts no new arming
	case e == arm && m.do != file && m.do != refile:
		m.do = stay
	case e == stop || e == release:
		// Only these are heeded, and where the wheel has no entry there is none to take off.
		if m.do != drop && (m.do != park || meaning[s].arming != filed) {
			m.do = stay
		}
	case e == expire && m.do != stay && m.do != runDrop, e == done && m.do == run:
		m.do = run
	case e == done:
		m.do = stay
	}
	if m.do == drop || m.do == runDrop {
		m.to = free // the state goes with the slot
	}
	return m
}

// mutants returns every table that has another answer, another state or another effect in one place, and another essence.
// Nobody asks the table about a free slot: its handles are stale.
func mutants() (all []mutant) {
	eachMove(func(s state, e event, m move) {
		if !m.legal || s == free {
			return
		}
		add := func(wrong move) {
			if essence(s, e, wrong) != essence(s, e, m) {
				all = append(all, mutant{s, e, wrong})
			}
		}
		add(move{m.legal, !m.ok, m.to, m.do})
		for to := range numStates {
			add(move{m.legal, m.ok, to, m.do})
		}
		for do := range runDrop + 1 {
			add(move{m.legal, m.ok, m.to, do})
		}
	})
	return all
}

// find returns what a walk finds wrong with a table.
func (m mutant) find(scenes []scene) error {
	right := moves
	defer func() { moves = right }()
	moves[m.s][m.e] = m.m
	for _, ordered := range []bool{false, true} {
		y := newYard(ordered)
		for _, s := range scenes {
			if _, err := y.walk(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestTheWalkFindsEveryWrongMove(t *testing.T) {
	all := mutants()
	if len(all) < 100 {
		t.Fatalf("there are just %d mutants", len(all))
	}
	scenes := scenes()
	for i := 0; i < len(all); i += stride() {
		if all[i].find(scenes) == nil {
			t.Errorf("nothing found wrong with %v", all[i])
		}
	}
	t.Logf("%d mutants", len(all))
}
