package contexts

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/foliot-go/foliot"
)

// run runs a program and then ends all contexts. It returns an error if it observes other results
// than the reference, or if a goroutine or a timer is left.
func (t *tree) run(p program) (err error) {
	goroutines, armed := runtime.NumGoroutine(), armedTimers()
	defer func() {
		switch v := recover().(type) {
		case nil:
		case mismatch:
			err = fmt.Errorf("%w\nafter\n%s", v.error, strings.Join(t.trace, "\n"))
			t.clear()
		default:
			panic(v)
		}
	}()
	t.add(nil, context.Background())
	for _, s := range p {
		t.do(s)
	}
	t.check(0)
	for _, n := range t.nodes {
		if n.end != nil {
			t.record("end %v: %t", n, n.end(errorPool[1]))
			t.settle()
		}
	}
	for _, n := range t.nodes {
		if n.cancel != nil {
			n.cancel(errorPool[2])
			t.settle()
		}
	}
	for _, h := range t.hooks {
		t.record("stop %v: %t", h, t.stop(h))
	}
	t.check(1)
	t.until(func() bool { return nothingLeft(goroutines, armed) }, func() string {
		return fmt.Sprintf("%d goroutines and %d timers, want %d and %d as before",
			runtime.NumGoroutine(), armedTimers(), goroutines, armed)
	})
	t.recordHooks()
	return nil
}

// nothingLeft reports whether there are at most so many goroutines and armed timers.
func nothingLeft(goroutines, armed int) bool {
	return runtime.NumGoroutine() <= goroutines && armedTimers() <= armed
}

// armedTimers returns the number of armed timers.
func armedTimers() int {
	return foliot.Default().Stats().Armed + rt.Stats().Armed
}

// clear ends all contexts after a mismatch.
func (t *tree) clear() {
	for _, n := range t.nodes {
		if n.end != nil {
			n.end(errorPool[1])
		}
		if n.cancel != nil {
			n.cancel(nil)
		}
	}
	for _, h := range t.hooks {
		h.stop()
	}
}

// do runs one step.
func (t *tree) do(s step) {
	switch s.action {
	case makeCancel, makeCancelCause, makeDeadline, makeDeadlineCause,
		makeTimeout, makeTimeoutCause, makeValue, makeWithoutCancel:
		t.makeContext(s)
	case makeWrapper:
		t.makeWrapper(s)
	case makeUser:
		t.makeUserContext(s)
	case makeHook:
		t.addHook(pickNode(s.target, t.nodes), t.makers[s.pick&1])
	case makeShort:
		t.makeExpiring(s)
	case doCancel:
		if n := pickNode(s.target, t.of(func(n *node) bool { return n.cancel != nil })); n != nil {
			cause := poolError(s.detail)
			t.record("cancel %v with %s", n, errorName(cause))
			n.cancel(cause)
			t.ended(n, s.pick)
		}
	case doEnd:
		if n := pickNode(s.target, t.of(func(n *node) bool { return n.end != nil })); n != nil {
			err := properError(s.detail)
			t.record("end %v with %s: %t", n, errorName(err), n.end(err))
			t.ended(n, s.pick)
		}
	case doStop:
		if i := choose(s.target, len(t.hooks)); i >= 0 {
			t.record("stop %v: %t", t.hooks[i], t.stop(t.hooks[i]))
		}
	case doQuery:
		n := pickNode(s.target, t.nodes)
		t.record("%v: %s", n, t.query(n, s.detail))
	case doKeepDone:
		t.keepDone(pickNode(s.target, t.nodes))
	case doCheck:
		t.check(s.detail)
	case doWatchErr:
		if n := pickNode(s.target, t.of(func(n *node) bool { return n.derived })); n != nil {
			seen := ""
			called := t.watch.during(func() {
				seen = fmt.Sprintf("%s, done %t", t.reasons(n.ctx), isDone(n.ctx))
			})
			t.record("%v: %s, a user's Err was called: %t", n, seen, called)
		}
	}
}

func (t *tree) stop(h *hook) bool {
	stopped := h.stop()
	h.stopped = h.stopped || stopped
	return stopped
}

// keepDone calls Done and keeps the channel. Done must always return the same one.
func (t *tree) keepDone(n *node) {
	done := n.ctx.Done()
	if n.keptDone == nil {
		n.keptDone = done
	}
	t.record("Done of %v: nil %t, as before %t", n, done == nil, done == n.keptDone)
}

// makeExpiring makes a context with a short deadline and a few descendants, and waits until the
// deadline has passed. Depending on the step, it waits for a channel or polls Err.
func (t *tree) makeExpiring(s step) {
	if t.shorts == maxShorts || len(t.nodes) >= maxNodes-4 {
		return
	}
	t.shorts++
	parent := pickNode(s.target, t.nodes)
	cause := poolError(s.detail >> 4)
	d := time.Now().Add(time.Millisecond)
	sooner, ok := parent.ctx.Deadline()
	passes := !ok || d.Before(sooner)
	n, panicked := t.tryMake(func() *node {
		ctx, cancel := t.makers[s.pick&1].withDeadlineCause(parent.ctx, d, cause)
		return t.derive(parent, ctx, plain(cancel))
	})
	t.record("%v := WithDeadlineCause soon, %s, of %v%s", n, errorName(cause), parent, panicked)
	if n == nil {
		return
	}
	last := n
	for i := range s.detail % 4 {
		m := t.makers[s.pick>>(1+i)&1]
		switch s.pick >> (4 + i) & 3 {
		case 0:
			ctx, cancel := m.withCancel(last.ctx)
			last = t.derive(last, ctx, plain(cancel))
		case 1:
			ctx, cancel := m.withTimeout(last.ctx, time.Hour)
			last = t.derive(last, ctx, plain(cancel))
		case 2:
			t.addHook(last, m)
		case 3:
			last = t.add(last, plainWrapper{last.ctx})
			last.ctx.Done()
		}
	}
	t.record("the deadline of %v passes: %t", n, passes)
	if passes {
		waited := [...]*node{n, last}[s.detail>>2&1]
		if s.detail>>3&1 == 0 {
			t.untilEnded(waited)
		} else {
			done := waited.ctx.Done()
			t.until(func() bool { return isClosed(done) }, func() string {
				return fmt.Sprint(waited, " is not done")
			})
		}
	}
	// A later step may use the deadline even if the context has ended before.
	time.Sleep(time.Until(d))
	t.settle()
	t.recordProgress()
}
