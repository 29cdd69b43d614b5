package loop

import (
	"context"
	"time"
)

// Run runs the loop until Stop is called, ctx ends or the loop is closed, and returns nil,
// ctx.Err() or ErrClosed, respectively. While there is nothing to call, Run blocks, without another
// goroutine and without using CPU time. Run returns [ErrRunning] if the loop is already running,
// even if it is called from a callback.
func (l *Loop) Run(ctx context.Context) error { return l.run(ctx, false) }

// RunUntilIdle is like Run, but also returns, with nil, when nothing is scheduled, posted or held.
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
		return ErrRunning // called from a callback that Step called
	}
	if l.cannotRun(s) {
		return errBubble
	}
	defer l.waker.closeAlarm()
	defer func() { l.show(s) }()

	var unwatch func() bool
	defer func() {
		if unwatch != nil {
			unwatch()
		}
	}()
	endless := ctx.Done() == nil
	for {
		if l.signals.load()&sigRecheck != 0 {
			l.signals.clear(sigRecheck) // before ctx and the holds are checked
		}
		if !endless && ctx.Err() != nil {
			l.signals.clear(sigStopped)
			return ctx.Err()
		}
		l.iterate(s, l.signals.load()&sigStopped == 0)
		l.showIfWanted(s)
		// The holds are read before the signals. A goroutine posts first and then releases, so if
		// its release is seen here, its post is seen below.
		holds := l.holds.Load()
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
		if untilIdle && !armed && holds == 0 {
			s.trimTimers()
			return nil
		}
		if s.virtual && armed {
			if holds == 0 {
				s.trimTimers()
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

// Step runs one iteration without blocking. ok reports whether a callback is scheduled or posted, and
// next is the time until there is a callback to call, 0 if there is one now. On a virtual clock next
// is virtual time, and the following Step jumps over it unless there is something to call sooner.
//
// Step panics if it is called from a callback or while Run is running. On a closed loop it
// returns 0 and false.
func (l *Loop) Step() (next time.Duration, ok bool) {
	if l.running.Load() {
		panic("loop: Step while the loop is running; call Step or Run, not both")
	}
	s := l.state.Load()
	if s == nil {
		return 0, false
	}
	if s.inCallback {
		panic("loop: Step in a callback of the same loop; the iteration that called it goes on by itself")
	}
	if l.cannotRun(s) {
		panic(errBubble)
	}
	l.iterate(s, true)
	l.showIfWanted(s)
	switch sig := l.signals.load(); {
	case sig&sigClosed != 0:
		return 0, false
	case sig&sigPosted != 0 || !s.queue.empty():
		return 0, true
	}
	s.trimTimers()
	at, armed := s.nextDeadline()
	if !armed {
		return 0, false
	}
	return max(at-s.readClock(), 0), true
}

// iterate runs one iteration, or the rest of one that was interrupted. mayJump allows a virtual
// clock to jump to the next deadline. It is false if the loop is about to stop, because on a real
// clock the loop would not wait for the deadline either.
func (l *Loop) iterate(s *state, mayJump bool) {
	if !s.iterating {
		l.beginIteration(s, mayJump)
	}
	l.finishIteration(s)
}

// beginIteration determines what the iteration consists of: the callbacks that are queued by now,
// and the timers that are due at its time.
func (l *Loop) beginIteration(s *state, mayJump bool) {
	held := s.virtual && l.holds.Load() != 0 // before the inbox, for the reason given in run
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
