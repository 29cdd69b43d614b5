package loop

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A modelState is one state of a model of a loop, two producers and a goroutine that
// calls Stop. The model is written by hand; only the operations on signalBits are the
// real ones. The search goes through every order in which the four can take their steps.
// A step is one atomic operation or one critical section.
//
//	loop:      set alarm ─► mark asleep ─► sleep ─► mark awake ─► check ─► set alarm …
//	                             └─ refused ─────────────────────────▲
//	producer:  append, set sigPosted ─► wake
//	stopper:   set sigStopped ─► wake
type modelState struct {
	signals signalBits
	inbox   int  // posts that the loop has not seen
	wakeUp  bool // the alarm has gone off and the loop has not woken up from it

	loop      loopStep
	producers [2]callerStep
	mustWake  [2]bool // the producer found the loop asleep
	stopper   callerStep
	stopWakes bool // the stopper found the loop asleep

	postsSeen int
	stopSeen  bool
	alarmSet  bool // since the loop was marked asleep, or just before
}

type (
	loopStep   uint8
	callerStep uint8
)

const (
	loopSetsAlarm loopStep = iota
	loopMarksAsleep
	loopSleeps
	loopMarksAwake
	loopChecks
	loopReturned
)

const (
	callerSignals callerStep = iota
	callerWakes
	callerReturned
)

// A protocolDefect is a way to get the protocol wrong.
type protocolDefect uint8

const (
	noDefect         protocolDefect = iota
	setsAlarmLate                   // the alarm is set after the loop is marked asleep
	ignoresSignals                  // markAsleep succeeds although a signal is set
	setLeavesAsleep                 // set neither ends the sleep mode nor requests a wake-up
	callerNeverWakes                // a caller that finds the loop asleep does not wake it
)

// successors returns the states that one step of the loop or of a caller leads to.
func (s modelState) successors(d protocolDefect) []modelState {
	return append(s.afterLoop(d), s.afterCallers(d)...)
}

func (s modelState) afterLoop(d protocolDefect) (next []modelState) {
	n := s
	switch s.loop {
	case loopSetsAlarm: // forgets that the alarm has gone off
		if d != setsAlarmLate {
			n.wakeUp = false
		}
		n.loop = loopMarksAsleep
	case loopMarksAsleep:
		bits, ok := s.signals.markAsleep(sleepOnAlarm)
		if d == ignoresSignals {
			bits, ok = s.signals|sleepOnAlarm, true
		}
		n.signals = bits
		n.loop = loopChecks
		if ok {
			n.loop = loopSleeps
			n.alarmSet = d != setsAlarmLate
		}
	case loopSleeps:
		switch {
		case !s.alarmSet: // the defect setsAlarmLate
			n.wakeUp = false
			n.alarmSet = true
		case s.wakeUp:
			n.wakeUp = false
			n.loop = loopMarksAwake
		default:
			return nil
		}
	case loopMarksAwake:
		n.signals = s.signals.markAwake()
		n.loop = loopChecks
	case loopChecks:
		if s.signals&sigPosted != 0 {
			n.signals = n.signals.clear(sigPosted)
			n.postsSeen += s.inbox
			n.inbox = 0
		}
		if s.signals&sigStopped != 0 {
			n.signals = n.signals.clear(sigStopped)
			n.stopSeen = true
		}
		n.loop = loopSetsAlarm
		if n.postsSeen == len(s.producers) && n.stopSeen {
			n.loop = loopReturned
		}
	case loopReturned:
		return nil
	}
	return []modelState{n}
}

func (s modelState) afterCallers(d protocolDefect) (next []modelState) {
	for i, step := range s.producers {
		n := s
		switch step {
		case callerSignals:
			n.inbox++
			if n.inbox == 1 {
				n.mustWake[i] = n.setSignal(sigPosted, d)
			}
			n.producers[i] = callerWakes
			next = append(next, n)
		case callerWakes:
			n.wakeUp = n.wakeUp || s.mustWake[i]
			n.producers[i] = callerReturned
			next = append(next, n)
		}
	}
	n := s
	switch s.stopper {
	case callerSignals:
		n.stopWakes = n.setSignal(sigStopped, d)
		n.stopper = callerWakes
		next = append(next, n)
	case callerWakes:
		n.wakeUp = n.wakeUp || s.stopWakes
		n.stopper = callerReturned
		next = append(next, n)
	}
	return next
}

// setSignal sets a signal, and reports whether the caller must wake the loop.
func (s *modelState) setSignal(sig signalBits, d protocolDefect) (mustWake bool) {
	bits, mode := s.signals.set(sig)
	if d == setLeavesAsleep {
		bits, mode = s.signals|sig, 0
	}
	s.signals = bits
	return mode != 0 && d != callerNeverWakes
}

// searchModel visits every state that can be reached. It returns how many there are, and
// an error for the first state in which the invariant is violated or the loop sleeps
// forever.
func searchModel(d protocolDefect) (states int, err error) {
	seen := map[modelState]bool{}
	todo := []modelState{{}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		if s.signals&sleepMask != 0 && s.signals&sigMask != 0 {
			return len(seen), fmt.Errorf("asleep with a signal set: %+v", s)
		}
		next := s.successors(d)
		if len(next) == 0 && s.loop != loopReturned {
			return len(seen), fmt.Errorf("a wake-up is lost: %+v", s)
		}
		todo = append(todo, next...)
	}
	return len(seen), nil
}

func TestNoOrderOfStepsLosesAWakeUp(t *testing.T) {
	interleave.SkipUnderRace(t)
	states, err := searchModel(noDefect)
	if err != nil {
		t.Fatal(err)
	}
	if states < 500 {
		t.Errorf("only %d states were reached, want at least 500", states)
	}
}

func TestTheModelFindsEveryDefectOfTheProtocol(t *testing.T) {
	interleave.SkipUnderRace(t)
	for d := setsAlarmLate; d <= callerNeverWakes; d++ {
		if _, err := searchModel(d); err == nil {
			t.Errorf("defect %d is not found", d)
		}
	}
}
