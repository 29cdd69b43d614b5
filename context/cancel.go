package context

import (
	std "context"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// WithCancel returns a context derived from parent and a function that cancels it. See the
// function of the standard package.
//
// Below a context of this package it makes another one, which follows its parent at once;
// anywhere else the standard one is as good.
func WithCancel(parent Context) (ctx Context, cancel CancelFunc) {
	c := newCancelCtx(parent)
	if c == nil {
		return std.WithCancel(parent)
	}
	return c, func() { c.cancel(canceled) }
}

// WithCancelCause is like [WithCancel], and the function it returns takes the cause. See the
// function of the standard package.
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

// newCancelCtx returns a context below one of this package, or nil if the standard package
// is to make it.
func newCancelCtx(parent Context) *cancelCtx {
	if parent == nil {
		return nil
	}
	up, over := upstream(parent)
	if _, ours := up.(*cancelCtx); !ours || over {
		return nil
	}
	c := &cancelCtx{parent: parent, up: up}
	c.follow()
	return c
}

// A reason is why a context has ended. It is not changed once made, and shared by all
// contexts that ended for it.
type reason struct {
	err   error // what Err answers
	cause error // what Cause answers
}

var (
	canceled = &reason{std.Canceled, std.Canceled}
	exceeded = &reason{std.DeadlineExceeded, std.DeadlineExceeded}
)

// reasonOf returns why a context that is not one of ours has ended, and nil if it has no error.
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

// The carriers of the two reasons that most contexts end for.
var (
	canceledCarrier = newCarrier(std.Canceled)
	exceededCarrier = newCarrier(std.DeadlineExceeded)
)

// carrier returns a standard context from which Cause reads the cause of r. Its Err may be
// another one.
func (r *reason) carrier() Context {
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

// A cancelCtx can be cancelled. It is the core of a timerCtx, too.
//
// As long as nobody waits for it, it does not wait either: nothing above refers to it, and
// whether it has ended because something above has is found out when somebody asks
// (follow). The first call of Done gives it a post, and from then on it is told. Below a foreign
// context it has a post from the start.
//
// It ends once, under mu, in the moment when end is set. Locks are taken from the top of the tree
// downwards. No code of the user's runs under them.
type cancelCtx struct {
	parent Context // set when it is made
	up     Context // what its end follows from, see upstream; nil: nothing. Set when it is made

	end  atomic.Pointer[reason] // why it has ended; nil: it has not. Written under mu, once
	post atomic.Pointer[post]   // nil: nobody waits. Written under mu, once, and not after the end

	mu    sync.Mutex
	timer engine.Timer // under mu; the zero Brief if there is no deadline
}

// ended returns why the context has ended, and nil if it has not. What has ended above it
// has ended it, told or not.
func (c *cancelCtx) ended() *reason {
	if r := c.end.Load(); r != nil || c.up == nil {
		return r
	}
	c.follow()
	return c.end.Load()
}

// follow ends the context if what it follows has ended.
func (c *cancelCtx) follow() {
	var r *reason
	switch up := c.up.(type) {
	case nil:
	case foreign: // it calls back
	case *cancelCtx:
		r = up.ended()
	default:
		r = reasonOf(up)
	}
	if r != nil {
		c.finish(r)
	}
}

// cancel ends the context for a reason of its own.
func (c *cancelCtx) cancel(r *reason) {
	c.follow() // what was first is the reason
	c.finish(r)
	c.leave()
}

// finish ends the context unless it has ended. When it returns, all contexts below that are
// told of it have ended, too.
func (c *cancelCtx) finish(r *reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end.Load() == nil {
		c.timer.Stop()
		c.finishLocked(r)
	}
}

func (c *cancelCtx) finishLocked(r *reason) {
	c.end.Store(r)
	if p := c.post.Load(); p != nil {
		p.announce(r)
	}
}

// leave makes what is above let go of the context, which has ended.
func (c *cancelCtx) leave() {
	p := c.post.Load()
	if p == nil {
		return
	}
	switch up := c.up.(type) {
	case nil:
	case *cancelCtx:
		up.mu.Lock()
		p.unlink()
		up.mu.Unlock()
	default:
		c.mu.Lock()
		stop := p.stop
		p.stop = nil
		c.mu.Unlock()
		if stop != nil {
			stop()
		}
	}
}

// Done returns a channel that is closed if the context has ended, and waits for that if another
// goroutine is just about to close it.
func (c *cancelCtx) Done() <-chan struct{} {
	r := c.ended()
	p := c.posted(true)
	if p == nil {
		return closed
	}
	if r != nil {
		<-p.done
	}
	return p.done
}

// Err waits for Done to be closed if the context is just about to end, as everybody who
// hears of an error may rely on that.
func (c *cancelCtx) Err() error {
	r := c.ended()
	if r == nil {
		return nil
	}
	if p := c.post.Load(); p != nil && p.open.Load() {
		<-p.done
	}
	return r.err
}

func (c *cancelCtx) Deadline() (deadline time.Time, ok bool) {
	return c.parent.Deadline()
}

func (c *cancelCtx) Value(key any) any {
	switch key {
	case standardKey:
		return c.standard()
	case ownerKey:
		return nil // who asks has passed by the post of another context, or there was none
	}
	return c.parent.Value(key)
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
