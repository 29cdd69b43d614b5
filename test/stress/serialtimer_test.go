package stress_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A serialTimer is a reusable timer that many goroutines and callbacks use, including its own
// callback, but one at a time. So the results of most calls are known beforehand. The other
// results reveal the outcome of the previous arming: the n-th run belongs to the n-th arming that
// was neither stopped nor replaced.
type serialTimer struct {
	oracle *oracle
	others []atomic.Pointer[serialTimer]

	mu        sync.Mutex // held during each operation
	timer     foliot.Timer
	state     armState
	due       int64 // the earliest time at which the latest arming may run
	uncertain int64 // armings that ran or were replaced or freed
	freed     bool

	// granted is the number of armings that have run or will run, too large by at most uncertain.
	// dueOfRun has for each run, by its number modulo 16, the earliest time at which it may begin;
	// after uncertain armings, that of an earlier run. At most two runs are outstanding, so with
	// few uncertain armings no run finds its element overwritten.
	granted  atomic.Int64
	dueOfRun [16]atomic.Int64
	ran      atomic.Int64
	running  atomic.Bool
}

// An armState is what is known about the latest arming of a serialTimer.
type armState int

const (
	notArmed  armState = iota // it has run or is about to, was stopped, or there was none
	armedNear                 // it may have come due
	armedFar                  // it is armed
)

// newSerialTimer stores a new timer in p. If MaxTimers is reached, it leaves p unchanged.
func (o *oracle) newSerialTimer(p *atomic.Pointer[serialTimer], others []atomic.Pointer[serialTimer]) {
	s := &serialTimer{oracle: o, others: others}
	s.mu.Lock()
	defer s.mu.Unlock()
	ok := o.takeSlots(1, func() (err error) {
		s.timer, err = o.r.NewTimer(s.run)
		return err
	})
	if ok {
		p.Store(s)
	}
}

// run is the callback.
func (s *serialTimer) run() {
	n := s.ran.Add(1)
	s.oracle.enter(s.dueOfRun[n%16].Load())
	defer s.oracle.leave()
	if !s.running.CompareAndSwap(false, true) {
		s.oracle.fail("a callback overlaps with itself")
	}
	defer s.running.Store(false)
	if most := s.granted.Load(); n > most {
		s.oracle.fail("run %d of %d armings", n, most)
	}
	if s.oracle.closing.Load() {
		return
	}
	switch rand.IntN(8) {
	case 0, 1:
		s.operate()
	case 2:
		s.others[rand.IntN(len(s.others))].Load().operate()
	}
	s.oracle.misbehave()
}

// arm arms the timer in any state.
func (s *serialTimer) arm() {
	if s.state == armedNear && rand.IntN(2) == 0 {
		s.stop()
	}
	d, far := randomDelay()
	due := s.oracle.now() + int64(d)
	n := s.granted.Load()
	switch s.state {
	case notArmed:
		s.dueOfRun[(n+1)%16].Store(due)
		s.granted.Add(1)
	case armedNear: // either the prior arming runs by the end of the call, or it is replaced
		s.dueOfRun[n%16].Store(min(due, s.due))
		s.dueOfRun[(n+1)%16].Store(min(due, s.due))
		s.granted.Add(1)
	case armedFar:
		s.dueOfRun[n%16].Store(due)
	}
	if !s.reset(d, due) {
		if !s.oracle.closing.Load() {
			s.oracle.fail("Reset returns false, want true")
		}
		return
	}
	switch {
	case s.state == armedFar:
		s.oracle.replaced.Add(1)
	case s.state == armedNear && s.oracle.now() < s.due:
		s.dueOfRun[n%16].Store(due)
		s.granted.Add(-1)
		s.oracle.replaced.Add(1)
	case s.state == armedNear:
		s.uncertain++
		s.oracle.uncertain.Add(1)
	}
	s.due = due
	s.state = armedNear
	if far {
		s.state = armedFar
	}
}

func (s *serialTimer) reset(d time.Duration, due int64) bool {
	s.oracle.armBegun.Add(1)
	ok := s.oracle.resetEither(s.timer, d, due)
	if ok {
		s.oracle.armed.Add(1)
	}
	return ok
}

// resetEither calls Reset with d or ResetAt with due, at random.
func (o *oracle) resetEither(timer foliot.Timer, d time.Duration, due int64) bool {
	if rand.IntN(2) == 0 {
		return timer.Reset(d)
	}
	return timer.ResetAt(o.start.Add(time.Duration(due)))
}

// stop calls Stop and checks the result.
func (s *serialTimer) stop() {
	ok := s.timer.Stop()
	switch {
	case ok && s.state == notArmed:
		s.oracle.fail("Stop of a timer that is not armed returns true")
	case ok:
		s.countStopped()
	case s.oracle.closing.Load():
	case s.state == armedFar:
		s.oracle.fail("Stop of a timer that is armed for hours returns false")
	case s.state == armedNear && s.oracle.now() < s.due:
		s.oracle.fail("Stop of a timer that is not due yet returns false")
	}
	s.state = notArmed
}

// countStopped counts the latest arming as stopped. It will not run.
func (s *serialTimer) countStopped() {
	s.oracle.stopped.Add(1)
	n := s.granted.Add(-1)
	if ran := s.ran.Load(); ran > n {
		s.oracle.fail("an arming has run and was stopped: %d runs of %d armings", ran, n)
	}
}

// free frees the timer.
func (s *serialTimer) free() {
	if s.state == armedNear && rand.IntN(2) == 0 {
		s.stop()
	}
	if !s.timer.Free() {
		if !s.oracle.closing.Load() {
			s.oracle.fail("Free returns false, want true")
		}
		return
	}
	s.freed = true
	s.oracle.slotsFreed.Add(1)
	switch {
	case s.state == armedFar, s.state == armedNear && s.oracle.now() < s.due:
		s.countStopped()
	case s.state == armedNear:
		s.uncertain++
		s.oracle.uncertain.Add(1)
	}
	s.state = notArmed
	s.oracle.checkStale(s.timer)
}

// checkStale checks that all calls on a timer that is gone return false.
func (o *oracle) checkStale(timer foliot.Timer) {
	if _, ok := timer.Deadline(); ok || timer.Reset(0) || timer.Stop() || timer.Free() {
		o.fail("a call on a timer that is gone returns true")
	}
}

// checkDeadline checks the result of Deadline.
func (s *serialTimer) checkDeadline() {
	at, ok := s.timer.Deadline()
	switch {
	case ok && s.state == notArmed:
		s.oracle.fail("Deadline of a timer that is not armed returns true")
	case ok:
		if early := s.oracle.start.Add(time.Duration(s.due)).Sub(at); early > 0 {
			s.oracle.fail("Deadline is %v too early", early)
		}
	case s.state == armedFar && !s.oracle.closing.Load():
		s.oracle.fail("Deadline of a timer that is armed for hours returns false")
	}
}

// operate does one random operation.
func (s *serialTimer) operate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := rand.IntN(32); {
	case s.freed:
		s.oracle.checkStale(s.timer)
	case s.uncertain > 4:
		s.free()
	case n < 17:
		s.arm()
	case n < 28:
		s.stop()
	case n < 31:
		s.checkDeadline()
	default:
		s.free()
	}
}

// checkRuns checks the number of runs. The runtime must be quiet.
func (s *serialTimer) checkRuns() {
	if got, most := s.ran.Load(), s.granted.Load(); got > most || got < most-s.uncertain {
		s.oracle.fail("got %d runs, want %d to %d", got, most-s.uncertain, most)
	}
}
