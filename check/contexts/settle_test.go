package contexts

import (
	"context"
	"fmt"
)

// until waits until ok returns true. If that takes too long, it fails with the text that
// otherwise returns.
func (t *tree) until(ok func() bool, otherwise func() string) {
	if !eventually(t.patience, ok) {
		t.fail("after %v: %s", t.patience, otherwise())
	}
}

// untilEnded waits until n has an error.
func (t *tree) untilEnded(n *node) {
	t.until(func() bool { return n.ctx.Err() != nil }, func() string { return fmt.Sprint(n, " has not ended") })
}

// untilRun waits until the function of h has run, if it has to.
func (t *tree) untilRun(h *hook) {
	if !h.stopped && isDone(h.on.ctx) {
		t.until(func() bool { runs, _ := h.ran(); return runs > 0 }, func() string { return fmt.Sprint(h, " has not run") })
	}
}

// settle waits until goroutines have done what follows from the last step. What is below a
// context whose Done is closed ends.
//
// It does not wait for a context of Foliot that is not below an opaque one: this must know its
// end whenever it is asked. It does not call Done of a context for the first time, as a context
// whose Done was never called may be implemented in another way. The standard package calls
// Done of the parent when it makes a context.
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
				return fmt.Sprintf("%v has to call %d functions, want %d", n, n.user.registered(), t.live(n))
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

// ended is called when a step has ended root. Depending on how, it first asks the contexts
// below, or it first waits for what must happen without a question.
func (t *tree) ended(root *node, how byte) {
	switch how % 3 {
	case 0:
		t.askAtOnce(root)
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
		if n.held != nil && isClosed(n.held) {
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

// awaitProgress waits until progress returns what the reference has next. It asks no context, as
// a question may close a channel.
func (t *tree) awaitProgress() {
	if want, known := t.expected(); known {
		t.until(func() bool { return t.progress() == want }, func() string { return t.progress() + ", want " + want })
	}
}

// recordProgress records the progress when it is that of the reference.
func (t *tree) recordProgress() {
	t.awaitProgress()
	t.record("%s", t.progress())
}

// askAtOnce asks the contexts below root, which has just ended, for error and cause. Those that
// need no goroutine to be told have ended.
func (t *tree) askAtOnce(root *node) {
	for _, n := range t.nodes {
		follows, knows, told := n.follows(root)
		if !follows {
			continue
		}
		if !knows {
			t.untilEnded(n)
		}
		if n.held != nil && told && !isClosed(n.held) {
			t.fail("the channel of %v is not closed at once when %v ends", n, root)
		}
		t.record("%v at once: Cause %s, %s", n, errorName(causeThrough(t.makers[1].cause, n.ctx)), t.reasons(n.ctx))
	}
}

// follows reports whether n ends with root before the call that ends root returns, if all
// contexts are standard ones. If there are contexts of Foliot between them, knows reports
// whether n must know at once when it is asked, and told whether its channel must be closed at
// once. A context of Foliot below a standard one is told by a goroutine, but knows. A standard
// context below that does not know.
func (n *node) follows(root *node) (follows, knows, told bool) {
	if !n.derived || !n.under(root) {
		return false, false, false
	}
	// What there is below x: a standard context, one of Foliot, a standard one below one of Foliot.
	standard, foliot, mixed := false, false, false
	knows, told = true, true
	for x := n; ; x = x.parent {
		switch {
		case !x.derived && (x.opaque || x.independent):
			return false, false, false
		case !x.derived:
			continue
		case isStandard(x.ctx):
			standard, knows, told = true, knows && !mixed, told && !foliot
		default:
			foliot, mixed = true, mixed || standard
		}
		if x == root || x.parent == root && root.user != nil && root.user.calls {
			return true, knows, told
		}
	}
}

// reasons formats Err and Cause of a context.
func (t *tree) reasons(ctx context.Context) string {
	return fmt.Sprintf("Err %s, Cause %s", errorName(ctx.Err()), errorName(t.makers[1].cause(ctx)))
}
