package contexts

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
)

// observe calls the methods of a context and checks that the results are consistent with each other
// and with earlier ones.
func (t *sharedTree) observe(n *sharedNode, order uint32) {
	if order&1 == 0 && isDone(n.ctx) && n.ctx.Err() == nil {
		t.fail("%v is done but has no error", n)
	}
	if order&2 == 0 && context.Cause(n.ctx) != nil && n.ctx.Err() == nil {
		t.fail("%v has a cause but no error", n)
	}
	err := n.ctx.Err()
	if err == nil {
		return
	}
	now := time.Now()
	if !isDone(n.ctx) {
		t.fail("%v has the error %v but is not done", n, err)
	}
	cause := context.Cause(n.ctx)
	if cause == nil {
		t.fail("%v has the error %v but no cause", n, err)
	}
	if n.deadlineCause != nil && cause == n.deadlineCause && now.Before(n.deadline) {
		t.fail("%v has ended %v before its deadline", n, n.deadline.Sub(now))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil {
		n.err, n.cause, n.known = err, cause, len(n.causes)
	}
	if n.err != err {
		t.fail("the error of %v has changed from %v to %v", n, n.err, err)
	}
	if n.fixedCause && n.cause != cause {
		t.fail("the cause of %v has changed from %v to %v", n, n.cause, cause)
	}
}

// awaitEnd waits until a context has ended and observes it.
func (t *sharedTree) awaitEnd(n *sharedNode) {
	if !n.neverEnds && !trueWithin(t.patience, func() bool { return isDone(n.ctx) }) {
		t.fail("%v has not ended", n)
		return
	}
	t.observe(n, 0)
}

// checkEnded checks a tree whose contexts have ended. goroutines and armed are the numbers of
// goroutines and of armed timers before the tree was made.
func (t *sharedTree) checkEnded(goroutines, armed int) {
	for _, n := range t.nodes {
		if n.derived {
			t.checkReason(n)
		}
	}
	if !doneWithin(t.patience, &t.waiters) {
		t.fail("%d goroutines wait for contexts that have ended", t.waiting.Load())
	}
	hooks := t.allHooks()
	for _, h := range hooks {
		h.tryStop()
		if !trueWithin(t.patience, h.done) {
			t.fail("an AfterFunc of %v has not run", h.on)
		}
	}
	if !trueWithin(t.patience, func() bool { return nothingLeft(goroutines, armed) }) {
		t.fail("%d goroutines and %d timers, want %d and %d as before\n%s", runtime.NumGoroutine(),
			foliot.Default().Stats().Armed, goroutines, armed, testkit.Stacks())
	}
	for _, h := range hooks {
		if runs, stopped := h.runs.Load(), h.stopped.Load(); runs+stopped != 1 {
			t.fail("an AfterFunc of %v has run %d times and was stopped %d times, want once together",
				h.on, runs, stopped)
		}
	}
	for _, n := range t.nodes {
		if n.user != nil && n.user.registered() != 0 {
			t.fail("%v has %d registered functions, want none", n, n.user.registered())
		}
	}
}

// checkReason checks that a derived context has ended because of its own deadline or cancel
// function, or because of the next ancestor that can end.
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
		t.fail("%v has ended with %v, cause %v, but its ancestor %v with %v, cause %v",
			n, err, cause, up, up.ctx.Err(), context.Cause(up.ctx))
	}
}

// cancelledWith reports whether the context may have been cancelled with this cause. A cause that
// was used after the end was first observed does not count.
func (n *sharedNode) cancelledWith(cause error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if cause == context.Canceled {
		return n.nilCause && n.known > 0
	}
	return n.takesCause && slices.Contains(n.causes[:n.known], cause)
}

// causeAbove reports whether an ancestor has ended with this cause. Then Cause of a user's context
// returns it.
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
		fmt.Fprintf(&b, ": %T, standard %t, Err %v, Cause %v\n",
			n.ctx, isStandard(n.ctx), n.ctx.Err(), context.Cause(n.ctx))
	}
	return b.String()
}
