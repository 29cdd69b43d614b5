package engine

import (
	"fmt"
	"testing"

	"github.com/foliot-go/foliot/internal/interleave"
)

// A retiredModel is a model of the watchdog beside a worker that retires and returns. Goroutines
// claim the worker and run callbacks. The watchdog checks whether it is busy.
type retiredModel struct{ fault retiredFault }

// A retiredState is a state of the model.
type retiredState struct {
	busy     uint8 // the claimer that has the turn, its index plus 1; 0: none
	active   bool  // the worker is in roster.workers
	retired  bool  // worker.retired
	watched  bool  // the worker is in timekeeper.retired
	locked   bool  // timekeeper.mu
	claimers [2]claimer
	resize   uint8 // how many steps Resize has done
	watchdog uint8 // how many steps the watchdog has done
	inside   uint8 // the claimer that was in a callback when the watchdog began to look; 0: none
	saw      bool  // the watchdog has seen that the worker is busy
	missed   bool  // the watchdog has missed a callback
}

// A claimer is a goroutine that claims the worker, runs a callback and releases the worker.
type claimer struct {
	pc, done uint8
	retired  bool // worker.retired when it was loaded
	looked   bool // for looksFirst: it was loaded
}

const (
	claimerClaim uint8 = iota
	claimerLook        // load worker.retired
	claimerWatch       // call watchRetired
	claimerRun         // in a callback
)

// How often each of them does its work.
const (
	claimerRounds  = 2
	resizeRounds   = 2
	watchdogRounds = 3
)

// A retiredFault is a way to get the protocol wrong.
type retiredFault uint8

const (
	retiredSound       retiredFault = iota
	doesNotLook                     // a claimer does not load worker.retired
	looksFirst                      // it loads worker.retired before it claims the worker
	checksBusyFirst                 // Resize checks busy before it sets worker.retired
	storesWorkersFirst              // Resize stores the list of workers before it sets worker.retired
	clearsFirst                     // Resize clears worker.retired before it stores the list
	forgetsBusy                     // the watchdog removes a worker that is busy from its list
	numRetiredFaults
)

// steps emits every state that one step leads to.
func (m *retiredModel) steps(s retiredState, emit func(string, retiredState)) {
	for i, c := range s.claimers {
		if to := s; c.done < claimerRounds && m.claimer(&to, i) {
			emit(fmt.Sprint("claimer ", i, " at ", c.pc), to)
		}
	}
	if to := s; m.resize(&to) {
		emit(fmt.Sprint("Resize at ", s.resize), to)
	}
	if to := s; m.watchdog(&to) {
		emit(fmt.Sprint("watchdog at ", s.watchdog), to)
	}
}

// claimer does a step of a claimer. It returns false if the step is not possible now.
func (m *retiredModel) claimer(s *retiredState, i int) bool {
	c := &s.claimers[i]
	switch c.pc {
	case claimerClaim:
		if m.fault == looksFirst && !c.looked {
			c.looked, c.retired = true, s.retired
			return true
		}
		if s.busy != 0 {
			return false
		}
		s.busy = uint8(i + 1)
		c.pc = claimerLook
		if m.fault == doesNotLook {
			c.pc = claimerRun
		}
	case claimerLook:
		if m.fault != looksFirst {
			c.retired = s.retired
		}
		c.pc = claimerRun
		if c.retired {
			c.pc = claimerWatch
		}
	case claimerWatch:
		if s.locked {
			return false
		}
		s.watched = true
		c.pc = claimerRun
	case claimerRun:
		s.busy = 0
		if s.inside == uint8(i+1) {
			s.inside = 0
		}
		*c = claimer{done: c.done + 1}
	}
	return true
}

// resize does a step of Resize, which retires the worker and brings it back. It returns false if
// the step is not possible now. The steps of a round are:
//
//	r   set worker.retired
//	b   if the worker is busy, call watchRetired
//	w   store the list of workers without it
//	W   store the list of workers with it
//	R   clear worker.retired
//	    nothing: other goroutines may run between two rounds
func (m *retiredModel) resize(s *retiredState) bool {
	round := "rbwWR "
	switch m.fault {
	case checksBusyFirst:
		round = "brwWR "
	case storesWorkersFirst:
		round = "wrbWR "
	case clearsFirst:
		round = "rbwRW "
	}
	if int(s.resize) >= resizeRounds*len(round) {
		return false
	}
	switch round[int(s.resize)%len(round)] {
	case 'r':
		s.retired = true
	case 'b':
		if s.busy != 0 {
			if s.locked {
				return false
			}
			s.watched = true
		}
	case 'w':
		s.active = false
	case 'W':
		s.active = true
	case 'R':
		s.retired = false
	}
	s.resize++
	return true
}

// watchdog does a step of timekeeper.anyBusy. It returns false if it has done all its rounds.
func (m *retiredModel) watchdog(s *retiredState) bool {
	if s.watchdog >= watchdogRounds*4 {
		return false
	}
	switch s.watchdog % 4 {
	case 0:
		s.locked, s.saw, s.inside = true, false, 0
		for i, c := range s.claimers {
			if c.pc == claimerRun {
				s.inside = uint8(i + 1)
			}
		}
	case 1:
		s.saw = s.active && s.busy != 0
	case 2:
		if s.watched && m.fault == forgetsBusy {
			s.watched = false
		} else if s.watched {
			s.watched = s.busy != 0
			s.saw = s.saw || s.watched
		}
	case 3:
		s.locked = false
		s.missed = s.inside != 0 && !s.saw
		s.inside, s.saw = 0, false
	}
	s.watchdog++
	return true
}

func (m *retiredModel) check(s *retiredState) error {
	if s.missed {
		return fmt.Errorf("the watchdog does not see that a callback is running")
	}
	return nil
}

// final returns an error if a state in which no step is possible is wrong.
func (m *retiredModel) final(s *retiredState) error {
	if s.busy != 0 || s.locked {
		return fmt.Errorf("the worker is busy: %d, or the timekeeper is locked: %t", s.busy, s.locked)
	}
	return nil
}

func (m *retiredModel) explore() (int, error) {
	return interleave.Explore(retiredState{active: true}, m.steps, m.check, m.final)
}

func TestTheWatchdogSeesEveryCallbackOfARetiredWorker(t *testing.T) {
	interleave.SkipUnderRace(t)
	n, err := (&retiredModel{}).explore()
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d states", n)
}

func TestTheModelOfARetiredWorkerFindsEveryPlantedFault(t *testing.T) {
	interleave.SkipUnderRace(t)
	for fault := retiredSound + 1; fault < numRetiredFaults; fault++ {
		n, err := (&retiredModel{fault}).explore()
		if err == nil {
			t.Errorf("fault %d is not found in %d states", fault, n)
		}
		t.Logf("fault %d: %v", fault, err)
	}
}
