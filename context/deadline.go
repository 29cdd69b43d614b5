package context

import (
	std "context"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// WithTimeout returns a context derived from parent that ends after a time. See the function
// of the standard package.
func WithTimeout(parent Context, timeout time.Duration) (Context, CancelFunc) {
	return withDeadline(parent, time.Now().Add(timeout), timeout, nil)
}

// WithTimeoutCause is like [WithTimeout] and sets the cause for when the time is over. See
// the function of the standard package.
func WithTimeoutCause(parent Context, timeout time.Duration, cause error) (Context, CancelFunc) {
	return withDeadline(parent, time.Now().Add(timeout), timeout, cause)
}

// WithDeadline returns a context derived from parent that ends at a point in time. See the
// function of the standard package.
func WithDeadline(parent Context, d time.Time) (Context, CancelFunc) {
	return withDeadline(parent, d, time.Until(d), nil)
}

// WithDeadlineCause is like [WithDeadline] and sets the cause for when the deadline has
// passed. See the function of the standard package.
func WithDeadlineCause(parent Context, d time.Time, cause error) (Context, CancelFunc) {
	return withDeadline(parent, d, time.Until(d), cause)
}

// withDeadline makes a context that ends at d, which is left from now.
func withDeadline(parent Context, d time.Time, left time.Duration, cause error) (Context, CancelFunc) {
	if parent == nil {
		panic("cannot create context from nil parent")
	}
	if sooner, ok := parent.Deadline(); ok && sooner.Before(d) {
		return WithCancel(parent)
	}
	up, over := upstream(parent)
	if over {
		return std.WithDeadlineCause(parent, d, cause)
	}
	c := &timerCtx{cancelCtx: cancelCtx{parent: parent, up: up}, deadline: d, cause: cause}
	c.follow()
	if left <= 0 {
		c.finish(c.late())
	}
	if c.end.Load() != nil {
		return c, func() {}
	}
	stop := c.stop
	if !c.arm(left, stop) {
		return std.WithDeadlineCause(parent, d, cause)
	}
	if _, unknown := up.(foreign); unknown {
		c.posted(false)
	}
	return c, stop
}

// A timerCtx is a context with a deadline.
type timerCtx struct {
	cancelCtx
	deadline time.Time // set when it is made
	cause    error     // of its end by the deadline; nil: DeadlineExceeded. Set when it is made
}

// arm sets the timer. It answers false if the caller is in a synctest bubble, whose time is
// not ours.
func (c *timerCtx) arm(left time.Duration, f func()) bool {
	c.mu.Lock() // f may run before the timer is known, and asks for it
	defer c.mu.Unlock()
	var err error
	c.timer, err = engine.Default().AfterFunc(left, f, true)
	return err == nil
}

// stop ends the context. It is both the timer's callback and the user's CancelFunc, one
// allocation for two: who calls it is seen from the timer. While there is something to stop, it is the
// user; when there is not, time was up, even if it is the user who was here first.
func (c *timerCtx) stop() {
	c.follow()
	c.mu.Lock()
	if c.end.Load() == nil {
		if c.timer.Stop() {
			c.finishLocked(canceled)
		} else {
			c.finishLocked(c.late())
		}
	}
	c.mu.Unlock()
	c.leave()
}

// late returns the reason of a context whose deadline has passed.
func (c *timerCtx) late() *reason {
	if c.cause == nil {
		return exceeded
	}
	return &reason{std.DeadlineExceeded, c.cause}
}

func (c *timerCtx) Deadline() (deadline time.Time, ok bool) {
	return c.deadline, true
}

func (c *timerCtx) String() string {
	return nameOf(c.parent) + ".WithDeadline(" + c.deadline.String() + " [" + time.Until(c.deadline).String() + "])"
}
