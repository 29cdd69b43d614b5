package context

import (
	std "context"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

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

// WithDeadline makes a context below parent that ends at d, by a timer of an engine. now is what the
// clock of the engine has just shown, and remaining the time until d. The cause is that of the end
// by the deadline; nil: there is none.
//
// If the engine refuses the timer, the context has ended from the start. A nil engine stands for the
// default engine. That refuses timers only in a synctest bubble, and there WithDeadline makes a
// standard context.
//
// A context whose parent has an earlier deadline needs no timer. In an engine whose timers are
// counted it gets one nevertheless, because the program counts contexts.
func WithDeadline(eng *engine.Engine, parent Context, now, d time.Time, remaining time.Duration, cause error) (Context, CancelFunc) {
	if parent == nil {
		panic("cannot create context from nil parent")
	}
	var refusal error
	if eng != nil {
		refusal = eng.Refusal(now)
	}
	if sooner, ok := parent.Deadline(); ok && sooner.Before(d) {
		if refusal == nil && (eng == nil || !eng.Counted()) {
			return WithCancel(parent)
		}
		d = sooner
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
	switch {
	case refusal != nil:
		return c.refuse(eng, refusal)
	case remaining <= 0:
		c.finish(c.late)
	}
	if c.isEnding() {
		c.timer = orDefault(eng).NoDeadline()
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
	if o.foreign != nil {
		c.watchForeign(o.foreign)
	}
	return c, c.cancel
}

func orDefault(eng *engine.Engine) *engine.Engine {
	if eng == nil {
		return engine.Default()
	}
	return eng
}

// refuse ends a new context, unless it has ended, with the error with which the engine refuses its
// timer as the cause.
func (c *timerCtx) refuse(eng *engine.Engine, err error) (Context, CancelFunc) {
	c.timer = eng.NoDeadline()
	c.finish(&reason{std.Canceled, err})
	return c, func() {}
}

// setTimer stores the timer that was made for the context. Its callback may have been called.
func (c *timerCtx) setTimer(t engine.Timer) {
	c.timer = t
	if !c.phase.CompareAndSwap(idle, armed) {
		c.phase.Store(armed)
		c.stop()
	}
}

// stop ends the context, unless it has ended. It is both the callback of the timer and the
// CancelFunc, which saves an allocation. The timer shows why it is called: if it can be stopped, the
// call is from the program. If it was left, the engine was shut down before. Otherwise the deadline
// has passed, even if the call is from the program. In the phase idle the call is the callback, and
// the timer is not stored yet: setTimer calls stop again.
func (c *timerCtx) stop() {
	if c.phase.Load() == idle && c.phase.CompareAndSwap(idle, called) {
		return
	}
	c.checkParent() // an earlier end above is the reason
	c.mu.Lock()
	before := c.phase.Load()
	if before < ending {
		switch {
		case c.stopTimer():
			c.finishLocked(canceled)
		case c.timer.WasLeft():
			c.finishLocked(left)
		default:
			c.finishLocked(c.late)
		}
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
	remaining := c.deadline.Sub(c.timer.Engine().Wall())
	return nameOf(c.parent) + ".WithDeadline(" + c.deadline.String() + " [" + remaining.String() + "])"
}
