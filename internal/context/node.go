package context

import (
	"sync"
	"sync/atomic"

	"github.com/foliot-go/foliot/internal/engine"
)

// A node is what all contexts of this package have in common.
//
// A node ends when its CancelFunc is called, when its timer fires, or together with a context above
// it: the node above, or the standard context above the topmost node (root.source). It learns of an
// end above in two ways:
//
//   - It is notified. A node that ends also ends the nodes in its list, before CancelFunc returns.
//   - It checks. Every call to Done, Err or Cause checks above and root.source.
//
// A node enters above's list before Done returns a channel and before another node is created below
// it. All nodes above a node are therefore in lists and get notified, so a node never has to check
// further up than above, and a call takes the same time at any depth. A node with neither a channel
// nor nodes below is in no list. It costs less, and it can be collected, because nothing above
// refers to it.
//
// A node's phase only moves down this table, but may skip rows. Each move is made with the locks in
// the last column held. The field in the third column is written before the move and never after
// it, so any goroutine that has seen this phase or a later one may read it.
//
//	phase    meaning                             written  locks
//	idle     the node is new                              -
//	called   the timer's callback was called              none: the program does not have the context yet
//	armed    the timer was armed                 timer    none, for the same reason
//	linked   in above's list                              above.mu, mu
//	waited   linked, and has a Done channel      done     above.mu, mu
//	bridged  waited, and has an inner context    bridge   mu
//	ending   ending the nodes in its list        reason   mu; if above notifies it, also above.mu
//	ended    all nodes of its list have ended    done     mu; if above notifies it, also above.mu
//
// Err, Done and Cause wait for the phase ended. By the time a caller knows that a context has
// ended, its channel is closed, and every call on a context of this package below also reports the
// end: to the nodes that check it, a node in the phase ending has already ended.
//
// A node with no node above it is never linked and reaches waited without entering a list, except
// that its source's relay may put it into one.
//
// Locks are acquired from the top of the tree down, and standard contexts' locks after nodes'
// locks. No user code runs with a lock held.
type node struct {
	parent Context // set on creation

	// What the node ends with. Set on creation.
	above     *node         // the node above; nil: something else is above
	root      *timerCtx     // the topmost node if it has a source, otherwise nil
	sourceErr *atomic.Value // the field of root.source that holds its error; nil: unknown

	mu     sync.Mutex
	phase  atomic.Uint32
	timer  engine.Timer  // see phase. The zero Timer if there is no deadline
	done   chan struct{} // see phase. A node that ends without a channel gets a closed one
	bridge *bridge       // see phase. If it is nil at the end, it may be set later, under mu
	reason *reason       // see phase

	// The links of a list are protected by the mu of its owner: above or a relay's node.
	children *node  // the head of this node's list: nodes that end with it
	next     *node  // the next node in above's list
	pprev    **node // the pointer to this node in above's list; nil: it is in none
}

// The phases of a node.
const (
	phaseIdle = iota
	phaseCalled
	phaseArmed
	phaseLinked
	phaseWaited
	phaseBridged
	phaseEnding
	phaseEnded
)

// doneCap is the capacity of the channels that Done returns, although nothing is ever sent on them.
// The standard package's have none, so the capacity shows whether a channel may be a node's.
const doneCap = 1

// closedChan is the channel of nodes that ended without one.
var closedChan = func() chan struct{} { c := make(chan struct{}, doneCap); close(c); return c }()

// isEnding reports whether the node has ended or is about to.
func (n *node) isEnding() bool { return n.phase.Load() >= phaseEnding }

// checkAbove checks for an end above, and reports whether the node has ended or is about to.
func (n *node) checkAbove() bool {
	if !n.isEnding() {
		n.checkParent()
	}
	return n.isEnding()
}

// checkParent ends the node if the node above, or the source, has ended.
func (n *node) checkParent() {
	if n.root != nil {
		if r := endReason(n.root.source); r != nil {
			n.root.finish(r)
		}
	}
	if n.above != nil && n.above.isEnding() {
		n.finish(n.above.reason)
	}
}

// finish ends the node, unless it has ended already, and returns the phase before. When finish
// returns, all nodes in the node's list have ended as well.
func (n *node) finish(r *reason) (before uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before = n.phase.Load()
	if before < phaseEnding {
		n.stopTimer()
		n.finishLocked(r)
	}
	return before
}

// stopTimer stops the timer and reports whether it was armed. Before the phase armed it does not
// touch the timer, which setTimer may be about to store. The caller holds mu.
func (n *node) stopTimer() bool { return n.phase.Load() >= phaseArmed && n.timer.Stop() }

// finishLocked ends the node, which has not ended yet. The caller holds mu and has stopped the
// timer.
func (n *node) finishLocked(r *reason) {
	n.reason = r
	if n.done == nil && n.children == nil {
		n.done = closedChan
		n.phase.Store(phaseEnded)
		return
	}
	n.phase.Store(phaseEnding)
	for n.children != nil {
		below := n.children
		below.unlink()
		below.finish(r)
	}
	switch {
	case n.bridge != nil:
		n.bridge.fire() // closes done
	case n.done != nil:
		close(n.done)
	default:
		n.done = closedChan
	}
	n.phase.Store(phaseEnded)
}

// awaitEnded waits for the phase ended. The node is in the phase ending or ended.
func (n *node) awaitEnded() {
	if n.phase.Load() != phaseEnded {
		n.mu.Lock()
		defer n.mu.Unlock()
	}
}

// linkToParent prepares the node for a node below it.
func (n *node) linkToParent() {
	if n.above != nil && n.phase.Load() < phaseLinked {
		n.raisePhase(phaseLinked)
	}
}

// raisePhase moves the phase to linked or waited, unless it has got that far already.
func (n *node) raisePhase(to uint32) {
	var done chan struct{}
	if to == phaseWaited {
		done = make(chan struct{}, doneCap)
		if t := n.root; t != nil && (n == &t.node || !t.watched()) {
			t.watch()
		}
	}
	if n.above != nil {
		n.above.mu.Lock()
		defer n.above.mu.Unlock()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	phase := n.phase.Load()
	if phase >= to {
		return
	}
	if phase < phaseLinked && n.above != nil {
		if n.above.isEnding() {
			n.stopTimer()
			n.finishLocked(n.above.reason)
			return
		}
		n.link(n.above)
	}
	n.done = done
	n.phase.Store(to)
}

// link adds the node to above's list. The caller holds both locks.
func (n *node) link(above *node) {
	n.next, n.pprev = above.children, &above.children
	if above.children != nil {
		above.children.pprev = &n.next
	}
	above.children = n
}

// unlink removes the node from its list, if it is in one. The caller holds the list owner's lock.
func (n *node) unlink() {
	if n.pprev == nil {
		return
	}
	*n.pprev = n.next
	if n.next != nil {
		n.next.pprev = n.pprev
	}
	n.next, n.pprev = nil, nil
}

// leave removes the node, which was in the phase before when it ended, from above's list.
func (n *node) leave(before uint32) {
	if n.above == nil || before < phaseLinked || before >= phaseEnding {
		return
	}
	n.above.mu.Lock()
	defer n.above.mu.Unlock()
	n.unlink()
}

// Done and Err are called often, so they check the node, above and the source inline. Each check is
// a statement of its own, because the compiler makes slower code of one long condition.

func (n *node) Done() <-chan struct{} {
	p := n.phase.Load()
	if p < phaseWaited || p >= phaseEnding {
		return n.channel()
	}
	if n.above != nil {
		if n.above.phase.Load() >= phaseEnding {
			return n.channel()
		}
	}
	if n.root != nil {
		if n.sourceErr == nil || n.sourceErr.Load() != nil {
			return n.channel()
		}
	}
	return n.done
}

func (n *node) Err() error {
	if n.phase.Load() >= phaseEnding {
		return n.err()
	}
	if n.above != nil {
		if n.above.phase.Load() >= phaseEnding {
			return n.err()
		}
	}
	if n.root != nil {
		if n.sourceErr == nil || n.sourceErr.Load() != nil {
			return n.err()
		}
	}
	return nil
}

// channel is the slow path of Done.
func (n *node) channel() <-chan struct{} {
	if !n.checkAbove() && n.phase.Load() < phaseWaited {
		n.raisePhase(phaseWaited)
	}
	if n.isEnding() {
		n.awaitEnded()
	}
	return n.done
}

// err is the slow path of Err.
func (n *node) err() error {
	if !n.checkAbove() {
		return nil
	}
	n.awaitEnded()
	return n.reason.err
}

func (n *node) Value(key any) any {
	switch key {
	case standardKey:
		return n.standard()
	case nodeKey:
		return n
	}
	for ctx := n.parent; ; {
		switch c := ctx.(type) {
		case *cancelCtx:
			ctx = c.parent
		case *timerCtx:
			ctx = c.parent
		default:
			return ctx.Value(key)
		}
	}
}
