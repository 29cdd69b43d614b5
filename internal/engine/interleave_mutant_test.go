package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
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
	if e == eventExpire || e == eventDone {
		m.ok = false // nobody is answered
	}
	switch {
	case e == eventArm && m.do == effectSchedule && s.pending():
		m.do = effectReschedule // which files what is parked, and counts no new arming
	case e == eventArm && m.do != effectSchedule && m.do != effectReschedule:
		m.do = effectNone
	case e == eventStop || e == eventFree:
		// Only these are heeded, and where the wheel has no entry there is none to take off.
		if m.do != effectFree && (m.do != effectPark || meaning[s].arming != filed) {
			m.do = effectNone
		}
	case e == eventExpire && m.do != effectNone && m.do != effectFreeAndRun, e == eventDone && m.do == effectRun:
		m.do = effectRun
	case e == eventDone:
		m.do = effectNone
	}
	if m.do == effectFree || m.do == effectFreeAndRun {
		m.to = stateFree // the state goes with the slot
	}
	return m
}

// mutants returns every table that has another answer, another state or another effect in one place, and another essence.
// Nobody asks the table about a free slot: its handles are stale.
func mutants() (all []mutant) {
	eachMove(func(s state, e event, m move) {
		if !m.legal || s == stateFree {
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
		for do := range effectFreeAndRun + 1 {
			add(move{m.legal, m.ok, m.to, do})
		}
	})
	return all
}

// find returns what a walk finds wrong with a table.
func (m mutant) find(scenes []timerScenario) error {
	right := moves
	defer func() { moves = right }()
	moves[m.s][m.e] = m.m
	for _, ordered := range []bool{false, true} {
		y := newHarness(ordered)
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
	scenes := timerScenarios()
	for i := 0; i < len(all); i += interleave.Stride() {
		if all[i].find(scenes) == nil {
			t.Errorf("nothing found wrong with %v", all[i])
		}
	}
	t.Logf("%d mutants", len(all))
}
