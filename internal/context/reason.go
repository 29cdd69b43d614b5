package context

import (
	std "context"

	"github.com/foliot-go/foliot/internal/engine"
)

// A reason says why a context has ended. It is not changed once it is made. All contexts that
// end for it share it.
type reason struct {
	err   error // what Err returns
	cause error // what Cause returns
}

var (
	canceled = &reason{std.Canceled, std.Canceled}
	exceeded = &reason{std.DeadlineExceeded, std.DeadlineExceeded}
	left     = &reason{std.Canceled, engine.ErrClosed} // the engine of its timer is shut down
)

// reasonOf returns why a context of another package has ended. It returns nil if the context has
// no error.
func reasonOf(ctx Context) *reason {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := std.Cause(ctx)
	for _, r := range [...]*reason{canceled, exceeded} {
		if err == r.err && cause == r.cause {
			return r
		}
	}
	return &reason{err, cause}
}

// The carriers of the causes that most contexts end for.
var (
	canceledCarrier = newCarrier(std.Canceled)
	exceededCarrier = newCarrier(std.DeadlineExceeded)
)

// causeCarrier returns a standard context that Cause reads the cause of r from. Its Err may be
// another one.
func (r *reason) causeCarrier() Context {
	switch r {
	case canceled:
		return canceledCarrier
	case exceeded:
		return exceededCarrier
	}
	return newCarrier(r.cause)
}

func newCarrier(cause error) Context {
	ctx, cancel := std.WithCancelCause(std.Background())
	cancel(cause)
	return ctx
}
