package engine

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
	stateFree:         {},
	stateOneShot:      {live: true, oneShot: true, arming: filed},
	stateIdle:         {live: true},
	stateArmed:        {live: true, arming: filed},
	stateRunning:      {live: true, runs: true},
	stateRunningArmed: {live: true, runs: true, arming: filed},
	stateRunningDue:   {live: true, runs: true, arming: waiting},
}

var (
	stateNames = [numStates]string{"free", "once", "idle", "armed", "running", "runningArmed", "runningDue"}
	eventNames = [numEvents]string{"arm", "stop", "release", "expire", "done"}
)

// impossible are the events that cannot befall a timer in a state, and why.
var impossible = map[[2]uint8]string{
	{uint8(stateFree), uint8(eventExpire)}:       "a free slot is in no wheel",
	{uint8(stateOneShot), uint8(eventDone)}:      "the slot of a one-shot is given back before its callback starts, so nobody reports its end",
	{uint8(stateIdle), uint8(eventExpire)}:       "an idle timer is parked",
	{uint8(stateIdle), uint8(eventDone)}:         "no callback runs",
	{uint8(stateArmed), uint8(eventDone)}:        "no callback runs",
	{uint8(stateRunning), uint8(eventExpire)}:    "a timer that runs and is not armed is parked",
	{uint8(stateRunningDue), uint8(eventExpire)}: "the wheel has handed out the arming and has no other",
}

// eachMove calls f for every state and event.
func eachMove(f func(s state, e event, m move)) {
	for s := range numStates {
		for e := range numEvents {
			f(s, e, nextMove(s, e))
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
	case e == eventArm:
		f.arming = filed
		return f, true, false
	case e == eventStop:
		ok = f.arming != unarmed
		if ok && f.oneShot {
			return facts{}, true, false
		}
		f.arming = unarmed
		return f, ok, false
	case e == eventFree:
		return facts{}, true, false
	case e == eventExpire && f.oneShot:
		return facts{}, false, true
	case e == eventExpire && f.runs:
		f.arming = waiting
		return f, false, false
	case e == eventExpire:
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
	inWheel := from.arming == filed && e != eventExpire // an entry that expires has been taken off already
	switch {
	case from.live && !to.live && starts:
		return effectFreeAndRun
	case from.live && !to.live:
		return effectFree
	case starts:
		return effectRun
	case to.arming == filed && inWheel && e == eventArm:
		return effectReschedule
	case to.arming == filed && !inWheel:
		return effectSchedule
	case to.arming != filed && inWheel:
		return effectPark
	case from.arming == waiting && to.arming == unarmed:
		return effectForget
	}
	return effectNone
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
		starts := m.do == effectRun || m.do == effectFreeAndRun
		name := eventNames[e] + " in state " + stateNames[s]
		switch e {
		case eventArm:
			if m.ok != is || m.ok != (s != stateFree) {
				t.Errorf("%s answers %t, and pending is %t afterwards", name, m.ok, is)
			}
		case eventStop:
			if m.ok != was || is {
				t.Errorf("%s answers %t, pending was %t and is %t", name, m.ok, was, is)
			}
		case eventFree:
			if m.ok != (s != stateFree) || m.to != stateFree {
				t.Errorf("%s answers %t and leads to %s", name, m.ok, stateNames[m.to])
			}
		case eventExpire:
			if m.ok || !was || is == starts || is != (m.to == stateRunningDue) {
				t.Errorf("%s: pending was %t and is %t, started %t", name, was, is, starts)
			}
		case eventDone:
			if m.ok || starts != (s == stateRunningDue) || is != (was && !starts) {
				t.Errorf("%s: pending was %t and is %t, started %t", name, was, is, starts)
			}
		}
	})
}

func TestNoMoveStartsACallbackThatRunsAlready(t *testing.T) {
	eachMove(func(s state, e event, m move) {
		if starts := m.do == effectRun || m.do == effectFreeAndRun; starts && meaning[s].runs && e != eventDone {
			t.Errorf("%s in state %s starts the callback while it runs", eventNames[e], stateNames[s])
		}
		if m.legal && meaning[s].runs && e != eventDone && m.to != stateFree && !meaning[m.to].runs {
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
			if m := nextMove(s, e); m.legal {
				from = append(from, m.to)
			}
		}
	}
	return seen
}

func TestEveryStateIsReachedAndLeadsToFree(t *testing.T) {
	seen := reach(stateOneShot, stateIdle) // what AfterFunc and NewTimer make
	for s := range numStates {
		if !seen[s] {
			t.Errorf("no timer gets into state %s", stateNames[s])
		}
		if !reach(s)[stateFree] {
			t.Errorf("a timer in state %s is never freed", stateNames[s])
		}
	}
	for s, yes := range reach(stateFree) {
		if yes && state(s) != stateFree {
			t.Errorf("a freed timer gets into state %s", stateNames[s])
		}
	}
}
