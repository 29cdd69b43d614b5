package foliot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
	"github.com/foliot-go/foliot/internal/testkit"
)

// A taskMutant is a transition table with one wrong move.
type taskMutant struct {
	s taskState
	e taskEvent
	m taskMove
}

func (m taskMutant) String() string {
	return fmt.Sprintf("%s in state %s: ok %t, to %s, effect %d",
		taskEventNames[m.e], taskStateNames[m.s], m.m.ok, taskStateNames[m.m.to], m.m.do)
}

// usedEffects are the effects that a goroutine carries out after an event.
var usedEffects = [numTaskEvents][]taskEffect{
	taskWake:     {taskQueue},
	taskTake:     {taskPoll, taskDelete},
	taskPending:  {taskQueue, taskDelete},
	taskFinished: {taskQueue, taskDelete},
	taskAbort:    {taskUnarm, taskDelete},
	taskAgain:    {taskPoll},
}

// canonicalTask returns a move that does the same as m for an event in a state. Two moves that do
// the same have the same canonical move.
func canonicalTask(s taskState, e taskEvent, m taskMove) taskMove {
	m.legal = true
	m.ok = m.ok && (e == taskWake || e == taskAbort)
	switch {
	case e == taskAbort && m.do != taskDelete && m.do != taskStay && s.alive():
		m.do = taskUnarm
	case e == taskAbort && m.do != taskDelete && !s.alive(), !slices.Contains(usedEffects[e], m.do):
		m.do = taskStay
	case m.do == taskDelete && !m.to.alive():
		m.to = taskGone // the state is lost with the slot
	}
	return m
}

// taskMutants returns every table in which one move has another result, another state or another
// effect, or is missing, if that makes a difference.
func taskMutants() (all []taskMutant) {
	eachTaskMove(func(s taskState, e taskEvent, m taskMove) {
		if !m.legal || s == taskGone && e != taskWake && e != taskAbort {
			return
		}
		add := func(wrong taskMove) {
			if canonicalTask(s, e, wrong) != canonicalTask(s, e, m) {
				all = append(all, taskMutant{s, e, wrong})
			}
		}
		add(taskMove{})
		add(taskMove{m.legal, !m.ok, m.to, m.do})
		for to := range numTaskStates {
			add(taskMove{m.legal, m.ok, to, m.do})
		}
		for do := range taskDelete + 1 {
			add(taskMove{m.legal, m.ok, m.to, do})
		}
	})
	return all
}

// find returns the first error that the scenarios find with the wrong table. Similar scenarios are
// next to each other, so it takes them in another order.
func (m taskMutant) find(scenarios []taskScenario) error {
	right := taskMoves
	defer func() { taskMoves = right }()
	taskMoves[m.s][m.e] = m.m
	h := newTaskHarness()
	for i := range scenarios {
		if _, err := h.walk(scenarios[i*397%len(scenarios)]); err != nil {
			return err
		}
	}
	return nil
}

func TestTheScenariosOfTasksFindEveryWrongMove(t *testing.T) {
	if testkit.RaceEnabled {
		t.Skip("the test has only one goroutine, and takes too long with the race detector")
	}
	all := taskMutants()
	if len(all) < 100 {
		t.Fatalf("there are %d mutants, want at least 100", len(all))
	}
	scenarios := taskScenarios()
	for i := 0; i < len(all); i += taskStride() {
		if all[i].find(scenarios) == nil {
			t.Errorf("no scenario finds this wrong move: %v", all[i])
		}
	}
	t.Logf("%d mutants", len(all))
}

func TestTheScenariosOfTasksFindEveryPlantedFault(t *testing.T) {
	scenarios := [numTaskFaults]taskScenario{
		taskSound:       {'S', []interleave.Script{"aswa", "a", "pt"}},
		taskUnarmsAny:   {'S', []interleave.Script{"aswa", "a", "pt"}},
		taskKeepsTimer:  {'S', []interleave.Script{"a", "tp"}},
		taskForgetsWake: {'S', []interleave.Script{"w", "pp"}},
		taskPollsAny:    {'S', []interleave.Script{"a", "pp"}},
	}
	for f, c := range scenarios {
		h := newTaskHarness()
		h.fault = taskFault(f)
		if _, err := h.walk(c); (err == nil) != (h.fault == taskSound) {
			t.Errorf("fault %d: got error %v", f, err)
		}
	}
}
