package context

import (
	std "context"

	"github.com/foliot-go/foliot/internal/engine"
)

// A reason says why a context ended. It is immutable and may be shared by any number of contexts.
type reason struct {
	err   error // what Err returns
	cause error // what Cause returns
}

var (
	reasonCanceled = &reason{std.Canceled, std.Canceled}
	reasonDeadline = &reason{std.DeadlineExceeded, std.DeadlineExceeded}
	reasonShutdown = &reason{std.Canceled, engine.ErrClosed} // the timer's engine was shut down
)

// endReason returns why a context of another package ended, or nil if it has not.
func endReason(ctx Context) *reason {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := std.Cause(ctx)
	for _, r := range [...]*reason{reasonCanceled, reasonDeadline} {
		if err == r.err && cause == r.cause {
			return r
		}
	}
	return &reason{err, cause}
}

// The carriers of the most frequent causes.
var (
	canceledCarrier = newCarrier(std.Canceled)
	exceededCarrier = newCarrier(std.DeadlineExceeded)
)

// causeCarrier returns a standard context from which Cause reads the cause of r. Its Err may differ
// from r.err.
func (r *reason) causeCarrier() Context {
	switch r {
	case reasonCanceled:
		return canceledCarrier
	case reasonDeadline:
		return exceededCarrier
	}
	return newCarrier(r.cause)
}

func newCarrier(cause error) Context {
	ctx, cancel := std.WithCancelCause(std.Background())
	cancel(cause)
	return ctx
}
