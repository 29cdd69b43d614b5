package contexts

import (
	"context"
	"fmt"
)

// until waits until ok returns true. If it does not in time, the test fails with the text of
// problem.
func (t *tree) until(ok func() bool, problem func() string) {
	if !trueWithin(t.patience, ok) {
		t.fail("after %v: %s", t.patience, problem())
	}
}

// untilEnded waits until n has an error.
func (t *tree) untilEnded(n *node) {
	t.until(func() bool { return n.ctx.Err() != nil }, func() string {
		return fmt.Sprint(n, " has not ended")
	})
}

// untilRun waits until the function of h has run, if the context has ended and h was not stopped.
func (t *tree) untilRun(h *hook) {
	if !h.stopped && isDone(h.on.ctx) {
		t.until(func() bool { runs, _ := h.ran(); return runs > 0 }, func() string {
			return fmt.Sprint(h, " has not run")
		})
	}
}

// settle waits until the effects of the last step are complete: the descendants of a context whose
// Done is closed have ended.
//
// It does not wait for a context of Foliot that is not below an opaque one: its methods must report
// the end at once. It does not call Done of a context for the first time, since a context may
// behave differently before that. The standard package calls Done of the parent when it makes a
// context.
func (t *tree) settle() {
	for _, n := range t.nodes {
		if n.derived && (n.parent.opaque || isStandard(n.ctx)) && isDone(n.parent.ctx) {
			t.untilEnded(n)
		}
	}
	for _, h := range t.hooks {
		t.untilRun(h)
	}
	for _, n := range t.nodes {
		if n.user != nil {
			t.until(func() bool { return n.user.registered() == t.live(n) }, func() string {
				return fmt.Sprintf("%v has %d registered functions, want %d",
					n, n.user.registered(), t.live(n))
			})
		}
	}
}

// live counts the contexts and hooks that wait for the end of a user's context.
func (t *tree) live(on *node) (live int) {
	if isDone(on.ctx) {
		return 0
	}
	for _, n := range t.nodes {
		if n.derived && n.parent == on && n.ctx.Err() == nil {
			live++
		}
	}
	for _, h := range t.hooks {
		if runs, _ := h.ran(); h.on == on && !h.stopped && runs == 0 {
			live++
		}
	}
	return live
}

// ended is called when a step has ended root. Depending on how, it first queries the descendants,
// or it first waits for effects that must happen without a query.
func (t *tree) ended(root *node, how byte) {
	switch how % 3 {
	case 0:
		t.queryAtOnce(root)
	case 1:
		t.awaitProgress()
	}
	t.settle()
	t.recordProgress()
}

// progress lists the held channels that are closed and the hooks that have run.
func (t *tree) progress() string {
	list := "closed:"
	for _, n := range t.nodes {
		if n.keptDone != nil && isClosed(n.keptDone) {
			list += fmt.Sprint(" ", n)
		}
	}
	list += ", run:"
	for _, h := range t.hooks {
		if runs, _ := h.ran(); runs > 0 {
			list += fmt.Sprint(" ", h)
		}
	}
	return list
}

// awaitProgress waits until progress returns the next line of the reference. It calls no method of
// a context, since that may close a channel.
func (t *tree) awaitProgress() {
	if want, known := t.expected(); known {
		t.until(func() bool { return t.progress() == want }, func() string {
			return t.progress() + ", want " + want
		})
	}
}

// recordProgress waits for the progress of the reference and records it.
func (t *tree) recordProgress() {
	t.awaitProgress()
	t.record("%s", t.progress())
}

// queryAtOnce calls Err and Cause of the descendants of root, which has just ended. Those that end
// without the help of a goroutine must have ended.
func (t *tree) queryAtOnce(root *node) {
	for _, n := range t.nodes {
		follows, knows, notified := n.follows(root)
		if !follows {
			continue
		}
		if !knows {
			t.untilEnded(n)
		}
		if n.keptDone != nil && notified && !isClosed(n.keptDone) {
			t.fail("the channel of %v is not closed when the call that ends %v returns", n, root)
		}
		cause := errorName(causeThrough(t.makers[1].cause, n.ctx))
		t.record("%v at once: Cause %s, %s", n, cause, t.reasons(n.ctx))
	}
}

// follows reports whether n would end with root before the call that ends root returns, if all
// contexts were standard ones. If there are contexts of Foliot between them, knows reports whether
// the methods of n must report the end at once, and notified whether its channel must be closed at
// once. A goroutine notifies a context of Foliot below a standard one, but its methods report the
// end at once. Those of a standard context below that do not.
func (n *node) follows(root *node) (follows, knows, notified bool) {
	if !n.derived || !n.under(root) {
		return false, false, false
	}
	// The contexts between x and n include a standard one, one of Foliot, a standard one below one
	// of Foliot.
	standard, foliot, mixed := false, false, false
	knows, notified = true, true
	for x := n; ; x = x.parent {
		switch {
		case !x.derived && (x.opaque || x.independent):
			return false, false, false
		case !x.derived:
			continue
		case isStandard(x.ctx):
			standard, knows, notified = true, knows && !mixed, notified && !foliot
		default:
			foliot, mixed = true, mixed || standard
		}
		if x == root || x.parent == root && root.user != nil && root.user.calls {
			return true, knows, notified
		}
	}
}

// reasons formats Err and Cause of a context.
func (t *tree) reasons(ctx context.Context) string {
	return fmt.Sprintf("Err %s, Cause %s", errorName(ctx.Err()), errorName(t.makers[1].cause(ctx)))
}
