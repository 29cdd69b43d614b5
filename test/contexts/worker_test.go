package contexts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"
)

// A worker is a goroutine that uses a shared tree.
type worker struct {
	*sharedTree
	rng *rand.Rand
}

// node returns one of the contexts, see choose.
func (w *worker) node() *sharedNode {
	ns := w.all()
	return ns[choose(byte(w.rng.Uint32()), len(ns))]
}

// act does one random action.
func (w *worker) act() {
	switch k := w.rng.IntN(20); {
	case k < 7:
		if len(w.all()) < maxShared {
			w.addChild(w.node())
		}
	case k < 9:
		w.addHook(w.node())
	case k < 11:
		w.end(w.node())
	case k < 12:
		w.addWaiter(w.node())
	case k < 13:
		hs := w.allHooks()
		if i := choose(byte(w.rng.Uint32()), len(hs)); i >= 0 {
			hs[i].tryStop()
		}
	case k < 14:
		w.poll(w.node())
	case k < 15:
		runtime.Gosched()
	default:
		w.observe(w.node(), w.rng.Uint32())
	}
}

// addChild makes a child of a context and returns it.
func (w *worker) addChild(above *sharedNode) *sharedNode {
	n := &sharedNode{above: above, neverEnds: above.neverEnds, fixedCause: above.fixedCause}
	n.parent, n.opaque, n.independent = &above.node, above.opaque, above.independent
	ended := above.ctx.Err() != nil
	if text := panicText(func() { w.make(n) }); text != "" {
		w.fail("making a child of %v: %s", above, text)
		return above
	}
	w.add(n)
	if n.derived && ended && n.ctx.Err() == nil {
		w.fail("%v has not ended, but was made below %v, which had ended", n, above)
	}
	return n
}

// make makes the context of n.
func (w *worker) make(n *sharedNode) {
	m, parent := w.makers[w.rng.IntN(2)], n.above.ctx
	derived := func(ctx context.Context, cancel func(error)) {
		n.ctx, n.cancel, n.derived = ctx, cancel, true
		n.opaque, n.independent, n.neverEnds, n.fixedCause = false, false, false, true
	}
	withDeadline := func(d time.Time) {
		n.deadlineCause = &uniqueError{fmt.Sprintf("deadline of a context below %v", n.above)}
		if sooner, ok := parent.Deadline(); !ok || !sooner.Before(d) {
			n.deadline = d
		}
		ctx, cancel := m.withDeadlineCause(parent, d, n.deadlineCause)
		derived(ctx, plain(cancel))
	}
	switch w.rng.IntN(12) {
	case 0, 1:
		ctx, cancel := m.withCancel(parent)
		derived(ctx, plain(cancel))
	case 2, 3:
		n.takesCause = true
		derived(m.withCancelCause(parent))
	case 4, 5:
		withDeadline(time.Now().Add(time.Hour - time.Duration(w.rng.IntN(1000))*time.Second))
	case 6, 7:
		withDeadline(time.Now().Add(time.Duration(w.rng.IntN(500)) * time.Microsecond))
	case 8:
		n.ctx = m.withValue(parent, ctxKey(0), 0)
	case 9:
		n.ctx = plainWrapper{parent}
	case 10:
		user := &afterFuncContext{calls: w.rng.IntN(2) == 0}
		user.userContext = userContext{Context: parent, done: make(chan struct{}), watch: &w.watch}
		n.ctx, n.user, n.node.end = user, user, user.end
		if w.rng.IntN(2) == 0 {
			n.ctx, n.user, n.node.end = &user.userContext, nil, user.userContext.end
		}
		n.opaque, n.independent, n.neverEnds, n.fixedCause = true, true, false, false
	case 11:
		n.ctx = m.withoutCancel(parent)
		n.opaque, n.independent, n.neverEnds, n.fixedCause = false, true, true, true
	}
}

// addHook calls AfterFunc. Some of the functions use other contexts of the tree.
func (w *worker) addHook(on *sharedNode) *sharedHook {
	h := &sharedHook{on: on}
	m, other := w.makers[w.rng.IntN(2)], w.node()
	useOther := w.rng.IntN(4) == 0
	f := func() {
		h.runs.Add(1)
		if on.ctx.Err() == nil || !isDone(on.ctx) {
			w.fail("in an AfterFunc of %v Err is %v, done %t", on, on.ctx.Err(), isDone(on.ctx))
		}
		if useOther {
			other.finish(true)
			child, cancel := m.withCancel(on.ctx)
			defer cancel()
			if child.Err() == nil {
				w.fail("a child of %v that was made in an AfterFunc has not ended", on)
			}
		}
	}
	if text := panicText(func() { h.stop = m.afterFunc(on.ctx, f) }); text != "" {
		w.fail("an AfterFunc of %v: %s", on, text)
		h.stop = func() bool { return true }
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hooks = append(w.hooks, h)
	return h
}

// end ends a context and checks that it and its descendants have ended.
func (w *worker) end(n *sharedNode) {
	below := w.all() // before the end
	if !n.finish(w.rng.IntN(3) > 0) {
		return
	}
	if n.ctx.Err() == nil {
		w.fail("%v has no error after its end", n)
	}
	for _, x := range below {
		if _, knows, _ := x.follows(&n.node); !knows {
			continue
		}
		switch w.rng.IntN(3) {
		case 0:
			if !isDone(x.ctx) {
				w.fail("%v is not done after the end of %v", x, n)
			}
		case 1:
			if x.ctx.Err() == nil {
				w.fail("%v has no error after the end of %v", x, n)
			}
		case 2:
			if causeThrough(context.Cause, x.ctx) == nil {
				w.fail("a wrapper of %v has no cause after the end of %v", x, n)
			}
		}
	}
}

// addWaiter starts a goroutine that waits for a context.
func (w *worker) addWaiter(n *sharedNode) {
	done := n.ctx.Done()
	if done == nil {
		return
	}
	w.waiting.Add(1)
	w.waiters.Go(func() {
		<-done
		w.waiting.Add(-1)
		if n.ctx.Err() == nil {
			w.fail("the channel of %v is closed, but it has no error", n)
		}
	})
}

// poll calls Err of a context many times, until it has ended.
func (w *worker) poll(n *sharedNode) {
	done := n.ctx.Done()
	if done == nil {
		return
	}
	for range 250 {
		if err := n.ctx.Err(); err != nil {
			if !isClosed(done) {
				w.fail("%v has the error %v, but the channel is not closed", n, err)
			}
			return
		}
		if isClosed(done) {
			if n.ctx.Err() == nil {
				w.fail("the channel of %v is closed, but it has no error", n)
			}
			return
		}
	}
}

// finishAll ends all contexts. If quiet is true, it first ends those that do not end with a parent,
// and calls no method of a context until all waiters and hooks have run.
func (w *worker) finishAll(quiet bool) {
	if quiet {
		for _, n := range w.nodes {
			if n.node.end != nil || n.cancel != nil && n.above.neverEnds {
				n.finish(w.rng.IntN(3) > 0)
			}
		}
		if !doneWithin(w.patience, &w.waiters) {
			w.fail("%d goroutines wait for contexts that have ended", w.waiting.Load())
		}
		for _, h := range w.allHooks() {
			if !h.on.neverEnds && !trueWithin(w.patience, h.done) {
				w.fail("an AfterFunc of %v has not run", h.on)
			}
		}
		for _, n := range w.nodes {
			w.awaitEnd(n)
		}
	}
	for _, i := range w.rng.Perm(len(w.nodes)) {
		w.end(w.nodes[i])
	}
}
