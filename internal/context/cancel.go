package context

import (
	std "context"
	"reflect"
	"time"
)

// WithCancel returns a context derived from parent and a function that cancels it. Below a context of
// this package it makes another one, otherwise a standard one.
func WithCancel(parent Context) (ctx Context, cancel CancelFunc) {
	c := newCancelCtx(parent)
	if c == nil {
		return std.WithCancel(parent)
	}
	return c, func() { c.cancel(canceled) }
}

// WithCancelCause is like [WithCancel], and the function it returns takes the cause.
func WithCancelCause(parent Context) (ctx Context, cancel CancelCauseFunc) {
	c := newCancelCtx(parent)
	if c == nil {
		return std.WithCancelCause(parent)
	}
	return c, func(cause error) {
		if cause == nil {
			c.cancel(canceled)
			return
		}
		c.cancel(&reason{std.Canceled, cause})
	}
}

// A cancelCtx is a context that WithCancel or WithCancelCause made. Programs that print the type of
// a context see the name of the standard type.
type cancelCtx struct {
	node
	timed *timerCtx // the nearest one above, if there are only nodes in between; otherwise nil. Set when it is made
}

// newCancelCtx returns a context below a node. It returns nil if the standard package must make
// the context.
func newCancelCtx(parent Context) *cancelCtx {
	if parent == nil {
		return nil
	}
	o, over := originOf(parent)
	if o.node == nil || over {
		return nil
	}
	o.node.prepare()
	c := &cancelCtx{node: node{parent: parent, up: o.node, root: o.node.root, sourceErr: o.node.sourceErr}}
	switch p := parent.(type) {
	case *timerCtx:
		c.timed = p
	case *cancelCtx:
		c.timed = p.timed
	}
	c.checkParent()
	return c
}

// cancel ends the context, unless it has ended. Its reason is r, or that of an earlier end above.
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
	return nameOf(c.parent) + ".WithCancel"
}

func nameOf(ctx Context) string {
	if s, ok := ctx.(interface{ String() string }); ok {
		return s.String()
	}
	return reflect.TypeOf(ctx).String()
}
