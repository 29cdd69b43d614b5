package context

import (
	std "context"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A timerCtx is a context with a deadline. It bears the name of the standard type because programs
// that print the type of a context see it.
type timerCtx struct {
	node
	deadline time.Time // set on creation
	late     *reason   // the reason if the deadline passes. Set on creation
	cancel   func()    // the method stop. Set on creation

	// What the context ends with if that is not a node.
	source  Context     // a standard context; nil: something else. Set on creation
	relay   *relay      // notifies the context of source's end; nil: none. Under mu
	unwatch func() bool // undoes an AfterFunc of source or of a foreign context; nil: none. Under mu
}

// WithDeadline returns a context below parent that ends at d, when an engine's timer fires. now is
// what the engine's clock has just shown, and remaining is the time from then until d. cause is
// what Cause returns after the deadline; nil: DeadlineExceeded.
//
// If the engine refuses the timer, the context has ended from the start. A nil engine stands for
// the default engine. If that refuses the timer, because the caller is in a synctest bubble,
// WithDeadline returns a standard context instead.
//
// A context whose parent has an earlier deadline needs no timer and gets none.
func WithDeadline(eng *engine.Engine, parent Context, now, d time.Time, remaining time.Duration, cause error) (Context, CancelFunc) {
	return withDeadline(eng, parent, now, d, remaining, cause, false)
}

// WithOwnTimer is like WithDeadline, but the context gets a timer even below an earlier deadline.
// Package clock's Fake uses it because tests count the contexts that wait on the clock.
func WithOwnTimer(eng *engine.Engine, parent Context, now, d time.Time, remaining time.Duration) (Context, CancelFunc) {
	return withDeadline(eng, parent, now, d, remaining, nil, true)
}

func withDeadline(eng *engine.Engine, parent Context, now, d time.Time, remaining time.Duration, cause error, own bool) (Context, CancelFunc) {
	if parent == nil {
		panic("cannot create context from nil parent")
	}
	var refusal error
	if eng != nil {
		refusal = eng.CheckDeadline(now)
	}
	if sooner, ok := parent.Deadline(); ok && sooner.Before(d) {
		if refusal == nil && !own {
			return WithCancel(parent)
		}
		d = sooner
	}
	o, over := findOrigin(parent)
	if over {
		return std.WithDeadlineCause(parent, d, cause)
	}
	c := &timerCtx{node: node{parent: parent, above: o.node}, deadline: d, late: reasonDeadline, source: o.standard}
	if cause != nil {
		c.late = &reason{std.DeadlineExceeded, cause}
	}
	switch {
	case o.node != nil:
		c.root, c.sourceErr = o.node.root, o.node.sourceErr
		o.node.linkToParent()
		c.checkParent()
	case o.standard != nil:
		c.root = c
		c.sourceErr = errorField(o.standard)
	}
	switch {
	case refusal != nil:
		return c.refuse(eng, refusal)
	case remaining <= 0:
		c.finish(c.late)
	}
	if c.isEnding() {
		c.timer = orDefault(eng).NilTimer()
		return c, func() {}
	}
	c.cancel = c.stop
	t, err := orDefault(eng).NewDeadline(now, remaining, c.cancel)
	if err != nil {
		if eng == nil {
			return std.WithDeadlineCause(parent, d, cause)
		}
		return c.refuse(eng, err)
	}
	c.setTimer(t)
	if own || eng != nil && eng.Manual != nil && !eng.InBubble() {
		// From now on an end above stops the timer immediately, so that tests no longer count it.
		// If the engine is in a bubble, the channel would belong to the bubble, and the program
		// could not cancel the context from outside.
		c.Done()
	}
	if o.foreign != nil {
		c.watchForeign(o.foreign)
		return c, c.stopForeign
	}
	return c, c.cancel
}

func orDefault(eng *engine.Engine) *engine.Engine {
	if eng == nil {
		return engine.Default()
	}
	return eng
}

// refuse ends a new context whose timer the engine refuses, unless it has ended already. err, the
// engine's error, is the cause.
func (c *timerCtx) refuse(eng *engine.Engine, err error) (Context, CancelFunc) {
	c.timer = eng.NilTimer()
	c.finish(&reason{std.Canceled, err})
	return c, func() {}
}

// setTimer stores the context's new timer, whose callback may have been called already.
func (c *timerCtx) setTimer(t engine.Timer) {
	c.timer = t
	if !c.phase.CompareAndSwap(phaseIdle, phaseArmed) {
		c.phase.Store(phaseArmed)
		c.stop()
	}
}

// stop is the timer's callback. Unless the parent is foreign it is also the CancelFunc, which saves
// an allocation. A foreign parent's stop function is user code: it may block or call Goexit. It
// gets a goroutine of its own, because the caller may be Shutdown or the engine's driver, for which
// all timers wait.
func (c *timerCtx) stop() {
	unwatch := c.end()
	switch {
	case unwatch == nil:
	case c.source != nil:
		unwatch() // a standard context's stop function does not block
	default:
		go unwatch()
	}
}

// stopForeign is the CancelFunc below a foreign parent. As in the standard package, it does not
// return before the parent's stop function does.
func (c *timerCtx) stopForeign() {
	if unwatch := c.end(); unwatch != nil {
		unwatch()
	}
}

// end ends the context, unless it has ended already, and returns the function that the caller must
// call to undo an AfterFunc, or nil. The timer shows why end was called. If it can still be
// stopped, the program called the CancelFunc; if it is an orphan, the engine was shut down first;
// otherwise the deadline has passed, even if it is the program that calls. In the phase idle the
// caller is the timer's callback and the timer is not stored yet, so setTimer calls stop again.
func (c *timerCtx) end() (unwatch func() bool) {
	if c.phase.Load() == phaseIdle && c.phase.CompareAndSwap(phaseIdle, phaseCalled) {
		return nil
	}
	c.checkParent() // an earlier end above is the reason
	c.mu.Lock()
	before := c.phase.Load()
	if before < phaseEnding {
		switch {
		case c.stopTimer():
			c.finishLocked(reasonCanceled)
		case c.timer.IsOrphan():
			c.finishLocked(reasonShutdown)
		default:
			c.finishLocked(c.late)
		}
	}
	relay := c.relay
	unwatch = c.unwatch
	c.relay, c.unwatch = nil, nil
	c.mu.Unlock()
	c.leave(before)
	if relay != nil {
		relay.remove(c)
	}
	return unwatch
}

// watch arranges for the context to end when source ends, on a goroutine that source starts.
func (c *timerCtx) watch() {
	if r := findRelay(c.source); r != nil && r.add(c) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.relay == nil && c.unwatch == nil && !c.isEnding() {
		c.unwatch = std.AfterFunc(c.source, c.cancel)
	}
}

// watched reports whether the context is being watched for the end of source.
func (c *timerCtx) watched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.relay != nil || c.unwatch != nil
}

// watchForeign arranges for the context to end when a foreign one does. Unlike a source, a foreign
// context is never consulted by Err or Done, because its methods are user code.
func (c *timerCtx) watchForeign(ctx Context) {
	unwatch := afterForeign(ctx, func() {
		r := endReason(ctx)
		if r == nil {
			panic("context: internal error: missing cancel error")
		}
		c.finish(r)
	})
	c.mu.Lock()
	over := c.isEnding()
	if !over {
		c.unwatch = unwatch
	}
	c.mu.Unlock()
	if over {
		unwatch()
	}
}

func (c *timerCtx) Deadline() (deadline time.Time, ok bool) {
	return c.deadline, true
}

func (c *timerCtx) String() string {
	remaining := c.deadline.Sub(c.timer.Engine().NowTime())
	return contextName(c.parent) + ".WithDeadline(" + c.deadline.String() + " [" + remaining.String() + "])"
}
