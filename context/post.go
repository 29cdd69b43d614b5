package context

import (
	std "context"
	"sync/atomic"
	"time"
)

var (
	closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
	silent = make(chan struct{}) // never closed
)

// A post is what a context has once somebody waits for it: a channel, a place where
// contexts below are entered, and a place of its own in the one above.
//
// Channel and standard contexts below are the business of a standard context, the inner
// one. Code of the standard package, or of anybody, that derives a context from ours, with any
// wrapping in between, asks it for that inner context, finds that its channel is the one of ours, and
// enters the new context there, without a goroutine. So the inner context must end with
// our error, and a standard context can be made to do that from above only: CancelFunc knows no
// error but Canceled. Therefore the post is a context as well, the parent of the inner one. It
// has an AfterFunc method, which is how a standard context asks to be told by a foreign
// parent, and when it is told, it takes error and cause from there.
type post struct {
	owner *cancelCtx // set when it is made

	// open is set under owner.mu, unless the owner has ended. What follows is written before
	// that, and not afterwards.
	open  atomic.Bool
	inner Context
	done  <-chan struct{} // the inner context's
	fire  func()          // ends the inner context

	first *post       // the contexts of ours below. Under owner.mu
	stop  func() bool // ends the watch for owner.up, if that is not one of ours. Under owner.mu

	// Its place among those below owner.up, if that is one of ours. Under the lock of owner.up.
	next *post
	at   **post // what points here; nil: it is in no list
}

// posted returns the post of the context, on demand with an inner context. It answers nil if
// the context has ended and there is none.
func (c *cancelCtx) posted(open bool) *post {
	p := c.post.Load()
	if p != nil && (!open || p.open.Load()) {
		return p
	}
	c.mu.Lock()
	p = c.post.Load()
	if c.end.Load() != nil {
		c.mu.Unlock()
		if p != nil && open && !p.open.Load() {
			return nil
		}
		return p
	}
	fresh := p == nil
	if fresh {
		p = &post{owner: c}
	}
	if open && !p.open.Load() {
		inner, cancel := std.WithCancel(p)
		_ = cancel // the post ends it
		p.inner, p.done = inner, inner.Done()
		p.open.Store(true)
	}
	if fresh {
		c.post.Store(p)
	}
	c.mu.Unlock()
	if fresh {
		p.join()
	}
	return p
}

// join sees to it that the owner is told when what it follows ends. Without a lock: who
// ends it meanwhile does not know where to leave from, so that is made up for here.
func (p *post) join() {
	c := p.owner
	switch up := c.up.(type) {
	case nil:
		return
	case *cancelCtx:
		if !up.enter(p) {
			c.follow()
			return
		}
	case foreign:
		p.watched(up.watch(func() {
			r := reasonOf(up.Context)
			if r == nil {
				panic("context: internal error: missing cancel error")
			}
			c.finish(r)
		}))
	default:
		p.watched(std.AfterFunc(up, c.follow))
	}
	if c.end.Load() != nil {
		c.leave()
	}
}

// watched notes how to end the watch for what the owner follows.
func (p *post) watched(stop func() bool) {
	p.owner.mu.Lock()
	defer p.owner.mu.Unlock()
	p.stop = stop
}

// enter enters the post of a context below. It answers false if there is nothing to wait for
// any more.
func (c *cancelCtx) enter(below *post) bool {
	p := c.posted(false)
	if p == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end.Load() != nil {
		return false
	}
	below.next, below.at = p.first, &p.first
	if p.first != nil {
		p.first.at = &below.next
	}
	p.first = below
	return true
}

// unlink takes the post out of the list that it is in, if it is in one.
func (p *post) unlink() {
	if p.at == nil {
		return
	}
	*p.at = p.next
	if p.next != nil {
		p.next.at = p.at
	}
	p.next, p.at = nil, nil
}

// announce ends all that is below the owner, whose lock is held and whose end is set.
func (p *post) announce(r *reason) {
	if p.open.Load() {
		p.fire()
	}
	for p.first != nil {
		below := p.first
		below.unlink()
		below.owner.finish(r)
	}
}

// standard returns the standard context that stands for this one where another standard
// context asks for its parent, or Cause for a cause.
func (c *cancelCtx) standard() any {
	r := c.ended()
	p := c.posted(true)
	if p == nil {
		return c.end.Load().carrier()
	}
	if r != nil {
		<-p.done // the inner context has no cause before
	}
	return p.inner
}

// The methods below are called by the standard package alone, from within posted and
// announce, with the owner's lock held.

// AfterFunc notes what ends the inner context.
func (p *post) AfterFunc(f func()) (stop func() bool) {
	p.fire = f
	return func() bool { return false }
}

// Done returns a channel that could be closed, or the inner context would not ask to be told.
func (p *post) Done() <-chan struct{} { return silent }

// Err returns the error that the inner context is to have.
func (p *post) Err() error {
	if r := p.owner.end.Load(); r != nil {
		return r.err
	}
	return nil
}

// Value returns what Cause learns the cause of the inner context from, and the owner.
func (p *post) Value(key any) any {
	switch key {
	case ownerKey:
		return p.owner
	case standardKey:
		if r := p.owner.end.Load(); r != nil {
			return r.carrier()
		}
	}
	return nil
}

func (p *post) Deadline() (deadline time.Time, ok bool) { return }
