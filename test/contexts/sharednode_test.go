package contexts

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A sharedNode is a context of a shared tree.
type sharedNode struct {
	node
	above      *sharedNode // the parent; nil for the root
	neverEnds  bool
	fixedCause bool // Cause does not change after the end
	takesCause bool // cancel uses its argument as the cause

	deadline      time.Time // zero: it has none, or that of the parent is sooner
	deadlineCause error

	mu       sync.Mutex
	causes   []error // causes it was cancelled with, added before the call; protected by mu
	nilCause bool    // it was cancelled without a cause; protected by mu
	// The first Err and Cause that were observed, and len(causes) at that time. Protected by mu.
	err, cause error
	known      int
}

// finish ends the context with its cancel function or the end method of a user's context. It
// returns false if there is none, or if another goroutine has called the end method, which may not
// have notified all children yet.
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

// A uniqueError is an error that is used once.
type uniqueError struct{ text string }

func (e *uniqueError) Error() string { return e.text }

// A sharedHook is a function registered with AfterFunc in a shared tree.
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
