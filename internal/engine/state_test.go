package engine

import (
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

// facts say what a state means, in other words than the transition table: what the timer is,
// whether its callback is running, and where its arming is.
type facts struct {
	live    bool // the slot is in use, and its handles are valid
	oneShot bool
	runs    bool // the callback is running
	arming  arming
	itself  bool // the timer has armed itself for its next tick
}

// arming says where the arming of a timer is.
type arming uint8

const (
	noArming arming = iota
	inWheel
	waiting // popped from the wheel: it waits for the callback that is running to return
)

var meaning = [numStates]facts{
	stateFree:         {},
	stateOneShot:      {live: true, oneShot: true, arming: inWheel},
	stateIdle:         {live: true},
	stateArmed:        {live: true, arming: inWheel},
	stateRunning:      {live: true, runs: true},
	stateRunningArmed: {live: true, runs: true, arming: inWheel},
	stateRunningDue:   {live: true, runs: true, arming: waiting},
	stateTicking:      {live: true, runs: true, arming: inWheel, itself: true},
	stateTickDue:      {live: true, runs: true, arming: waiting, itself: true},
}

var (
	stateNames = [numStates]string{
		"free", "oneShot", "idle", "armed", "running", "runningArmed", "runningDue", "ticking", "tickDue",
	}
	eventNames = [numEvents]string{"arm", "stop", "free", "expire", "done", "repeat"}
)

const noRepeat = "a tick is armed when the callback has just been started"

// timerMachine is the state machine of a timer.
var timerMachine = testkit.Machine[state, event, effect, facts]{
	States: stateNames[:],
	Events: eventNames[:],
	Move: func(s state, e event) testkit.Move[state, effect] {
		m := nextMove(s, e)
		return testkit.Move[state, effect]{Legal: m.legal, OK: m.ok, To: m.to, Do: m.do}
	},
	Impossible: map[state]map[event]string{
		stateFree: {eventExpire: "a free slot is in no wheel", eventRepeat: noRepeat},
		stateOneShot: {
			eventDone: "the slot of a one-shot is freed before its callback starts", eventRepeat: noRepeat,
		},
		stateIdle:         {eventExpire: "an idle timer is parked", eventDone: "no callback is running", eventRepeat: noRepeat},
		stateArmed:        {eventDone: "no callback is running", eventRepeat: noRepeat},
		stateRunning:      {eventExpire: "a timer that is not armed is parked"},
		stateRunningArmed: {eventRepeat: noRepeat},
		stateRunningDue:   {eventExpire: "its arming is not in the wheel any more", eventRepeat: noRepeat},
		stateTicking:      {eventRepeat: noRepeat},
		stateTickDue:      {eventExpire: "its arming is not in the wheel any more", eventRepeat: noRepeat},
	},
	Facts:   meaning[:],
	Outcome: outcome,
	Effect:  requiredEffect,
	First:   []state{stateOneShot, stateIdle, stateArmed}, // AfterFunc, NewTimer, Every
	Last:    stateFree,
}

// outcome returns what an event does, derived from the facts: the facts afterwards, the result,
// and whether the callback is started.
func outcome(f facts, e event) (to facts, ok, starts bool) {
	switch {
	case !f.live:
		return facts{}, false, false
	case e == eventArm:
		f.arming, f.itself = inWheel, false
		return f, true, false
	case e == eventRepeat:
		f.arming, f.itself = inWheel, true
		return f, false, false
	case e == eventStop:
		ok = f.arming != noArming && !f.itself
		if ok && f.oneShot {
			return facts{}, true, false
		}
		f.arming, f.itself = noArming, false
		return f, ok, false
	case e == eventFree:
		return facts{}, true, false
	case e == eventExpire && f.oneShot:
		return facts{}, false, true
	case e == eventExpire && f.runs:
		f.arming = waiting
		return f, false, false
	case e == eventExpire:
		f.arming = noArming
		f.runs = true
		return f, false, true
	case f.arming == waiting: // eventDone
		f.arming, f.itself = noArming, false
		return f, false, true
	}
	f.runs, f.itself = false, false
	return f, false, false
}

// requiredEffect returns the effect that leads from one set of facts to another.
func requiredEffect(from, to facts, e event, starts bool) effect {
	filed := from.arming == inWheel && e != eventExpire // the entry is in the wheel
	switch {
	case from.live && !to.live && starts:
		return effectFreeAndRun
	case from.live && !to.live:
		return effectFree
	case starts:
		return effectRun
	case to.arming == inWheel && filed && e == eventArm:
		return effectReschedule
	case to.arming == inWheel && !filed:
		return effectSchedule
	case to.arming != inWheel && filed:
		return effectPark
	case from.arming == waiting && to.arming == noArming:
		return effectForget
	}
	return effectNone
}

func TestEveryEventIsLegalInAStateOrImpossibleForAReason(t *testing.T) {
	if err := timerMachine.CheckLegal(); err != nil {
		t.Error(err)
	}
}

func TestEveryMoveIsWhatItsEventMeans(t *testing.T) {
	if err := timerMachine.CheckMoves(); err != nil {
		t.Error(err)
	}
}

func TestEveryStateIsReachedAndLeadsToFree(t *testing.T) {
	if err := timerMachine.CheckReachable(); err != nil {
		t.Error(err)
	}
}

// eachMove calls f for every state and event.
func eachMove(f func(s state, e event, m move)) {
	for s := range numStates {
		for e := range numEvents {
			f(s, e, nextMove(s, e))
		}
	}
}

func TestATimerIsPendingUntilItsArmingHasRunOrBeenStopped(t *testing.T) {
	for s := range numStates {
		if got, want := s.pending(), meaning[s].arming != noArming; got != want {
			t.Errorf("pending in state %s is %t, want %t", stateNames[s], got, want)
		}
		if got, want := s.waiting(), meaning[s].arming == waiting; got != want {
			t.Errorf("waiting in state %s is %t, want %t", stateNames[s], got, want)
		}
	}
	eachMove(func(s state, e event, m move) {
		if !m.legal {
			return
		}
		was, is := s.pending(), m.to.pending()
		starts := m.do == effectRun || m.do == effectFreeAndRun
		right := false
		switch e {
		case eventArm:
			right = m.ok == is && m.ok == (s != stateFree)
		case eventStop:
			right = m.ok == (was && !meaning[s].itself) && !is
		case eventFree:
			right = m.ok == (s != stateFree) && m.to == stateFree
		case eventExpire:
			right = !m.ok && was && is != starts && is == m.to.waiting()
		case eventDone:
			right = !m.ok && starts == s.waiting() && is == (was && !starts)
		case eventRepeat:
			right = !m.ok && !was && is && !starts
		}
		if !right {
			t.Errorf("%s in state %s is wrong: result %t, to %s, pending before %t, starts %t",
				eventNames[e], stateNames[s], m.ok, stateNames[m.to], was, starts)
		}
	})
}

func TestNoMoveStartsACallbackThatIsRunning(t *testing.T) {
	eachMove(func(s state, e event, m move) {
		if !m.legal || !meaning[s].runs || e == eventDone {
			return
		}
		if m.do == effectRun || m.do == effectFreeAndRun {
			t.Errorf("%s in state %s starts the callback while it is running", eventNames[e], stateNames[s])
		}
		if m.to != stateFree && !meaning[m.to].runs {
			t.Errorf("%s in state %s leads to %s, although the callback is running",
				eventNames[e], stateNames[s], stateNames[m.to])
		}
	})
}
