package loop_test

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/foliot-go/foliot/loop"
)

// A machine is what programs run on: a loop, or the reference.
type machine interface {
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
	Sleep(d time.Duration) // what a callback does that takes its time; not on virtual time
}

type handle interface {
	Cancel() bool
	Pending() bool
	When() time.Duration
}

// A reference is a loop in the most obvious code that keeps the rules. There are no goroutines, so it never waits: the
// clock is led on to the next deadline instead.
type reference struct {
	virtual   bool
	afterCall func()
	onPanic   func(v any) // nil: a panic reaches the caller

	clock   time.Duration // what a fresh look at the clock shows
	now     time.Duration // Time
	soon    []*refCall    // in order of arrival
	timers  []*refCall    // by deadline, then in arming order
	running []*refCall    // what is left of the iteration
	owed    bool          // AfterCall for a callback that has panicked
	holds   int
	stopped bool
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

// next is how long it is until there is something to run, and false if nothing is scheduled.
func (r *reference) next() (time.Duration, bool) {
	cancelled := func(c *refCall) bool { return !c.pending }
	r.soon = slices.DeleteFunc(r.soon, cancelled)
	r.timers = slices.DeleteFunc(r.timers, cancelled)
	r.running = slices.DeleteFunc(r.running, cancelled)
	switch {
	case r.owed || len(r.running)+len(r.soon) > 0:
		return 0, true
	case len(r.timers) > 0:
		return max(r.timers[0].when, r.clock) - r.clock, true
	}
	return 0, false
}

func (r *reference) Step() (next time.Duration, ok bool) {
	if r.virtual && r.holds == 0 {
		r.pass()
	}
	r.iterate()
	return r.next()
}

// pass lets the time pass until there is something to run.
func (r *reference) pass() {
	d, _ := r.next()
	r.clock += d
}

func (r *reference) iterate() {
	if r.owed {
		r.follow()
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
	r.owed = true
	if r.onPanic != nil {
		r.guard(f)
	} else {
		f()
	}
	r.follow()
}

func (r *reference) follow() {
	r.owed = false
	r.afterCall()
}

func (r *reference) guard(f func()) {
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
			r.pass()
		}
		r.iterate()
		if r.stopped {
			r.stopped = false
			return
		}
	}
}

// onLoop is a loop as a machine.
type onLoop struct{ *loop.Loop }

func (r onLoop) CallSoon(f func()) handle                   { return r.Loop.CallSoon(f) }
func (r onLoop) CallLater(d time.Duration, f func()) handle { return r.Loop.CallLater(d, f) }
func (r onLoop) CallAt(when time.Duration, f func()) handle { return r.Loop.CallAt(when, f) }
func (r onLoop) Sleep(d time.Duration)                      { time.Sleep(d) }
func (r onLoop) Post(f func())                              { must(r.Loop.Post(f)) }
func (r onLoop) PostBatch(fs []func())                      { must(r.Loop.PostBatch(fs)) }

func (r onLoop) CallLaterBatch(calls []loop.Call) []handle {
	var handles []handle
	for _, h := range r.Loop.CallLaterBatch(nil, calls) {
		handles = append(handles, h)
	}
	return handles
}

func (r onLoop) RunUntilIdle() { must(r.Loop.RunUntilIdle(context.Background())) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}
