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
	c := l.core.Load()
	if c == nil {
		return ErrClosed
	}
	if c.inside {
		return ErrRunning // in a callback of Step
	}
	defer l.waker.close()

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
		l.iterate(c, l.signals.load()&sigStopped == 0)
		held := l.held.Load() // before the signals: who posts and then releases is seen to have posted
		s := l.signals.load()
		switch {
		case s&sigClosed != 0:
			return ErrClosed
		case s&sigStopped != 0:
			l.signals.clear(sigStopped)
			return nil
		case !c.queue.empty():
			continue
		case s&sigPosted != 0:
			c.gather()
			continue
		}
		armed := c.timers.Len() > 0
		if untilIdle && !armed && held == 0 {
			c.trim()
			return nil
		}
		if c.virtual && armed {
			if held == 0 {
				c.trim()
				continue // the next iteration jumps
			}
			if at, _ := c.soonest(); at <= c.now {
				continue // due without a jump
			}
			armed = false
		}
		if unwatch == nil && !endless {
			unwatch = context.AfterFunc(ctx, func() { l.signal(sigRecheck) })
		}
		l.sleep(c, armed)
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
	c := l.core.Load()
	if c == nil {
		return 0, false
	}
	if c.inside {
		panic("loop: Step in a callback")
	}
	l.iterate(c, true)
	switch s := l.signals.load(); {
	case s&sigClosed != 0:
		return 0, false
	case s&sigPosted != 0 || !c.queue.empty():
		return 0, true
	}
	c.trim()
	at, armed := c.soonest()
	if !armed {
		return 0, false
	}
	return max(at-c.clock(), 0), true
}

// iterate runs one iteration, or the rest of one that was cut short. A virtual clock may
// jump unless the loop is to stop: then it would not wait on another clock, either.
func (l *Loop) iterate(c *core, mayJump bool) {
	if !c.open {
		l.begin(c, mayJump)
	}
	l.work(c)
}

// begin settles what the iteration consists of: all that is queued by now, and the timers
// that are due at its time.
func (l *Loop) begin(c *core, mayJump bool) {
	held := c.virtual && l.held.Load() != 0 // before the inbox, as in run
	if l.signals.load()&sigPosted != 0 {
		posts, contended := l.collect(&c.queue)
		c.lingers = true
		c.posts = posts
		if contended {
			c.gathers = gatherings
		}
	}
	switch {
	case !c.virtual:
		c.now = time.Since(c.start)
	case mayJump && !held && c.queue.empty():
		c.jump()
	}
	c.queue.turn()
	c.expire()
	c.open = true
}

// trim gives memory back when there is nothing to run.
func (c *core) trim() {
	c.trimTimers()
}
