package loop

import (
	"context"
	"time"
)

// Run runs the loop until Stop is called (nil), ctx ends (its error) or the loop is closed
// (ErrClosed). When there is nothing to run it waits, without a goroutine of its own and
// without using the processor. A second Run at the same time, or from a callback, answers
// [ErrRunning].
func (l *Loop) Run(ctx context.Context) error { return l.run(ctx, false) }

// RunUntilIdle is Run that also returns, with nil, when nothing is scheduled, posted or
// held.
func (l *Loop) RunUntilIdle(ctx context.Context) error { return l.run(ctx, true) }

func (l *Loop) run(ctx context.Context, untilIdle bool) error {
	if !l.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer l.running.Store(false)
	s := l.state.Load()
	if s == nil {
		return ErrClosed
	}
	if s.inCallback {
		return ErrRunning // in a callback of Step
	}
	defer l.waker.closeAlarm()

	var unwatch func() bool
	defer func() {
		if unwatch != nil {
			unwatch()
		}
	}()
	endless := ctx.Done() == nil
	for {
		if l.signals.load()&sigRecheck != 0 {
			l.signals.clear(sigRecheck) // before looking at what it may be about
		}
		if !endless && ctx.Err() != nil {
			l.signals.clear(sigStopped)
			return ctx.Err()
		}
		l.iterate(s, l.signals.load()&sigStopped == 0)
		held := l.holds.Load() // before the signals: who posts and then releases is seen to have posted
		sig := l.signals.load()
		switch {
		case sig&sigClosed != 0:
			return ErrClosed
		case sig&sigStopped != 0:
			l.signals.clear(sigStopped)
			return nil
		case !s.queue.empty():
			continue
		case sig&sigPosted != 0:
			s.gatherPosts()
			continue
		}
		armed := s.timers.Len() > 0
		if untilIdle && !armed && held == 0 {
			s.trim()
			return nil
		}
		if s.virtual && armed {
			if held == 0 {
				s.trim()
				continue // the next iteration jumps
			}
			if at, _ := s.nextDeadline(); at <= s.now {
				continue // due without a jump
			}
			armed = false
		}
		if unwatch == nil && !endless {
			unwatch = context.AfterFunc(ctx, func() { l.signal(sigRecheck) })
		}
		l.sleep(s, armed)
	}
}

// Step runs one iteration and does not wait. It tells whether anything is scheduled or
// posted, and how long it is until there is something to run; 0: at once. On a virtual
// clock, which jumps if there is nothing to run before that, this is virtual time.
//
// Step panics in a callback, and while Run is running. On a closed loop it answers false.
func (l *Loop) Step() (next time.Duration, ok bool) {
	if l.running.Load() {
		panic("loop: Step while the loop is running")
	}
	s := l.state.Load()
	if s == nil {
		return 0, false
	}
	if s.inCallback {
		panic("loop: Step in a callback")
	}
	l.iterate(s, true)
	switch sig := l.signals.load(); {
	case sig&sigClosed != 0:
		return 0, false
	case sig&sigPosted != 0 || !s.queue.empty():
		return 0, true
	}
	s.trim()
	at, armed := s.nextDeadline()
	if !armed {
		return 0, false
	}
	return max(at-s.readClock(), 0), true
}

// iterate runs one iteration, or the rest of one that was cut short. A virtual clock may
// jump unless the loop is to stop: then it would not wait on another clock, either.
func (l *Loop) iterate(s *state, mayJump bool) {
	if !s.iterating {
		l.beginIteration(s, mayJump)
	}
	l.finishIteration(s)
}

// begin settles what the iteration consists of: all that is queued by now, and the timers
// that are due at its time.
func (l *Loop) beginIteration(s *state, mayJump bool) {
	held := s.virtual && l.holds.Load() != 0 // before the inbox, as in run
	if l.signals.load()&sigPosted != 0 {
		posts, contended := l.collect(&s.queue)
		s.mayLinger = true
		s.lastPosts = posts
		if contended {
			s.gathersLeft = gatherRounds
		}
	}
	switch {
	case !s.virtual:
		s.now = time.Since(s.start)
	case mayJump && !held && s.queue.empty():
		s.jumpToDeadline()
	}
	s.queue.rotate()
	s.collectDue()
	s.iterating = true
}

// trim gives memory back when there is nothing to run.
func (s *state) trim() {
	s.trimTimers()
}
