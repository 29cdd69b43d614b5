package contexts

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// sharedNode is a context of a shared tree.
type sharedNode struct {
	node
	above      *sharedNode // the parent, nil: it is the root
	neverEnds  bool
	fixedCause bool // Cause does not change after the end
	takesCause bool // cancel passes the cause on

	deadline      time.Time // zero: it has none, or that of the parent is sooner
	deadlineCause error

	mu       sync.Mutex
	causes   []error // what it was cancelled with, added before the call. Under mu
	nilCause bool    // it was cancelled without a cause. Under mu
	// The first answers of a context that has ended, and how many causes there were then.
	err, cause error // under mu
	known      int   // under mu
}

// finish ends the context by its cancel function or by the end method of a user's context. It
// returns false if it has none, or if another goroutine has called that end method, which may not
// have told all children yet.
func (n *sharedNode) finish(withCause bool) bool {
	if n.end == nil && n.cancel == nil {
		return false
	}
	cause := n.newCause(withCause)
	if n.end != nil {
		return n.end(cause)
	}
	if !withCause {
		cause = nil
	}
	n.cancel(cause)
	return true
}

// newCause returns an error that is used once, and adds it to causes.
func (n *sharedNode) newCause(used bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	err := &uniqueError{fmt.Sprintf("cause %d of %v", len(n.causes), n)}
	n.causes = append(n.causes, err)
	n.nilCause = n.nilCause || !used || !n.takesCause
	return err
}

// uniqueError is an error that is used once.
type uniqueError struct{ text string }

func (e *uniqueError) Error() string { return e.text }

// sharedHook is an AfterFunc of a shared tree.
type sharedHook struct {
	on      *sharedNode
	stop    func() bool
	runs    atomic.Int32
	stopped atomic.Int32 // how often stop returned true
}

// tryStop calls stop.
func (h *sharedHook) tryStop() {
	if h.stop() {
		h.stopped.Add(1)
	}
}

// done reports whether the function has run or was stopped.
func (h *sharedHook) done() bool { return h.runs.Load()+h.stopped.Load() > 0 }
