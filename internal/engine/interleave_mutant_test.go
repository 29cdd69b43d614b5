package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A mutant is a transition table with one wrong move.
type mutant struct {
	s state
	e event
	m move
}

func (m mutant) String() string {
	return fmt.Sprintf("%s in state %s: ok %t, to %s, effect %d",
		eventNames[m.e], stateNames[m.s], m.m.ok, stateNames[m.m.to], m.m.do)
}

// canonical returns a move that does the same as m for an event in a state. Two moves that do the
// same have the same canonical move.
func canonical(s state, e event, m move) move {
	if e == eventExpire || e == eventDone || e == eventRepeat {
		m.ok = false // no caller looks at it
	}
	switch {
	case e == eventArm || e == eventRepeat:
		// Shard.arm files the entry by any effect. It may postpone it instead, which nobody sees.
		if m.do != effectNone {
			m.do = effectSchedule
		}
	case e == eventStop || e == eventFree:
		// Shard.disarm carries out these two effects only. An entry that is not in the wheel
		// cannot be parked.
		if m.do != effectFree && (m.do != effectPark || meaning[s].arming != inWheel) {
			m.do = effectNone
		}
	case e == eventExpire && m.do != effectNone && m.do != effectFreeAndRun:
		m.do = effectRun
	case e == eventDone && m.do != effectRun:
		m.do = effectNone
	}
	if m.do == effectFree || m.do == effectFreeAndRun {
		m.to = stateFree // the state is lost with the slot
	}
	return m
}

// mutants returns every table in which one move has another result, another state or another
// effect, if that makes a difference. The table is not used for a free slot, because its handles
// are stale.
func mutants() (all []mutant) {
	eachMove(func(s state, e event, m move) {
		if !m.legal || s == stateFree {
			return
		}
		add := func(wrong move) {
			if canonical(s, e, wrong) != canonical(s, e, m) {
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

// find returns the first error that the scenarios find with the wrong table.
func (m mutant) find(scenarios []timerScenario) error {
	right := moves
	defer func() { moves = right }()
	moves[m.s][m.e] = m.m
	for _, ordered := range []bool{false, true} {
		h := newHarness(ordered)
		for _, s := range scenarios {
			if _, err := h.walk(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestTheScenariosOfTimersFindEveryWrongMove(t *testing.T) {
	all := mutants()
	if len(all) < 100 {
		t.Fatalf("there are %d mutants, want at least 100", len(all))
	}
	scenarios := timerScenarios()
	for _, m := range interleave.Each(t, all) {
		if m.find(scenarios) == nil {
			t.Errorf("no scenario finds this wrong move: %v", m)
		}
	}
	t.Logf("%d mutants", len(all))
}
