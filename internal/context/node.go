package context

import (
	"sync"
	"sync/atomic"

	"github.com/foliot-go/foliot/internal/engine"
)

// A node is the common part of the contexts of this package.
//
// A node ends by its CancelFunc, by its timer, or with a context above it: with the node above
// (up), or with the standard context above the topmost node (root.source). It learns of an end
// above in two ways:
//
//   - It is told. A node that ends tells the nodes in its list, before its CancelFunc returns.
//   - It looks. Each question to a node looks at up and at root.source.
//
// A node enters the list of up before Done returns a channel, and before a node is made below
// it. So all nodes above a node are in lists: they are told, and a node need not look further than
// at up. A question takes the same time at any depth. A node without a channel and without nodes
// below is in no list. It costs less, and it can be collected, because nothing above refers to it.
//
// The phase of a node only moves down in this table, but may skip rows. A move is made with the
// locks in the last column held. The field in the third column is written before the move and not
// after it: any goroutine that has seen the phase, or a later one, may read it.
//
//	phase    meaning                                   written  locks
//	idle     the node is made                                   -
//	called   the callback of the timer was called               none: the program does not have the context yet
//	armed    its timer was armed                       timer    none, for the same reason
//	linked   it is in the list of up                            up.mu, mu
//	waited   linked, and Done has returned a channel   done     up.mu, mu
//	bridged  waited, and has an inner context          bridge   mu
//	ending   it tells its list                         reason   mu; if up tells it, also up.mu
//	ended    all nodes that it tells have ended, too   done     mu; if up tells it, also up.mu
//
// Err, Done and Cause wait for the phase ended: when a caller knows that a context has ended, Done
// is closed, and all contexts of this package below know of the end. That holds for each question
// to them, because a node in the phase ending has ended for the nodes that look at it.
//
// A node without up is linked and waited without a list.
//
// Locks are taken from the top of the tree downwards, and those of standard contexts after those
// of nodes. No code of the program runs with a lock held.
type node struct {
	parent Context // set when the node is made

	// What the node ends with. Set when the node is made.
	up        *node         // a node; nil: it is something else
	root      *timerCtx     // the topmost node if that has a source, otherwise nil
	sourceErr *atomic.Value // the field of root.source that has the error; nil: it is not known

	mu     sync.Mutex
	phase  atomic.Uint32
	timer  engine.Timer  // see phase. The zero Timer if there is no deadline
	done   chan struct{} // see phase. A node that ends without a channel gets one that is closed
	bridge *bridge       // see phase. If it is nil at the end, it may be set later, under mu
	reason *reason       // see phase

	first *node  // the list of the nodes that it tells. Under mu
	next  *node  // the next node in the list of up. Under up.mu
	at    **node // the pointer to this node in the list of up; nil: it is not in the list. Under up.mu
}

// The phases of a node.
const (
	idle = iota
	called
	armed
	linked
	waited
	bridged
	ending
	ended
)

// doneCap is the capacity of the channels that Done returns, though nothing is ever sent. Those
// of the standard package have none. So a channel shows whether it may be one of a node.
const doneCap = 1

// closed is the channel of nodes that ended without one.
var closed = func() chan struct{} { c := make(chan struct{}, doneCap); close(c); return c }()

// isEnding reports whether the node has ended or is about to.
func (n *node) isEnding() bool { return n.phase.Load() >= ending }

// look looks for an end above, and reports whether the node has ended or is about to.
func (n *node) look() bool {
	if !n.isEnding() {
		n.checkParent()
	}
	return n.isEnding()
}

// checkParent ends the node if there is an end above.
func (n *node) checkParent() {
	if n.root != nil {
		if r := reasonOf(n.root.source); r != nil {
			n.root.finish(r)
		}
	}
	if n.up != nil && n.up.isEnding() {
		n.finish(n.up.reason)
	}
}

// finish ends the node, unless it has ended, and returns the phase before. When finish returns, all
// nodes that the node tells have ended, too.
func (n *node) finish(r *reason) (before uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before = n.phase.Load()
	if before < ending {
		n.stopTimer()
		n.finishLocked(r)
	}
	return before
}

// stopTimer stops the timer, and reports whether it was armed. The caller holds mu. Before the phase
// armed the timer may be about to be set.
func (n *node) stopTimer() bool { return n.phase.Load() >= armed && n.timer.Stop() }

// finishLocked ends the node, which has not ended. The caller holds mu, and has stopped the
// timer.
func (n *node) finishLocked(r *reason) {
	n.reason = r
	if n.done == nil && n.first == nil {
		n.done = closed
		n.phase.Store(ended)
		return
	}
	n.phase.Store(ending)
	for n.first != nil {
		below := n.first
		below.unlink()
		below.finish(r)
	}
	switch {
	case n.bridge != nil:
		n.bridge.fire() // closes done
	case n.done != nil:
		close(n.done)
	default:
		n.done = closed
	}
	n.phase.Store(ended)
}

// awaitEnded waits until the node has ended. It is about to.
func (n *node) awaitEnded() {
	if n.phase.Load() != ended {
		n.mu.Lock()
		defer n.mu.Unlock()
	}
}

// prepare makes the node ready for a node below it.
func (n *node) prepare() {
	if n.up != nil && n.phase.Load() < linked {
		n.reach(linked)
	}
}

// reach moves the phase to linked or waited, unless it is there or beyond.
func (n *node) reach(to uint32) {
	var done chan struct{}
	if to == waited {
		done = make(chan struct{}, doneCap)
		if t := n.root; t != nil && (n == &t.node || !t.watched()) {
			t.watch()
		}
	}
	if n.up != nil {
		n.up.mu.Lock()
		defer n.up.mu.Unlock()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	phase := n.phase.Load()
	if phase >= to {
		return
	}
	if phase < linked && n.up != nil {
		if n.up.isEnding() {
			n.stopTimer()
			n.finishLocked(n.up.reason)
			return
		}
		n.link(n.up)
	}
	n.done = done
	n.phase.Store(to)
}

// link puts the node into the list of up. The caller holds both locks.
func (n *node) link(up *node) {
	n.next, n.at = up.first, &up.first
	if up.first != nil {
		up.first.at = &n.next
	}
	up.first = n
}

// unlink takes the node out of the list of up, if it is there. The caller holds the lock of up.
func (n *node) unlink() {
	if n.at == nil {
		return
	}
	*n.at = n.next
	if n.next != nil {
		n.next.at = n.at
	}
	n.next, n.at = nil, nil
}

// leave takes the node, which has ended in the phase before, out of the list of up.
func (n *node) leave(before uint32) {
	if n.up == nil || before < linked || before >= ending {
		return
	}
	n.up.mu.Lock()
	defer n.up.mu.Unlock()
	n.unlink()
}

// Done and Err begin with a look at the node and above. They are called often, so they call no other
// function for it, and have one condition in each statement: the compiler makes slower code of a
// condition with ||.

func (n *node) Done() <-chan struct{} {
	p := n.phase.Load()
	if p < waited || p >= ending {
		return n.channel()
	}
	if n.up != nil {
		if n.up.phase.Load() >= ending {
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
	if n.phase.Load() >= ending {
		return n.err()
	}
	if n.up != nil {
		if n.up.phase.Load() >= ending {
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

// channel is the rest of Done.
func (n *node) channel() <-chan struct{} {
	if !n.look() && n.phase.Load() < waited {
		n.reach(waited)
	}
	if n.isEnding() {
		n.awaitEnded()
	}
	return n.done
}

// err is the rest of Err.
func (n *node) err() error {
	if !n.look() {
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
