package context

import (
	std "context"
	"reflect"
	"time"
)

// WithCancel returns a context derived from parent and a function that cancels it. Below a context
// of this package it returns another one, otherwise a standard one.
func WithCancel(parent Context) (ctx Context, cancel CancelFunc) {
	c := newCancelCtx(parent)
	if c == nil {
		return std.WithCancel(parent)
	}
	return c, func() { c.cancel(reasonCanceled) }
}

// WithCancelCause is like [WithCancel], but the function it returns takes the cause.
func WithCancelCause(parent Context) (ctx Context, cancel CancelCauseFunc) {
	c := newCancelCtx(parent)
	if c == nil {
		return std.WithCancelCause(parent)
	}
	return c, func(cause error) {
		if cause == nil {
			c.cancel(reasonCanceled)
			return
		}
		c.cancel(&reason{std.Canceled, cause})
	}
}

// A cancelCtx is a context from WithCancel or WithCancelCause. It bears the name of the standard
// type because programs that print the type of a context see it.
type cancelCtx struct {
	node
	timed *timerCtx // the nearest one above with only nodes in between, or nil. Set on creation
}

// newCancelCtx returns a context below a node. It returns nil if the standard package must create
// the context instead.
func newCancelCtx(parent Context) *cancelCtx {
	if parent == nil {
		return nil
	}
	o, over := findOrigin(parent)
	if o.node == nil || over {
		return nil
	}
	o.node.linkToParent()
	c := &cancelCtx{node: node{parent: parent, above: o.node, root: o.node.root, sourceErr: o.node.sourceErr}}
	switch p := parent.(type) {
	case *timerCtx:
		c.timed = p
	case *cancelCtx:
		c.timed = p.timed
	}
	c.checkParent()
	return c
}

// cancel ends the context, unless it has ended, for reason r or the reason of an earlier end above.
func (c *cancelCtx) cancel(r *reason) {
	c.checkParent()
	c.leave(c.finish(r))
}

func (c *cancelCtx) Deadline() (deadline time.Time, ok bool) {
	if c.timed != nil {
		return c.timed.Deadline()
	}
	return c.parent.Deadline()
}

func (c *cancelCtx) String() string {
	return contextName(c.parent) + ".WithCancel"
}

func contextName(ctx Context) string {
	if s, ok := ctx.(interface{ String() string }); ok {
		return s.String()
	}
	return reflect.TypeOf(ctx).String()
}
