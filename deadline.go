package foliot

import (
	"context"
	"time"

	nodes "github.com/foliot-go/foliot/internal/context"
)

// WithTimeout returns a context derived from parent that ends after d on the runtime's clock, and a
// function that cancels it. The context behaves exactly like one from context.WithTimeout and mixes
// freely with standard contexts, as parent or child. If parent has an earlier deadline, even on
// another clock, the context ends with parent.
//
// On a manual clock, Deadline returns a time on that clock. Code that compares it with the real
// time, such as net.Dialer or the standard library's context.WithTimeout, needs a manual clock that
// starts at time.Now().
//
// The context counts as a timer until it ends. Shutdown cancels it: Err returns context.Canceled,
// and context.Cause returns [ErrClosed]. If the runtime cannot create the context, it is canceled
// from the start, and its cause is the error that AfterFunc would have returned: [ErrFull],
// ErrClosed, or another one in a synctest bubble that the runtime is not part of.
//
// Call the CancelFunc as soon as the context is no longer needed. The runtime refers to the context
// until it ends.
func (rt *Runtime) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return rt.withTimeout(parent, d, nil)
}

// WithTimeoutCause is like [Runtime.WithTimeout] but also sets the context's cause when the timeout
// expires. The CancelFunc does not set the cause.
func (rt *Runtime) WithTimeoutCause(parent context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	return rt.withTimeout(parent, d, cause)
}

// WithDeadline is like [Runtime.WithTimeout], but takes a point in time on the runtime's clock.
func (rt *Runtime) WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return rt.withDeadline(parent, t, nil)
}

// WithDeadlineCause is like [Runtime.WithDeadline] but also sets the context's cause when the
// deadline passes. The CancelFunc does not set the cause.
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
