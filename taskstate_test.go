package foliot

import "testing"

// taskFacts say what a state of a task means, in terms that the table of moves does not use.
type taskFacts struct {
	slot   bool // the slot is in use
	live   bool // handles of it are good
	listed bool // in a list of tasks to be polled
	polled bool // being polled
	again  bool // and to be polled again
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
	taskStateNames = [numTaskStates]string{"gone", "idle", "scheduled", "executing", "woken", "dying", "dead"}
	taskEventNames = [numTaskEvents]string{"wake", "take", "pending", "finished", "abort", "again"}
)

const (
	noPoll    = "no poll is under way that could end"
	notListed = "the task is in no list"
)

// impossibleTask are the events that cannot befall a task in a state, and why.
//
// A wake is possible in every state: a timer may expire after the task was woken, taken or
// aborted. All events are possible when the task is gone: Shutdown makes it so at any time.
var impossibleTask = map[[2]uint8]string{
	{uint8(taskIdle), uint8(taskTake)}:          notListed,
	{uint8(taskExecuting), uint8(taskTake)}:     notListed,
	{uint8(taskWoken), uint8(taskTake)}:         notListed,
	{uint8(taskDying), uint8(taskTake)}:         notListed,
	{uint8(taskIdle), uint8(taskPending)}:       noPoll,
	{uint8(taskIdle), uint8(taskFinished)}:      noPoll,
	{uint8(taskIdle), uint8(taskAgain)}:         noPoll,
	{uint8(taskScheduled), uint8(taskPending)}:  noPoll,
	{uint8(taskScheduled), uint8(taskFinished)}: noPoll,
	{uint8(taskScheduled), uint8(taskAgain)}:    noPoll,
	{uint8(taskDead), uint8(taskPending)}:       noPoll,
	{uint8(taskDead), uint8(taskFinished)}:      noPoll,
	{uint8(taskDead), uint8(taskAgain)}:         noPoll,
}

// eachTaskMove calls f for every state and event.
func eachTaskMove(f func(s taskState, e taskEvent, m taskMove)) {
	for s := range numTaskStates {
		for e := range numTaskEvents {
			f(s, e, nextTask(s, e))
		}
	}
}

func TestEveryEventIsLegalForATaskOrImpossibleForAReason(t *testing.T) {
	eachTaskMove(func(s taskState, e taskEvent, m taskMove) {
		why, no := impossibleTask[[2]uint8{uint8(s), uint8(e)}]
		switch {
		case m.legal && no:
			t.Errorf("%s in state %s is legal, but %s", taskEventNames[e], taskStateNames[s], why)
		case !m.legal && !no:
			t.Errorf("%s in state %s is not legal, and there is no reason why it should not happen", taskEventNames[e], taskStateNames[s])
		case !m.legal && m != taskMove{}:
			t.Errorf("%s in state %s is not legal, but does something: %+v", taskEventNames[e], taskStateNames[s], m)
		}
	})
}

// taskOutcome is what an event does, derived from the facts: the facts afterwards, the answer, and whether a poll begins.
func taskOutcome(f taskFacts, e taskEvent) (to taskFacts, ok, begins bool) {
	to = f
	if !f.slot {
		return
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

// taskChore is the effect that leads from one set of facts to another, and nothing besides.
func taskChore(from, to taskFacts, begins bool) taskEffect {
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

func TestEveryMoveOfATaskIsWhatItsEventMeans(t *testing.T) {
	eachTaskMove(func(s taskState, e taskEvent, m taskMove) {
		if !m.legal {
			return
		}
		from := taskMeaning[s]
		to, ok, begins := taskOutcome(from, e)
		if taskMeaning[m.to] != to {
			t.Errorf("%s in state %s leads to %s, which is %+v, want %+v", taskEventNames[e], taskStateNames[s], taskStateNames[m.to], taskMeaning[m.to], to)
		}
		if want := (taskMove{legal: true, ok: ok, to: m.to, do: taskChore(from, to, begins)}); m != want {
			t.Errorf("%s in state %s is %+v, want %+v", taskEventNames[e], taskStateNames[s], m, want)
		}
	})
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
			t.Errorf("%s answers %t", name, m.ok)
		}
		if !s.alive() && m.to.alive() {
			t.Errorf("%s brings it back to life", name)
		}
		if s.alive() && !m.to.alive() && e != taskAbort && e != taskFinished {
			t.Errorf("%s ends it", name)
		}
	})
}

func TestNoMovePollsATaskThatIsBeingPolled(t *testing.T) {
	eachTaskMove(func(s taskState, e taskEvent, m taskMove) {
		f := taskMeaning[s]
		if m.do == taskPoll && (f.polled && e != taskAgain || !f.live) {
			t.Errorf("%s in state %s has it polled", taskEventNames[e], taskStateNames[s])
		}
		if m.legal && f.polled && !taskMeaning[m.to].polled && e != taskPending && e != taskFinished {
			t.Errorf("%s in state %s forgets that it is being polled", taskEventNames[e], taskStateNames[s])
		}
		if m.legal && f.listed && !taskMeaning[m.to].listed && e != taskTake {
			t.Errorf("%s in state %s forgets that it is in the list", taskEventNames[e], taskStateNames[s])
		}
	})
}

// reachTask returns the states that moves lead to from a state, with itself.
func reachTask(from ...taskState) (seen [numTaskStates]bool) {
	for len(from) > 0 {
		s := from[0]
		from = from[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		for e := range numTaskEvents {
			if m := nextTask(s, e); m.legal {
				from = append(from, m.to)
			}
		}
	}
	return seen
}

func TestEveryStateOfATaskIsReachedAndLeadsToGone(t *testing.T) {
	seen := reachTask(taskScheduled) // what Spawn makes
	for s := range numTaskStates {
		if !seen[s] {
			t.Errorf("no task gets into state %s", taskStateNames[s])
		}
		if !reachTask(s)[taskGone] {
			t.Errorf("a task in state %s never ends", taskStateNames[s])
		}
	}
	for s, yes := range reachTask(taskGone) {
		if yes && taskState(s) != taskGone {
			t.Errorf("a task that is gone gets into state %s", taskStateNames[s])
		}
	}
}
