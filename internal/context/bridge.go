package context

import (
	std "context"
	"time"
)

// A bridge connects a node with the standard contexts below it.
//
// The standard package finds a new context's parent through any wrapper: it asks Value for the
// nearest cancelCtx and, if its channel is the one that Done returns, adds the new context to the
// cancelCtx's list. Otherwise it starts a goroutine for the new context. To avoid that, a node with
// standard contexts below it has an inner context, a standard cancelCtx with the same channel.
//
// The inner context must end with the node's error. A standard context takes an error only from its
// parent, because its CancelFunc always sets Canceled, so the bridge is the inner context's parent.
// It has an AfterFunc method, through which the standard package registers with parents of other
// types. The function registered there takes error and cause from the bridge.
type bridge struct {
	owner *node   // set on creation
	inner Context // set on creation
	fire  func()  // ends the inner context. Set on creation
}

// newBridge returns a bridge for a node that has a channel. The caller holds the node's lock.
func newBridge(owner *node) *bridge {
	b := &bridge{owner: owner}
	inner, cancel := std.WithCancel(b)
	_ = cancel // fire ends it
	if owner.isEnding() {
		b.fire() // before inner gets the channel, which is closed already
	}
	adopt(inner, owner.done)
	b.inner = inner
	return b
}

// standard returns what Value returns when the standard package asks for the nearest cancelCtx, or
// nil if there is none.
func (n *node) standard() any {
	if !n.checkAbove() && n.phase.Load() < phaseBridged {
		if !canAdopt {
			return nil
		}
		n.reachBridged()
	}
	if n.isEnding() {
		n.awaitEnded() // until then an inner context may have no cause
		return n.endedStandard()
	}
	return n.bridge.inner
}

// endedStandard is standard for a node that has ended. The standard package may be after the cause.
// Or it is creating a context below and found the channel open just before the node ended; it then
// has to find a context with the same channel, or it starts a goroutine.
func (n *node) endedStandard() Context {
	if n.done == closedChan || !canAdopt {
		return n.reason.causeCarrier()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bridge == nil {
		n.bridge = newBridge(n)
	}
	return n.bridge.inner
}

// reachBridged moves the phase to bridged, unless it has got that far already.
func (n *node) reachBridged() {
	if n.phase.Load() < phaseWaited {
		n.raisePhase(phaseWaited)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.phase.Load() < phaseBridged {
		n.bridge = newBridge(n)
		n.phase.Store(phaseBridged)
	}
}

// Only the standard package calls the methods below, in newBridge and in fire.

// AfterFunc stores f, which ends the inner context.
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
