package contexts

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/foliot-go/foliot"
)

// observe asks a context and checks that the answers agree with each other and with earlier
// ones.
func (t *sharedTree) observe(n *sharedNode, order uint32) {
	if order&1 == 0 && isDone(n.ctx) && n.ctx.Err() == nil {
		t.fault("%v is done and has no error", n)
	}
	if order&2 == 0 && context.Cause(n.ctx) != nil && n.ctx.Err() == nil {
		t.fault("%v has a cause and no error", n)
	}
	err := n.ctx.Err()
	if err == nil {
		return
	}
	now := time.Now()
	if !isDone(n.ctx) {
		t.fault("%v has the error %v and is not done", n, err)
	}
	cause := context.Cause(n.ctx)
	if cause == nil {
		t.fault("%v has the error %v and no cause", n, err)
	}
	if n.deadlineCause != nil && cause == n.deadlineCause && now.Before(n.deadline) {
		t.fault("%v has ended %v before its deadline", n, n.deadline.Sub(now))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil {
		n.err, n.cause, n.known = err, cause, len(n.causes)
	}
	if n.err != err {
		t.fault("the error of %v was %v and is %v", n, n.err, err)
	}
	if n.fixedCause && n.cause != cause {
		t.fault("the cause of %v was %v and is %v", n, n.cause, cause)
	}
}

// awaitEnd waits until a context has ended and observes it.
func (t *sharedTree) awaitEnd(n *sharedNode) {
	if !n.neverEnds && !eventually(t.patience, func() bool { return isDone(n.ctx) }) {
		t.fault("%v has not ended", n)
		return
	}
	t.observe(n, 0)
}

// checkEnded checks a tree whose contexts have ended. Before it was made, there were so many
// goroutines and armed timers.
func (t *sharedTree) checkEnded(goroutines, armed int) {
	for _, n := range t.nodes {
		if n.derived {
			t.checkReason(n)
		}
	}
	if !waitFor(t.patience, &t.waiters) {
		t.fault("%d goroutines wait for contexts that have ended", t.waiting.Load())
	}
	hooks := t.allHooks()
	for _, h := range hooks {
		h.tryStop()
		if !eventually(t.patience, h.done) {
			t.fault("an AfterFunc of %v has not run", h.on)
		}
	}
	if !eventually(t.patience, func() bool { return runtime.NumGoroutine() <= goroutines && foliot.Default().Stats().Armed <= armed }) {
		t.fault("%d goroutines and %d timers, %d and %d before\n%s",
			runtime.NumGoroutine(), foliot.Default().Stats().Armed, goroutines, armed, stacks())
	}
	for _, h := range hooks {
		if runs, stopped := h.runs.Load(), h.stopped.Load(); runs+stopped != 1 {
			t.fault("an AfterFunc of %v has run %d times and was stopped %d times", h.on, runs, stopped)
		}
	}
	for _, n := range t.nodes {
		if n.user != nil && n.user.registered() != 0 {
			t.fault("%v has %d functions to call", n, n.user.registered())
		}
	}
}

// checkReason checks that a derived context has ended for a reason of its own or for that of the
// next context above that can end.
func (t *sharedTree) checkReason(n *sharedNode) {
	err, cause := n.ctx.Err(), context.Cause(n.ctx)
	if err == context.DeadlineExceeded && !n.deadline.IsZero() && cause == n.deadlineCause ||
		err == context.Canceled && n.cancelledWith(cause) {
		return
	}
	up := n.above
	for !up.derived && up.node.end == nil && !up.neverEnds {
		up = up.above
	}
	switch {
	case up.derived && err == up.ctx.Err() && cause == context.Cause(up.ctx):
	case up.node.end != nil && err == up.ctx.Err() && (cause == err || up.causeAbove(cause)):
	default:
		t.fault("%v has ended with %v, cause %v, and %v above it with %v, cause %v", n, err, cause, up, up.ctx.Err(), context.Cause(up.ctx))
	}
}

// cancelledWith reports whether a call of the cancel function may have had this cause. A call
// after the first observation of the end is too late.
func (n *sharedNode) cancelledWith(cause error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if cause == context.Canceled {
		return n.nilCause && n.known > 0
	}
	return n.takesCause && slices.Contains(n.causes[:n.known], cause)
}

// causeAbove reports whether a context above has ended with this cause. Cause of a user's context
// returns it after that.
func (n *sharedNode) causeAbove(cause error) bool {
	for up := n.above; up != nil; up = up.above {
		if up.derived && context.Cause(up.ctx) == cause {
			return true
		}
	}
	return false
}

// listing lists the contexts of the tree.
func (t *sharedTree) listing() string {
	var b strings.Builder
	for _, n := range t.nodes {
		fmt.Fprintf(&b, "%v", n)
		if n.above != nil {
			fmt.Fprintf(&b, " below %v", n.above)
		}
		fmt.Fprintf(&b, ": %T, standard %t, Err %v, Cause %v\n", n.ctx, isStandard(n.ctx), n.ctx.Err(), context.Cause(n.ctx))
	}
	return b.String()
}
