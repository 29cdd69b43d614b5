package engine

import (
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// taskFacts say what a state of a task means, in other words than the transition table.
type taskFacts struct {
	slot   bool // the slot is in use
	live   bool // its handles are valid
	listed bool // it is in the ready list
	polled bool // it is being polled
	again  bool // it is to be polled again after that
}

var taskMeaning = [numTaskStates]taskFacts{
	taskGone:      {},
	taskIdle:      {slot: true, live: true},
	taskScheduled: {slot: true, live: true, listed: true},
	taskExecuting: {slot: true, live: true, polled: true},
	taskWoken:     {slot: true, live: true, polled: true, again: true},
	taskDying:     {slot: true, polled: true},
	taskDead:      {slot: true, listed: true},
}

var (
	taskStateNames = [numTaskStates]string{
		"gone", "idle", "scheduled", "executing", "woken", "dying", "dead",
	}
	taskEventNames = [numTaskEvents]string{"wake", "take", "pending", "finished", "abort", "again"}
)

const (
	noPoll    = "no poll is running that could end"
	notListed = "the task is not in the ready list"
)

// taskMachine is the state machine of a task.
//
// A wake is possible in every state: a timer may expire after the task was woken, taken or
// aborted. All events are possible when the task is gone: Shutdown can end a task at any time.
var taskMachine = testkit.Machine[taskState, taskEvent, taskEffect, taskFacts]{
	States: taskStateNames[:],
	Events: taskEventNames[:],
	Move: func(s taskState, e taskEvent) testkit.Move[taskState, taskEffect] {
		m := nextTask(s, e)
		return testkit.Move[taskState, taskEffect]{Legal: m.legal, OK: m.ok, To: m.to, Do: m.do}
	},
	Impossible: map[taskState]map[taskEvent]string{
		taskIdle: {
			taskTake: notListed, taskPending: noPoll, taskFinished: noPoll, taskAgain: noPoll,
		},
		taskScheduled: {taskPending: noPoll, taskFinished: noPoll, taskAgain: noPoll},
		taskExecuting: {taskTake: notListed},
		taskWoken:     {taskTake: notListed},
		taskDying:     {taskTake: notListed},
		taskDead:      {taskPending: noPoll, taskFinished: noPoll, taskAgain: noPoll},
	},
	Facts:   taskMeaning[:],
	Outcome: taskOutcome,
	Effect:  requiredTaskEffect,
	First:   []taskState{taskScheduled, taskIdle}, // Spawn, SpawnIdle
	Last:    taskGone,
}

// taskOutcome returns what an event does, derived from the facts: the facts afterwards, the
// result, and whether a poll begins.
func taskOutcome(f taskFacts, e taskEvent) (to taskFacts, ok, begins bool) {
	to = f
	if !f.slot {
		return to, false, false
	}
	switch e {
	case taskWake:
		ok = f.live
		switch {
		case !f.live:
		case f.polled:
			to.again = true
		default:
			to.listed = true
		}
	case taskTake:
		to.listed = false
		to.polled, begins = f.live, f.live
		to.slot = f.live
	case taskPending:
		to.polled, to.again = false, false
		to.listed = f.again
		to.slot = f.live
	case taskFinished:
		to = taskFacts{}
	case taskAbort:
		ok = f.live
		to.live, to.again = false, false
		to.slot = f.listed || f.polled
	case taskAgain:
		to.again, begins = false, f.again
	}
	return to, ok, begins
}

// requiredTaskEffect returns the effect that leads from one set of facts to another.
func requiredTaskEffect(from, to taskFacts, _ taskEvent, begins bool) taskEffect {
	switch {
	case from.slot && !to.slot:
		return taskDelete
	case begins:
		return taskPoll
	case !from.listed && to.listed:
		return taskQueue
	case from.live && !to.live:
		return taskUnarm
	}
	return taskStay
}

func TestEveryEventIsLegalForATaskOrImpossibleForAReason(t *testing.T) {
	if err := taskMachine.CheckLegal(); err != nil {
		t.Error(err)
	}
}

func TestEveryMoveOfATaskIsWhatItsEventMeans(t *testing.T) {
	if err := taskMachine.CheckMoves(); err != nil {
		t.Error(err)
	}
}

func TestEveryStateOfATaskIsReachedAndLeadsToGone(t *testing.T) {
	if err := taskMachine.CheckReachable(); err != nil {
		t.Error(err)
	}
}

// eachTaskMove calls f for every state and event.
func eachTaskMove(f func(s taskState, e taskEvent, m taskMove)) {
	for s := range numTaskStates {
		for e := range numTaskEvents {
			f(s, e, nextTask(s, e))
		}
	}
}

func TestATaskIsAliveUntilItIsDoneOrAborted(t *testing.T) {
	for s := range numTaskStates {
		if got, want := s.alive(), taskMeaning[s].live; got != want {
			t.Errorf("alive in state %s is %t, want %t", taskStateNames[s], got, want)
		}
	}
	eachTaskMove(func(s taskState, e taskEvent, m taskMove) {
		if !m.legal {
			return
		}
		name := taskEventNames[e] + " in state " + taskStateNames[s]
		if (e == taskWake || e == taskAbort) && m.ok != s.alive() {
			t.Errorf("%s returns %t, want %t", name, m.ok, s.alive())
		}
		if !s.alive() && m.to.alive() {
			t.Errorf("%s leads to %s, which is alive", name, taskStateNames[m.to])
		}
		if s.alive() && !m.to.alive() && e != taskAbort && e != taskFinished {
			t.Errorf("%s leads to %s, which is not alive", name, taskStateNames[m.to])
		}
	})
}

func TestNoMovePollsATaskThatIsBeingPolled(t *testing.T) {
	eachTaskMove(func(s taskState, e taskEvent, m taskMove) {
		name := taskEventNames[e] + " in state " + taskStateNames[s]
		f, to := taskMeaning[s], taskMeaning[m.to]
		if m.do == taskPoll && (f.polled && e != taskAgain || !f.live) {
			t.Errorf("%s polls the task", name)
		}
		if m.legal && f.polled && !to.polled && e != taskPending && e != taskFinished {
			t.Errorf("%s leads to %s, although the task is being polled", name, taskStateNames[m.to])
		}
		if m.legal && f.listed && !to.listed && e != taskTake {
			t.Errorf("%s leads to %s, although the task is in the ready list", name, taskStateNames[m.to])
		}
	})
}

// moveTask applies an event to a task, and panics if the move is illegal.
func (s *Shard) moveTask(t *task, gen uint32, e taskEvent) taskMove {
	m := t.word.move(gen, e)
	s.checkTaskMove(m, t, e)
	return m
}

// An illegal move is a defect of the engine. It must not do more harm than it does.
func TestAnIllegalMoveOfATaskChangesNothing(t *testing.T) {
	h := newTaskHarness()
	p, err := h.spawn()
	if err != nil {
		t.Fatal(err)
	}
	illegal := func() taskMove { return h.s.moveTask(p.h.t, p.h.gen, taskFinished) }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("an illegal move does not panic in a test")
			}
		}()
		illegal()
	}()
	panicIfIllegal = false
	defer func() { panicIfIllegal = true }()
	m := illegal()
	if _, state := p.h.t.word.load(); m.ok || m.do != taskStay || state != taskScheduled {
		t.Errorf("an illegal move has the result %t and the effect %d, and leads to %s", m.ok, m.do, taskStateNames[state])
	}
	if n := h.illegalMoves.Load(); n != 1 {
		t.Errorf("%d illegal moves are counted, want 1", n)
	}
}

func TestPrefetchReadsTasksOfEveryKind(t *testing.T) {
	clock := NewManualClock(time.Unix(0, 0))
	eng, err := New(Config{Manual: clock})
	if err != nil {
		t.Fatal(err)
	}
	kinds := []any{struct{}{}, int32(7), (*task)(nil), new(task), map[string]int(nil), map[string]int{}, [1 << 10]byte{}, func() {}}
	for range 50 {
		for _, body := range kinds {
			if _, err := eng.Spawn(body, func(_ any, cx *TaskContext) bool { cx.WakeAt(cx.After(time.Second)); return false }); err != nil {
				t.Fatal(err)
			}
		}
	}
	clock.Advance(0)
	s := (*eng.openShards.Load())[0]
	for range 3 {
		before := eng.Stats().TaskPolls
		clock.Advance(3 * time.Second)
		if polled := eng.Stats().TaskPolls - before; polled != uint64(3*50*len(kinds)) {
			t.Fatalf("%d polls in three seconds, want %d", polled, 3*50*len(kinds))
		}
		if s.ahead.sink == 0 {
			t.Fatal("prefetch has read nothing")
		}
	}
}
