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

// kind is what a timer was made by.
type kind uint8

const (
	timeout kind = iota
	interval
	immediate
)

// A timer is what setTimeout, setInterval or setImmediate made.
type timer struct {
	id       int64
	kind     kind
	callback goja.Callable
	args     []goja.Value
	delay    time.Duration
	nesting  int         // how many timers led to it, itself included, each armed by the callback of the one before
	handle   loop.Handle // of the next run
	fire     func()      // what the loop calls
}

// timers are all timers of a script.
type timers struct {
	armed  map[int64]*timer // by id, those that will run or, of intervals, are running
	lastID int64

	running *timer        // whose callback is running; nil: none
	latest  time.Duration // the latest deadline that the callback of running has armed with a delay up to its own

	nesting int // of the timer whose callback is running; 0: none is. Microtasks run after the callback
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
	args := 1 // where the callback's own begin
	if k != immediate {
		t.delay = h.nested(h.delay(call.Argument(1)), ts.nesting)
		args = 2
	}
	if len(call.Arguments) > args {
		t.args = slices.Clone(call.Arguments[args:]) // they are on goja's stack
	}
	// The id is taken last, as a delay may be an object whose valueOf arms timers.
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

// fire runs a timer's callback, as one task. goja runs the microtasks when the task has returned: for
// what they arm the nesting is 0, as HTML has it.
func (h *Host) fire(t *timer) {
	h.enter(func() error {
		h.timers.nesting = t.nesting
		defer func() { h.timers.nesting = 0 }()
		if t.kind == interval {
			return h.fireInterval(t)
		}
		delete(h.timers.armed, t.id) // to clear it in its own callback is to clear nothing
		return h.invoke(t)
	})
}

// fireInterval runs an interval's callback between two runs. The next is armed before the callback, so
// that it is counted from here however long the callback takes, and armed again after it if there is a
// timer that it must not overtake: one that the callback has armed, with no more than the same delay.
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

// clear takes away the timer that the first argument names, if it is of one of these kinds.
func (h *Host) clear(call goja.FunctionCall, kinds ...kind) goja.Value {
	if t, ok := h.timers.armed[timerID(call.Argument(0))]; ok && slices.Contains(kinds, t.kind) {
		t.handle.Cancel()
		delete(h.timers.armed, t.id)
	}
	return goja.Undefined()
}

// timerID returns the id that v is, as a number or spelled out, or 0. It runs no JavaScript: an object is
// no id whatever its valueOf.
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

// function returns the function that v is, or throws.
func (h *Host) function(v goja.Value) goja.Callable {
	f, ok := goja.AssertFunction(v)
	if !ok {
		panic(h.invalid(`The "callback" argument must be of type function`))
	}
	return f
}

// delay returns the delay that v stands for. It may throw: so does a number's conversion.
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

// nested returns the delay of a timer that is armed at that nesting.
func (h *Host) nested(delay time.Duration, nesting int) time.Duration {
	if h.HTML && nesting > htmlMaxNesting {
		return max(delay, htmlMinNested)
	}
	return delay
}
