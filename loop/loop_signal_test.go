package loop

import (
	"fmt"
	"testing"
)

// The walk goes through all orders in which the loop, two producers and a stopper can take
// their steps. A step is one atomic operation, or one thing done under a lock.
//
//	loop:      set ─► doze ─► asleep ─► rouse ─► look ─► set …     doze is refused: look
//	producer:  append and raise ─► wake
//	stopper:   raise ─► wake
type walkState struct {
	word  word
	inbox int  // posts that the loop has not seen
	ring  bool // the alarm has gone off, or the bell was rung

	loop      loopStep
	producers [2]actorStep
	wakes     [2]bool // the producer has to wake the loop
	stopper   actorStep
	stopWakes bool

	seen       int
	stopSeen   bool
	setSinceUp bool
}

type (
	loopStep  uint8
	actorStep uint8
)

const (
	toSet loopStep = iota
	toDoze
	sleeping
	toRouse
	toLook
	gone
)

const (
	toAct actorStep = iota
	toWake
	finished
)

// A walkDefect is a way to get the protocol wrong.
type walkDefect uint8

const (
	sound        walkDefect = iota
	setsLate                // the alarm is set after the loop has dozed
	dozesBlindly            // doze does not look at the signals
	raiseKeeps              // raise leaves the loop asleep, and does not wake it
	wakesNever              // who finds the loop asleep does not wake it
)

func (s walkState) successors(d walkDefect) (next []walkState) {
	add := func(n walkState) { next = append(next, n) }
	switch s.loop {
	case toSet: // sets the alarm, which takes back that it has gone off
		n := s
		n.ring = false
		n.loop = toDoze
		if d == setsLate {
			n.ring = s.ring
		}
		add(n)
	case toDoze:
		n := s
		w, ok := s.word.doze(onAlarm)
		if d == dozesBlindly {
			w, ok = s.word|onAlarm, true
		}
		n.word = w
		n.loop = toLook
		if ok {
			n.loop = sleeping
			n.setSinceUp = d != setsLate
		}
		add(n)
	case sleeping:
		if !s.setSinceUp { // the late set
			n := s
			n.ring = false
			n.setSinceUp = true
			add(n)
		}
		if s.setSinceUp && s.ring {
			n := s
			n.ring = false
			n.loop = toRouse
			add(n)
		}
	case toRouse:
		n := s
		n.word = s.word.rouse()
		n.loop = toLook
		add(n)
	case toLook:
		n := s
		if s.word&posted != 0 {
			n.word = n.word.lower(posted)
			n.seen += s.inbox
			n.inbox = 0
		}
		if s.word&stopped != 0 {
			n.word = n.word.lower(stopped)
			n.stopSeen = true
		}
		n.loop = toSet
		if n.seen == len(s.producers) && n.stopSeen {
			n.loop = gone
		}
		add(n)
	}
	raise := func(n *walkState, sig word) (wakes bool) {
		w, wake := n.word.raise(sig)
		if d == raiseKeeps {
			w, wake = n.word|sig, 0
		}
		n.word = w
		return wake != 0 && d != wakesNever
	}
	for i, step := range s.producers {
		n := s
		switch step {
		case toAct:
			n.inbox++
			if n.inbox == 1 {
				n.wakes[i] = raise(&n, posted)
			}
			n.producers[i] = toWake
			add(n)
		case toWake:
			n.ring = n.ring || s.wakes[i]
			n.producers[i] = finished
			add(n)
		}
	}
	n := s
	switch s.stopper {
	case toAct:
		n.stopWakes = raise(&n, stopped)
		n.stopper = toWake
		add(n)
	case toWake:
		n.ring = n.ring || s.stopWakes
		n.stopper = finished
		add(n)
	}
	return next
}

// walk returns the first state, of all that can be reached, in which the invariant does not
// hold or the loop sleeps for ever over something it was told.
func walk(d walkDefect) (states int, err error) {
	seen := map[walkState]bool{}
	todo := []walkState{{}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		if s.word&asleep != 0 && s.word&signals != 0 {
			return len(seen), fmt.Errorf("asleep with a signal set: %+v", s)
		}
		next := s.successors(d)
		if len(next) == 0 && s.loop != gone {
			return len(seen), fmt.Errorf("a wake-up is lost: %+v", s)
		}
		todo = append(todo, next...)
	}
	return len(seen), nil
}

func TestNoOrderOfStepsLosesAWakeUp(t *testing.T) {
	states, err := walk(sound)
	if err != nil {
		t.Fatal(err)
	}
	if states < 500 {
		t.Errorf("only %d states were reached", states)
	}
}

func TestTheWalkFindsEveryDefectOfTheProtocol(t *testing.T) {
	for d := setsLate; d <= wakesNever; d++ {
		if _, err := walk(d); err == nil {
			t.Errorf("defect %d goes unnoticed", d)
		}
	}
}

func TestTheBoardMovesAsTheWordDoes(t *testing.T) {
	for w := word(0); w < 1<<6; w++ {
		for _, s := range []word{posted, stopped, nudged, closed} {
			var b board
			b.v.Store(uint32(w))
			next, wake := w.raise(s)
			if got := b.raise(s); got != wake || b.load() != next {
				t.Errorf("%b raise %b: %b and %b, want %b and %b", w, s, b.load(), got, next, wake)
			}
			b.v.Store(uint32(w))
			if b.lower(s); b.load() != w.lower(s) {
				t.Errorf("%b lower %b: %b", w, s, b.load())
			}
		}
		for _, how := range []word{onBell, onAlarm} {
			var b board
			b.v.Store(uint32(w))
			next, ok := w.doze(how)
			if got := b.doze(how); got != ok || b.load() != next {
				t.Errorf("%b doze %b: %b and %v, want %b and %v", w, how, b.load(), got, next, ok)
			}
			if b.rouse(); b.load() != next.rouse() {
				t.Errorf("%b rouse: %b", next, b.load())
			}
		}
	}
}
