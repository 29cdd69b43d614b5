package contexts

import (
	"context"
	"fmt"
	"math"
	"time"
)

type ctxKey int

// times are deadlines relative to the base of a program. A program ends before those in the future.
// The differences are so large that the order of two deadlines is known.
var times = [...]time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour, 90 * time.Minute, -time.Hour}

// timeouts has the same durations and some extreme ones.
var timeouts = [...]time.Duration{
	time.Hour, 2 * time.Hour, 3 * time.Hour, 90 * time.Minute,
	-time.Second, 0, math.MinInt64, math.MaxInt64,
}

// deadline returns the deadline that b selects for a child of parent.
func (t *tree) deadline(b byte, parent *node) time.Time {
	switch i := int(b) % (len(times) + 3); i {
	case len(times):
		return time.Time{}
	case len(times) + 1:
		return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	case len(times) + 2:
		if d, ok := parent.ctx.Deadline(); ok {
			return d
		}
		return t.base.Add(times[0])
	default:
		return t.base.Add(times[i])
	}
}

// plain converts a CancelFunc to a function that ignores the cause.
func plain(cancel context.CancelFunc) func(error) { return func(error) { cancel() } }

// makeContext makes a context with a function of a maker.
func (t *tree) makeContext(s step) {
	if len(t.nodes) >= maxNodes {
		return
	}
	parent := pickNode(s.target, t.nodes)
	m := t.makers[s.pick&1]
	cause := poolError(s.detail >> 4)
	what := ""
	made, panicked := t.tryMake(func() *node {
		switch s.action {
		case makeCancel:
			what = "WithCancel"
			ctx, cancel := m.withCancel(parent.ctx)
			return t.derive(parent, ctx, plain(cancel))
		case makeCancelCause:
			what = "WithCancelCause"
			ctx, cancel := m.withCancelCause(parent.ctx)
			return t.derive(parent, ctx, cancel)
		case makeDeadline:
			d := t.deadline(s.detail, parent)
			what = "WithDeadline " + t.when(d)
			ctx, cancel := m.withDeadline(parent.ctx, d)
			return t.derive(parent, ctx, plain(cancel))
		case makeDeadlineCause:
			d := t.deadline(s.detail, parent)
			what = fmt.Sprintf("WithDeadlineCause %s, %s", t.when(d), errorName(cause))
			ctx, cancel := m.withDeadlineCause(parent.ctx, d, cause)
			return t.derive(parent, ctx, plain(cancel))
		case makeTimeout:
			d := timeouts[int(s.detail)%len(timeouts)]
			what = fmt.Sprint("WithTimeout ", d)
			ctx, cancel := m.withTimeout(parent.ctx, d)
			return t.derive(parent, ctx, plain(cancel))
		case makeTimeoutCause:
			d := timeouts[int(s.detail)%len(timeouts)]
			what = fmt.Sprintf("WithTimeoutCause %v, %s", d, errorName(cause))
			ctx, cancel := m.withTimeoutCause(parent.ctx, d, cause)
			return t.derive(parent, ctx, plain(cancel))
		case makeValue:
			key := ctxKey(s.detail % 3)
			what = fmt.Sprint("WithValue ", key)
			return t.add(parent, m.withValue(parent.ctx, key, len(t.nodes)))
		default:
			what = "WithoutCancel"
			n := t.add(parent, m.withoutCancel(parent.ctx))
			n.opaque, n.errNil, n.independent = false, false, true
			return n
		}
	})
	t.record("%v := %s of %v%s", made, what, parent, panicked)
}

// tryMake calls f, which makes a node. If f panics, it returns nil and the text of the panic.
func (t *tree) tryMake(f func() *node) (n *node, panicked string) {
	if w := panicText(func() { n = f() }); w != "" {
		return nil, ": " + w
	}
	return n, ""
}

// makeWrapper makes a wrapper. It makes no opaque wrapper whose Err is always nil: when it ended, a
// goroutine of the standard package would panic.
func (t *tree) makeWrapper(s step) {
	if len(t.nodes) >= maxNodes {
		return
	}
	parent := pickNode(s.target, t.nodes)
	own := errorPool[4]
	ctx, opaque, independent, errNil := parent.ctx, parent.opaque, parent.independent, parent.errNil
	var end func(error) bool
	var values *node
	what := ""
	switch s.detail % 16 {
	case 0:
		what, ctx = "nothing", plainWrapper{ctx}
	case 1:
		what, ctx = "nothing, a pointer", &plainWrapper{ctx}
	case 2:
		what, ctx, errNil = "Err", errWrapper{ctx, own}, false
	case 3:
		what, ctx, errNil = "Err, nil", errWrapper{ctx, nil}, true
	case 4, 5:
		what, ctx = "Err, another", translatedWrapper{ctx, own}
	case 6:
		what, ctx = "Err, of a slice", translatedWrapper{ctx, sliceError{"e5"}}
	case 7:
		what, ctx, independent = "Done, nil", &doneWrapper{Context: ctx}, true
	case 8:
		closed := make(chan struct{})
		close(closed)
		what, ctx, independent = "Done, closed", &doneWrapper{Context: ctx, done: closed}, true
	case 9:
		w := &doneWrapper{Context: ctx, done: make(chan struct{})}
		what, ctx, independent, opaque = "Done", w, true, true
		end = func(error) bool { return w.end() }
	case 10:
		what, ctx, opaque = "Value, nil", valueWrapper{ctx, nil}, true
	case 11:
		what, ctx, opaque = "Value, a context", valueWrapper{ctx, plainWrapper{ctx}}, true
	case 12:
		what, ctx = "Value, of one key", keyWrapper{ctx, ctxKey(0), -1}
	case 13:
		what, ctx = "Deadline, none", deadlineWrapper{Context: ctx}
	case 14:
		d := t.deadline(s.detail>>4, parent)
		what, ctx = "Deadline "+t.when(d), deadlineWrapper{ctx, d, true}
	case 15:
		values = pickNode(s.pick>>1, t.nodes)
		if !apart(parent, values) {
			return // Cause would be undetermined while both end
		}
		what, ctx, opaque = fmt.Sprint("Value of ", values), mergedWrapper{ctx, values.ctx}, true
	}
	if errNil && opaque {
		return
	}
	n := t.add(parent, ctx)
	n.opaque, n.independent, n.errNil, n.end, n.values = opaque, independent, errNil, end, values
	t.record("%v := wrapper of %v with its own %s", n, parent, what)
}

// makeUserContext makes a context of a user's type.
func (t *tree) makeUserContext(s step) {
	if len(t.nodes) >= maxNodes {
		return
	}
	parent := pickNode(s.target, t.nodes)
	user := &afterFuncContext{
		userContext: userContext{Context: parent.ctx, done: make(chan struct{}), watch: &t.watch},
		calls:       s.detail%3 == 1,
	}
	n := t.add(parent, user)
	n.opaque, n.independent, n.errNil, n.user, n.end = true, true, false, user, user.end
	what := [...]string{
		"AfterFunc with goroutines", "AfterFunc without goroutines", "no AfterFunc",
	}[s.detail%3]
	if s.detail%3 == 2 {
		n.ctx, n.user = &user.userContext, nil
	}
	t.record("%v := user's context below %v, %s", n, parent, what)
}

// addHook calls AfterFunc. If the context has ended, it waits until the function has run, since the
// results that the function observes must not depend on later steps.
func (t *tree) addHook(on *node, m *maker) {
	h := &hook{id: len(t.hooks), on: on}
	panicked := panicText(func() {
		h.stop = m.afterFunc(on.ctx, func() {
			saw := fmt.Sprintf("Err %s, Cause %s", errorName(on.ctx.Err()), errorName(m.cause(on.ctx)))
			h.mu.Lock()
			defer h.mu.Unlock()
			h.runs++
			if h.runs == 1 {
				h.saw = saw
			}
		})
	})
	t.record("%v := AfterFunc of %v %s", h, on, panicked)
	if panicked == "" {
		t.hooks = append(t.hooks, h)
		t.untilRun(h)
	}
}

// when formats a time relative to the base of the program, in minutes.
func (t *tree) when(d time.Time) string {
	return fmt.Sprint(d.Sub(t.base).Round(time.Minute))
}
