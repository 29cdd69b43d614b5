package context

import (
	std "context"
	"time"
)

// WithTimeout returns a context derived from parent that ends after a time. See the function
// of the standard package.
func WithTimeout(parent Context, timeout time.Duration) (Context, CancelFunc) {
	now := time.Now()
	return withDeadline(parent, now, now.Add(timeout), timeout, nil)
}

// WithTimeoutCause is like [WithTimeout] and sets the cause for when the time is over. See
// the function of the standard package.
func WithTimeoutCause(parent Context, timeout time.Duration, cause error) (Context, CancelFunc) {
	now := time.Now()
	return withDeadline(parent, now, now.Add(timeout), timeout, cause)
}

// WithDeadline returns a context derived from parent that ends at a point in time. See the
// function of the standard package.
func WithDeadline(parent Context, d time.Time) (Context, CancelFunc) {
	now := time.Now()
	return withDeadline(parent, now, d, d.Sub(now), nil)
}

// WithDeadlineCause is like [WithDeadline] and sets the cause for when the deadline has
// passed. See the function of the standard package.
func WithDeadlineCause(parent Context, d time.Time, cause error) (Context, CancelFunc) {
	now := time.Now()
	return withDeadline(parent, now, d, d.Sub(now), cause)
}

// A timerCtx is a context with a deadline. Programs that print the type of a context see the name
// of the standard type.
type timerCtx struct {
	node
	deadline time.Time // set when it is made
	late     *reason   // the reason if the deadline passes. Set when it is made
	cancel   func()    // the method stop. Set when it is made

	// What the context ends with if that is not a node.
	source  Context     // a standard context; nil: it is something else. Set when it is made
	relay   *relay      // tells the context that source has ended; nil: nothing does. Under mu
	unwatch func() bool // undoes an AfterFunc of source or of a foreign context; nil: there is none. Under mu
}

// withDeadline makes a context that ends at d. now is the present time, and left the time until d.
func withDeadline(parent Context, now, d time.Time, left time.Duration, cause error) (Context, CancelFunc) {
	if parent == nil {
		panic("cannot create context from nil parent")
	}
	if sooner, ok := parent.Deadline(); ok && sooner.Before(d) {
		return WithCancel(parent)
	}
	o, over := originOf(parent)
	if over {
		return std.WithDeadlineCause(parent, d, cause)
	}
	c := &timerCtx{node: node{parent: parent, up: o.node}, deadline: d, late: exceeded, source: o.standard}
	if cause != nil {
		c.late = &reason{std.DeadlineExceeded, cause}
	}
	switch {
	case o.node != nil:
		c.root, c.sourceErr = o.node.root, o.node.sourceErr
		o.node.prepare()
		c.checkParent()
	case o.standard != nil:
		c.root = c
		c.sourceErr = errorOf(o.standard)
	}
	if left <= 0 {
		c.finish(c.late)
	}
	if c.isEnding() {
		return c, func() {}
	}
	c.cancel = c.stop
	t, ok := armTimer(now, left, c.cancel)
	if !ok {
		// The caller is in a synctest bubble, with another clock.
		return std.WithDeadlineCause(parent, d, cause)
	}
	c.timer = t
	c.phase.CompareAndSwap(idle, armed) // fails if the callback has run
	if o.foreign != nil {
		c.watchForeign(o.foreign)
	}
	return c, c.cancel
}

// stop ends the context, unless it has ended. It is both the callback of the timer and the
// CancelFunc, which saves an allocation. The timer shows which of the two the call is: if it can be
// stopped, the call is from the program. Otherwise the deadline has passed, even if the call is from
// the program. In the phase idle the call is the callback: the program has no CancelFunc yet.
func (c *timerCtx) stop() {
	c.checkParent() // an earlier end above is the reason
	c.mu.Lock()
	before := c.phase.Load()
	if before < ending {
		r := c.late
		if c.stopTimer() {
			r = canceled
		}
		c.finishLocked(r)
	}
	relay, unwatch := c.relay, c.unwatch
	c.relay, c.unwatch = nil, nil
	c.mu.Unlock()
	c.leave(before)
	if relay != nil {
		relay.remove(c)
	}
	if unwatch != nil {
		unwatch()
	}
}

// watch has the context end when source has ended, by a goroutine that source starts.
func (c *timerCtx) watch() {
	if r := relayOf(c.source); r != nil && r.add(c) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.relay == nil && c.unwatch == nil && !c.isEnding() {
		c.unwatch = std.AfterFunc(c.source, c.cancel)
	}
}

// watched reports whether watch has done its work.
func (c *timerCtx) watched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.relay != nil || c.unwatch != nil
}

// watchForeign has the context end when one of an unknown type has ended. No question to a context
// looks at such a context, because its methods are code of the program.
func (c *timerCtx) watchForeign(ctx Context) {
	unwatch := afterForeign(ctx, func() {
		r := reasonOf(ctx)
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
	return nameOf(c.parent) + ".WithDeadline(" + c.deadline.String() + " [" + time.Until(c.deadline).String() + "])"
}
