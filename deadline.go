package foliot

import (
	"context"
	"time"

	nodes "github.com/foliot-go/foliot/internal/context"
)

// WithTimeout returns a context derived from parent that ends after d on the clock of the runtime,
// and a function that cancels it. In everything that can be seen it behaves like a context of
// context.WithTimeout, and it can be above and below contexts of the standard library. If the
// deadline of parent is earlier, parent ends the context, whatever clock that deadline is of.
//
// On a manual clock, Deadline returns a time of that clock. Code that compares it with the real time,
// such as net.Dialer and context.WithTimeout of the standard library, needs a manual clock that begins
// at time.Now().
//
// The context counts as a timer until it has ended. Shutdown ends it: Err returns context.Canceled,
// and context.Cause returns [ErrClosed]. A context that the runtime cannot make has ended from the
// start: Err returns context.Canceled, and the cause is the error that AfterFunc would have returned.
// That is [ErrFull], or ErrClosed, or another error in a synctest bubble to which the runtime does not
// belong.
//
// Call the CancelFunc when the context is no longer needed. The runtime keeps the context until it
// has ended.
func (rt *Runtime) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return rt.withTimeout(parent, d, nil)
}

// WithTimeoutCause is like [Runtime.WithTimeout] and sets the cause for when the time is over. The
// CancelFunc does not set the cause.
func (rt *Runtime) WithTimeoutCause(parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return rt.withTimeout(parent, d, cause)
}

// WithDeadline is like [Runtime.WithTimeout], for a point in time on the clock of the runtime.
func (rt *Runtime) WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return rt.withDeadline(parent, t, nil)
}

// WithDeadlineCause is like [Runtime.WithDeadline] and sets the cause for when the deadline has
// passed. The CancelFunc does not set the cause.
func (rt *Runtime) WithDeadlineCause(parent context.Context, t time.Time, cause error) (context.Context, context.CancelFunc) {
	return rt.withDeadline(parent, t, cause)
}

func (rt *Runtime) withTimeout(parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	now := rt.Now()
	return nodes.WithDeadline(rt.eng, parent, now, now.Add(d), d, cause)
}

func (rt *Runtime) withDeadline(parent context.Context, t time.Time, cause error) (context.Context, context.CancelFunc) {
	now := rt.Now()
	return nodes.WithDeadline(rt.eng, parent, now, t, t.Sub(now), cause)
}
