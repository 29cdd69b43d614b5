package foliot

import "testing"

// facts say what a state means, in terms that the table of moves does not use: what the timer is, whether its callback
// runs, and where its arming is.
type facts struct {
	live    bool // the slot is in use, and handles of it are good
	oneShot bool
	runs    bool // the callback runs
	arming  arming
}

// arming says where the arming of a timer is.
type arming uint8

const (
	unarmed arming = iota
	filed          // in the wheel
	waiting        // handed out by the wheel, and waits for the callback of the one before to return
)

var meaning = [numStates]facts{
	free:         {},
	once:         {live: true, oneShot: true, arming: filed},
	idle:         {live: true},
	armed:        {live: true, arming: filed},
	running:      {live: true, runs: true},
	runningArmed: {live: true, runs: true, arming: filed},
	runningDue:   {live: true, runs: true, arming: waiting},
}

var (
	stateNames = [numStates]string{"free", "once", "idle", "armed", "running", "runningArmed", "runningDue"}
	eventNames = [numEvents]string{"arm", "stop", "release", "expire", "done"}
)

// impossible are the events that cannot befall a timer in a state, and why.
var impossible = map[[2]uint8]string{
	{uint8(free), uint8(expire)}:       "a free slot is in no wheel",
	{uint8(once), uint8(done)}:         "the slot of a one-shot is given back before its callback starts, so nobody reports its end",
	{uint8(idle), uint8(expire)}:       "an idle timer is parked",
	{uint8(idle), uint8(done)}:         "no callback runs",
	{uint8(armed), uint8(done)}:        "no callback runs",
	{uint8(running), uint8(expire)}:    "a timer that runs and is not armed is parked",
	{uint8(runningDue), uint8(expire)}: "the wheel has handed out the arming and has no other",
}

// eachMove calls f for every state and event.
func eachMove(f func(s state, e event, m move)) {
	for s := range numStates {
		for e := range numEvents {
			f(s, e, next(s, e))
		}
	}
}

func TestEveryEventIsLegalInAStateOrImpossibleForAReason(t *testing.T) {
	eachMove(func(s state, e event, m move) {
		why, no := impossible[[2]uint8{uint8(s), uint8(e)}]
		switch {
		case m.legal && no:
			t.Errorf("%s in state %s is legal, but %s", eventNames[e], stateNames[s], why)
		case !m.legal && !no:
			t.Errorf("%s in state %s is not legal, and there is no reason why it should not happen", eventNames[e], stateNames[s])
		case !m.legal && m != move{}:
			t.Errorf("%s in state %s is not legal, but does something: %+v", eventNames[e], stateNames[s], m)
		}
	})
}

// outcome is what an event does, derived from the facts: the facts afterwards, the answer, and whether the callback is
// started.
func outcome(f facts, e event) (to facts, ok, starts bool) {
	switch {
	case !f.live:
		return facts{}, false, false
	case e == arm:
		f.arming = filed
		return f, true, false
	case e == stop:
		ok = f.arming != unarmed
		if ok && f.oneShot {
			return facts{}, true, false
		}
		f.arming = unarmed
		return f, ok, false
	case e == release:
		return facts{}, true, false
	case e == expire && f.oneShot:
		return facts{}, false, true
	case e == expire && f.runs:
		f.arming = waiting
		return f, false, false
	case e == expire:
		f.arming = unarmed
		f.runs = true
		return f, false, true
	case f.arming == waiting: // done
		f.arming = unarmed
		return f, false, true
	}
	f.runs = false
	return f, false, false
}

// chore is the effect that leads from one set of facts to another: what has to be done with the slot, the wheel and the
// callback, and nothing besides.
func chore(from, to facts, e event, starts bool) effect {
	inWheel := from.arming == filed && e != expire // an entry that expires has been taken off already
	switch {
	case from.live && !to.live && starts:
		return runDrop
	case from.live && !to.live:
		return drop
	case starts:
		return run
	case to.arming == filed && inWheel && e == arm:
		return refile
	case to.arming == filed && !inWheel:
		return file
	case to.arming != filed && inWheel:
		return park
	case from.arming == waiting && to.arming == unarmed:
		return forget
	}
	return stay
}

func TestEveryMoveIsWhatItsEventMeans(t *testing.T) {
	eachMove(func(s state, e event, m move) {
		if !m.legal {
			return
		}
		from := meaning[s]
		to, ok, starts := outcome(from, e)
		want := move{legal: true, ok: ok, to: m.to, do: chore(from, to, e, starts)}
		if meaning[m.to] != to {
			t.Errorf("%s in state %s leads to %s, which is %+v, want %+v", eventNames[e], stateNames[s], stateNames[m.to], meaning[m.to], to)
		}
		if m != want {
			t.Errorf("%s in state %s is %+v, want %+v", eventNames[e], stateNames[s], m, want)
		}
	})
}

func TestPendingIsHavingAnArmingThatHasNeitherRunNorBeenStopped(t *testing.T) {
	for s := range numStates {
		if got, want := s.pending(), meaning[s].arming != unarmed; got != want {
			t.Errorf("pending in state %s is %t, want %t", stateNames[s], got, want)
		}
	}
	eachMove(func(s state, e event, m move) {
		if !m.legal {
			return
		}
		was, is := s.pending(), m.to.pending()
		starts := m.do == run || m.do == runDrop
		name := eventNames[e] + " in state " + stateNames[s]
		switch e {
		case arm:
			if m.ok != is || m.ok != (s != free) {
				t.Errorf("%s answers %t, and pending is %t afterwards", name, m.ok, is)
			}
		case stop:
			if m.ok != was || is {
				t.Errorf("%s answers %t, pending was %t and is %t", name, m.ok, was, is)
			}
		case release:
			if m.ok != (s != free) || m.to != free {
				t.Errorf("%s answers %t and leads to %s", name, m.ok, stateNames[m.to])
			}
		case expire:
			if m.ok || !was || is == starts || is != (m.to == runningDue) {
				t.Errorf("%s: pending was %t and is %t, started %t", name, was, is, starts)
			}
		case done:
			if m.ok || starts != (s == runningDue) || is != (was && !starts) {
				t.Errorf("%s: pending was %t and is %t, started %t", name, was, is, starts)
			}
		}
	})
}

func TestNoMoveStartsACallbackThatRunsAlready(t *testing.T) {
	eachMove(func(s state, e event, m move) {
		if starts := m.do == run || m.do == runDrop; starts && meaning[s].runs && e != done {
			t.Errorf("%s in state %s starts the callback while it runs", eventNames[e], stateNames[s])
		}
		if m.legal && meaning[s].runs && e != done && m.to != free && !meaning[m.to].runs {
			t.Errorf("%s in state %s forgets that the callback runs", eventNames[e], stateNames[s])
		}
	})
}

// reach returns the states that moves lead to from a state, with itself.
func reach(from ...state) (seen [numStates]bool) {
	for len(from) > 0 {
		s := from[0]
		from = from[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		for e := range numEvents {
			if m := next(s, e); m.legal {
				from = append(from, m.to)
			}
		}
	}
	return seen
}

func TestEveryStateIsReachedAndLeadsToFree(t *testing.T) {
	seen := reach(once, idle) // what AfterFunc and NewTimer make
	for s := range numStates {
		if !seen[s] {
			t.Errorf("no timer gets into state %s", stateNames[s])
		}
		if !reach(s)[free] {
			t.Errorf("a timer in state %s is never freed", stateNames[s])
		}
	}
	for s, yes := range reach(free) {
		if yes && state(s) != free {
			t.Errorf("a freed timer gets into state %s", stateNames[s])
		}
	}
}
