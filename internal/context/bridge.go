package context

import (
	std "context"
	"time"
)

// A bridge connects a node with the standard contexts below it.
//
// The standard package finds the parent of a new context through any wrapper: it asks Value for
// the nearest cancelCtx, and if the channel of that is what Done returns, it puts the new context
// into the list of the cancelCtx. So a node with standard contexts below it has an inner context:
// a standard cancelCtx with the same channel. Without one the standard package starts a goroutine
// for each context below a wrapper.
//
// The inner context must end with the error of the node. A standard context takes an error only
// from its parent; its CancelFunc always sets Canceled. So the bridge is the parent of the inner
// context. It has an AfterFunc method, with which the standard package registers at parents of
// other types. The function that it registers takes error and cause from the bridge.
type bridge struct {
	owner *node   // set when it is made
	inner Context // set when it is made
	fire  func()  // ends the inner context. Set when it is made
}

// newBridge makes the bridge of a node that has a channel. The caller holds the lock of the node.
func newBridge(owner *node) *bridge {
	b := &bridge{owner: owner}
	inner, cancel := std.WithCancel(b)
	_ = cancel // fire ends it
	if owner.isEnding() {
		b.fire() // before it has the channel, which is closed
	}
	adopt(inner, owner.done)
	b.inner = inner
	return b
}

// standard returns what Value returns when the standard package asks for the nearest cancelCtx. It
// returns nil if there is none.
func (n *node) standard() any {
	if !n.look() && n.phase.Load() < bridged {
		if !canAdopt {
			return nil
		}
		n.reachBridged()
	}
	if n.isEnding() {
		n.awaitEnded() // before that an inner context may have no cause
		return n.endedStandard()
	}
	return n.bridge.inner
}

// endedStandard is the rest of standard for a node that has ended. The standard package may ask for
// the cause. Or it makes a context below, and has found the channel open before the node ended: then
// it must find a context with this channel, or it starts a goroutine.
func (n *node) endedStandard() Context {
	if n.done == closed || !canAdopt {
		return n.reason.causeCarrier()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bridge == nil {
		n.bridge = newBridge(n)
	}
	return n.bridge.inner
}

// reachBridged moves the phase to bridged, unless it is there or beyond.
func (n *node) reachBridged() {
	if n.phase.Load() < waited {
		n.reach(waited)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.phase.Load() < bridged {
		n.bridge = newBridge(n)
		n.phase.Store(bridged)
	}
}

// Only the standard package calls the methods below, in newBridge and in fire.

// AfterFunc keeps f, which ends the inner context.
func (b *bridge) AfterFunc(f func()) (stop func() bool) {
	b.fire = f
	return func() bool { return false }
}

// Done returns a channel that is never closed. If it returned nil, the standard package would not
// call AfterFunc.
func (b *bridge) Done() <-chan struct{} { return neverDone }

var neverDone = make(chan struct{})

// Err returns the error that the inner context takes.
func (b *bridge) Err() error {
	if b.owner.isEnding() {
		return b.owner.reason.err
	}
	return nil
}

// Value returns the context from which the inner context takes its cause.
func (b *bridge) Value(key any) any {
	if key == standardKey && b.owner.isEnding() {
		return b.owner.reason.causeCarrier()
	}
	return nil
}

func (b *bridge) Deadline() (deadline time.Time, ok bool) { return }
