package context

import nodes "github.com/foliot-go/foliot/internal/context"

// WithCancel returns a context derived from parent and a function that cancels it. See the standard
// package's WithCancel.
//
// Below a Foliot context it returns another Foliot context, otherwise a standard one.
func WithCancel(parent Context) (ctx Context, cancel CancelFunc) {
	return nodes.WithCancel(parent)
}

// WithCancelCause is like [WithCancel], but the function it returns takes the cause. See the
// standard package's WithCancelCause.
func WithCancelCause(parent Context) (ctx Context, cancel CancelCauseFunc) {
	return nodes.WithCancelCause(parent)
}
