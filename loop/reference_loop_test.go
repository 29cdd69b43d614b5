package loop_test

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// An eventLoop is what programs run on: a loop, or the reference.
type eventLoop interface {
	Time() time.Duration
	CallSoon(f func()) handle
	CallLater(d time.Duration, f func()) handle
	CallAt(when time.Duration, f func()) handle
	CallLaterBatch(calls []loop.Call) []handle
	Post(f func())
	PostBatch(fs []func())
	Hold() (release func())
	Stop()
	Step() (next time.Duration, ok bool)
	RunUntilIdle()
	Sleep(d time.Duration) // called by callbacks that take time; not on a virtual clock
}

type handle interface {
	Cancel() bool
	Pending() bool
	When() time.Duration
}

// A reference is an event loop with the same rules, in the simplest possible code. It has
// no goroutines and never waits: it moves its clock to the next deadline instead.
type reference struct {
	virtual   bool
	afterCall func()
	onPanic   func(v any) // nil: a panic reaches the caller

	clock         time.Duration // the time of the clock
	now           time.Duration // the result of Time
	soon          []*refCall    // in order of arrival
	timers        []*refCall    // by deadline, then in arming order
	running       []*refCall    // the rest of the iteration
	afterCallOwed bool          // a callback was called, and AfterCall not yet for it
	holds         int
	stopped       bool
}

type refCall struct {
	when    time.Duration
	f       func()
	pending bool
}

func (c *refCall) Pending() bool       { return c.pending }
func (c *refCall) When() time.Duration { return c.when }
func (c *refCall) Cancel() bool {
	was := c.pending
	c.pending = false
	return was
}

func (r *reference) Time() time.Duration { return r.now }

func (r *reference) Sleep(d time.Duration) { r.clock += d }

func (r *reference) CallSoon(f func()) handle {
	c := &refCall{r.now, f, true}
	r.soon = append(r.soon, c)
	return c
}

func (r *reference) Post(f func()) { r.CallSoon(f) }

func (r *reference) PostBatch(fs []func()) {
	for _, f := range fs {
		r.Post(f)
	}
}

func (r *reference) CallLater(d time.Duration, f func()) handle {
	if d > math.MaxInt64-r.clock {
		return r.arm(math.MaxInt64, f)
	}
	return r.arm(r.clock+max(d, 0), f)
}

func (r *reference) CallAt(when time.Duration, f func()) handle {
	return r.arm(when, f)
}

func (r *reference) CallLaterBatch(calls []loop.Call) []handle {
	var handles []handle
	for _, c := range calls {
		handles = append(handles, r.CallLater(c.After, c.Func))
	}
	return handles
}

func (r *reference) arm(when time.Duration, f func()) handle {
	c := &refCall{when, f, true}
	later := slices.IndexFunc(r.timers, func(other *refCall) bool { return other.when > when })
	if later < 0 {
		later = len(r.timers)
	}
	r.timers = slices.Insert(r.timers, later, c)
	return c
}

func (r *reference) Hold() (release func()) {
	r.holds++
	held := true
	return func() {
		if held {
			held = false
			r.holds--
		}
	}
}

func (r *reference) Stop() { r.stopped = true }

// next returns the time until there is a callback to call, and false if none is
// scheduled.
func (r *reference) next() (time.Duration, bool) {
	cancelled := func(c *refCall) bool { return !c.pending }
	r.soon = slices.DeleteFunc(r.soon, cancelled)
	r.timers = slices.DeleteFunc(r.timers, cancelled)
	r.running = slices.DeleteFunc(r.running, cancelled)
	switch {
	case r.afterCallOwed || len(r.running)+len(r.soon) > 0:
		return 0, true
	case len(r.timers) > 0:
		return max(r.timers[0].when, r.clock) - r.clock, true
	}
	return 0, false
}

func (r *reference) Step() (next time.Duration, ok bool) {
	if r.virtual && r.holds == 0 {
		r.moveClock()
	}
	r.iterate()
	return r.next()
}

// moveClock moves the clock to the time at which there is a callback to call.
func (r *reference) moveClock() {
	d, _ := r.next()
	r.clock += d
}

func (r *reference) iterate() {
	if r.afterCallOwed {
		r.callAfterCall()
	} else if len(r.running) == 0 {
		r.now = r.clock
		due := 0
		for due < len(r.timers) && r.timers[due].when <= r.now {
			due++
		}
		r.running = slices.Concat(r.soon, r.timers[:due])
		r.soon, r.timers = nil, slices.Clone(r.timers[due:])
	}
	for len(r.running) > 0 {
		c := r.running[0]
		r.running = r.running[1:]
		if c.Cancel() {
			r.call(c.f)
		}
	}
}

func (r *reference) call(f func()) {
	r.afterCallOwed = true
	if r.onPanic != nil {
		r.callRecovering(f)
	} else {
		f()
	}
	r.callAfterCall()
}

func (r *reference) callAfterCall() {
	r.afterCallOwed = false
	r.afterCall()
}

func (r *reference) callRecovering(f func()) {
	defer func() {
		if v := recover(); v != nil {
			r.onPanic(v)
		}
	}()
	f()
}

func (r *reference) RunUntilIdle() {
	for {
		if !r.stopped {
			if _, ok := r.next(); !ok {
				return
			}
			r.moveClock()
		}
		r.iterate()
		if r.stopped {
			r.stopped = false
			return
		}
	}
}

// A realLoop is a loop as an eventLoop.
type realLoop struct{ *loop.Loop }

func (l realLoop) CallSoon(f func()) handle                   { return l.Loop.CallSoon(f) }
func (l realLoop) CallLater(d time.Duration, f func()) handle { return l.Loop.CallLater(d, f) }
func (l realLoop) CallAt(when time.Duration, f func()) handle { return l.Loop.CallAt(when, f) }
func (l realLoop) Sleep(d time.Duration)                      { time.Sleep(d) }
func (l realLoop) Post(f func())                              { must(l.Loop.Post(f)) }
func (l realLoop) PostBatch(fs []func())                      { must(l.Loop.PostBatch(fs)) }

func (l realLoop) CallLaterBatch(calls []loop.Call) []handle {
	var handles []handle
	for _, h := range l.Loop.CallLaterBatch(nil, calls) {
		handles = append(handles, h)
	}
	return handles
}

func (l realLoop) RunUntilIdle() { must(l.Loop.RunUntilIdle(context.Background())) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}
