package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dop251/goja"
	"github.com/foliot-go/foliot/loop"
)

// kind says which function made a timer.
type kind uint8

const (
	timeout kind = iota
	interval
	immediate
)

// A timer is made by setTimeout, setInterval or setImmediate.
type timer struct {
	id       int64
	kind     kind
	callback goja.Callable
	args     []goja.Value
	delay    time.Duration
	nesting  int         // its place in a chain of timers, each armed by the callback of the one before; from 1
	handle   loop.Handle // the next run
	fire     func()      // the callback of the loop
}

// timers are all timers of a script.
type timers struct {
	armed  map[int64]*timer // by id: timers that will run, and an interval that is running
	lastID int64

	running *timer        // the interval whose callback is running; nil: none
	latest  time.Duration // the latest deadline armed by the callback of running with a delay not longer than its own

	nesting int // nesting of the timer whose callback is running; 0: none is, also during microtasks
}

const (
	maxDelay       = math.MaxInt32
	htmlMaxNesting = 5
	htmlMinNested  = 4 * time.Millisecond
)

func (h *Host) addTimers() {
	h.timers.armed = make(map[int64]*timer)
	global := h.vm.GlobalObject()
	for name, k := range map[string]kind{"setTimeout": timeout, "setInterval": interval, "setImmediate": immediate} {
		h.define(global, name, func(call goja.FunctionCall) goja.Value { return h.arm(k, call) })
	}
	h.define(global, "clearTimeout", func(call goja.FunctionCall) goja.Value { return h.clear(call, timeout, interval) })
	h.define(global, "clearInterval", func(call goja.FunctionCall) goja.Value { return h.clear(call, timeout, interval) })
	h.define(global, "clearImmediate", func(call goja.FunctionCall) goja.Value { return h.clear(call, immediate) })
}

// arm makes a timer and returns its id.
func (h *Host) arm(k kind, call goja.FunctionCall) goja.Value {
	ts := &h.timers
	t := &timer{kind: k, callback: h.function(call.Argument(0)), nesting: ts.nesting + 1}
	args := 1 // index of the first argument for the callback
	if k != immediate {
		t.delay = h.nested(h.delay(call.Argument(1)), ts.nesting)
		args = 2
	}
	if len(call.Arguments) > args {
		t.args = slices.Clone(call.Arguments[args:]) // goja reuses the memory of its arguments
	}
	// The id is assigned last, because the delay may be an object whose valueOf arms timers.
	ts.lastID++
	t.id = ts.lastID
	t.fire = func() { h.fire(t) }
	ts.armed[t.id] = t
	if k == immediate {
		t.handle = h.loop.CallSoon(t.fire)
		return h.vm.ToValue(t.id)
	}
	t.handle = h.loop.CallLater(t.delay, t.fire)
	if ts.running != nil && t.delay <= ts.running.delay {
		ts.latest = max(ts.latest, t.handle.When())
	}
	return h.vm.ToValue(t.id)
}

// fire runs the callback of a timer as one task. goja runs the microtasks after the task has returned. Timers that
// they arm have no nesting, as in HTML.
func (h *Host) fire(t *timer) {
	h.enter(func() error {
		h.timers.nesting = t.nesting
		defer func() { h.timers.nesting = 0 }()
		if t.kind == interval {
			return h.fireInterval(t)
		}
		delete(h.timers.armed, t.id) // clearing it in its own callback has no effect
		return h.invoke(t)
	})
}

// fireInterval runs the callback of an interval. It arms the next run before the callback, so that the period counts
// from here however long the callback takes. After the callback it arms the next run again if the callback has armed a
// timer with the same delay or less, which the next run must not overtake.
func (h *Host) fireInterval(t *timer) error {
	ts := &h.timers
	delay := h.nested(t.delay, t.nesting)
	t.nesting++
	t.handle = h.loop.CallLater(delay, t.fire)
	ts.running, ts.latest = t, -1
	err := h.invoke(t)
	ts.running = nil
	if t.handle.Pending() && ts.latest >= 0 {
		when := max(t.handle.When(), ts.latest)
		t.handle.Cancel()
		t.handle = h.loop.CallAt(when, t.fire)
	}
	return err
}

func (h *Host) invoke(t *timer) error {
	_, err := t.callback(h.vm.GlobalObject(), t.args...)
	return err
}

// clear removes the timer whose id is the first argument, if it is of one of these kinds.
func (h *Host) clear(call goja.FunctionCall, kinds ...kind) goja.Value {
	if t, ok := h.timers.armed[timerID(call.Argument(0))]; ok && slices.Contains(kinds, t.kind) {
		t.handle.Cancel()
		delete(h.timers.armed, t.id)
	}
	return goja.Undefined()
}

// timerID returns the id that v is, as a number or as a string, or 0. It runs no JavaScript: an object is no id,
// whatever its valueOf returns.
func timerID(v goja.Value) int64 {
	switch {
	case goja.IsNumber(v):
		if id := v.ToInteger(); float64(id) == v.ToFloat() {
			return id
		}
	case goja.IsString(v):
		if id, err := strconv.ParseInt(v.String(), 10, 64); err == nil && strconv.FormatInt(id, 10) == v.String() {
			return id
		}
	}
	return 0
}

// function returns v as a function, or throws.
func (h *Host) function(v goja.Value) goja.Callable {
	f, ok := goja.AssertFunction(v)
	if !ok {
		panic(h.invalid(`The "callback" argument must be of type function`))
	}
	return f
}

// delay converts v to a delay. It may throw, as the conversion to a number may.
func (h *Host) delay(v goja.Value) time.Duration {
	ms := v.ToFloat()
	if h.HTML {
		wrapped := int32(0)
		if !math.IsNaN(ms) && !math.IsInf(ms, 0) {
			wrapped = int32(uint32(int64(math.Mod(math.Trunc(ms), 1<<32))))
		}
		return time.Duration(max(wrapped, 0)) * time.Millisecond
	}
	if ms > maxDelay {
		fmt.Fprintf(h.Err, "TimeoutOverflowWarning: %v does not fit into a 32-bit signed integer. The delay was set to 1.\n", v)
	}
	if !(ms >= 1 && ms <= maxDelay) { // NaN too
		ms = 1
	}
	return time.Duration(ms) * time.Millisecond
}

// nested returns the delay of a timer that is armed by a callback of the given nesting.
func (h *Host) nested(delay time.Duration, nesting int) time.Duration {
	if h.HTML && nesting > htmlMaxNesting {
		return max(delay, htmlMinNested)
	}
	return delay
}
