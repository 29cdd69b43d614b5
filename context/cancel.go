package context

import nodes "github.com/foliot-go/foliot/internal/context"

// WithCancel returns a context derived from parent and a function that cancels it. See the
// function of the standard package.
//
// Below a context with a deadline of Foliot it makes another one of Foliot, otherwise a standard one.
func WithCancel(parent Context) (ctx Context, cancel CancelFunc) {
	return nodes.WithCancel(parent)
}

// WithCancelCause is like [WithCancel], and the function it returns takes the cause. See the
// function of the standard package.
func WithCancelCause(parent Context) (ctx Context, cancel CancelCauseFunc) {
	return nodes.WithCancelCause(parent)
}
