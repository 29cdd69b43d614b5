package check

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// An op is an operation on a timer. All except opRun are calls of the API.
type op uint8

const (
	opNew       op = iota // NewTimer: makes a reusable timer that is not armed
	opAfterFunc           // AfterFunc or AfterFuncBatch: makes an armed timer for one run
	opReset               // Reset
	opStop                // Stop
	opFree                // Free
	opDeadline            // Deadline
	opRun                 // the runtime removes an arming to run its callback
	opShutdown            // Shutdown; ok: the timer was armed
)

// An event is one operation on one timer and its result. Times are nanoseconds since the start of
// the history.
//
// A run is an operation of the runtime: it removes the arming at an instant that cannot be observed
// from outside. From then on Stop returns false. The instant lies before the first statement of the
// callback, and after the last statement of the previous run of the callback, since until then Stop
// can still cancel an arming made meanwhile. A run is recorded as an operation over this whole
// interval. The model chooses the instant, but never before the deadline of the arming.
type event struct {
	timer  int
	client int // the goroutine, for reports
	op     op
	call   int64
	ret    int64
	delay  time.Duration // of opAfterFunc and opReset
	ok     bool          // the result; of opNew and opAfterFunc: not ErrClosed
	at     int64         // of opDeadline: the result; of opRun: the first statement of the callback
}

// A lifetime says which calls on the handle of a timer can succeed.
type lifetime uint8

const (
	notMade lifetime = iota
	reusable
	oneShot // becomes stale with its only run, or when it is stopped
	stale
	runtimeClosed
)

// A state is the state of one timer. It does not say whether the callback is running, since no
// result depends on this: a reusable timer is idle or armed whether it runs or not. That two runs
// do not overlap is checked with the intervals of the runs, see history.events.
type state struct {
	lifetime lifetime
	armed    bool
	// The deadline of the arming is in [lo, hi], since the runtime read the clock between the call
	// that armed it and its return. Both are 0 if the timer is not armed.
	lo, hi int64
	// floor is the deadline of the last run: its instant is not before that. porcupine does not
	// know this, since it depends on which arming ran. An operation after the run in the order of
	// the model must not have returned before floor.
	floor int64
}

// step is the sequential specification of a timer. It returns the state after e in the state s, and
// whether the result of e is right in s. A deadline may be rounded up by resolution.
func step(s state, e event, resolution time.Duration) (state, bool) {
	if e.ret < s.floor {
		return s, false
	}
	armed := state{
		lifetime: s.lifetime, armed: true, floor: s.floor,
		lo: addTime(e.call, e.delay), hi: addTime(addTime(e.ret, e.delay), resolution),
	}
	disarmed := state{lifetime: s.lifetime, floor: s.floor}
	if s.lifetime == oneShot {
		disarmed.lifetime = stale
	}
	alive := s.lifetime == reusable || s.lifetime == oneShot

	if s.lifetime == runtimeClosed {
		// The documentation does not specify the results of Free and Deadline.
		return s, e.op == opFree || e.op == opDeadline || e.op != opRun && !e.ok
	}
	switch e.op {
	case opNew:
		return state{lifetime: reusable}, e.ok && s.lifetime == notMade
	case opAfterFunc:
		armed.lifetime = oneShot
		return armed, e.ok && s.lifetime == notMade
	case opReset:
		if !alive {
			return s, !e.ok
		}
		return armed, e.ok
	case opStop:
		if !s.armed {
			return s, !e.ok
		}
		return disarmed, e.ok
	case opFree:
		if !alive {
			return s, !e.ok
		}
		return state{lifetime: stale, floor: s.floor}, e.ok
	case opDeadline:
		if !s.armed {
			return s, !e.ok
		}
		return s, e.ok && s.lo <= e.at && e.at <= s.hi
	case opRun:
		disarmed.floor = max(s.floor, s.lo)
		return disarmed, s.armed && e.at >= s.lo
	case opShutdown:
		return state{lifetime: runtimeClosed, floor: s.floor}, e.ok == s.armed
	}
	panic("unknown operation")
}

// addTime returns t+d, or the largest time if that overflows.
func addTime(t int64, d time.Duration) int64 {
	d = max(d, 0)
	if t > math.MaxInt64-int64(d) {
		return math.MaxInt64
	}
	return t + int64(d)
}

// model returns a porcupine model of one timer, made from step. A history of several timers is
// linearizable if and only if that of each timer is, so each is checked alone.
func model(resolution time.Duration) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, in, _ any) (bool, any) {
			next, ok := step(s.(state), in.(event), resolution)
			return ok, next
		},
		DescribeOperation: func(in, _ any) string { return in.(event).String() },
		DescribeState:     func(s any) string { return s.(state).String() },
	}
}

func (e event) String() string {
	switch e.op {
	case opNew:
		return fmt.Sprintf("NewTimer %t", e.ok)
	case opAfterFunc:
		return fmt.Sprintf("AfterFunc(%v) %t", e.delay, e.ok)
	case opReset:
		return fmt.Sprintf("Reset(%v) %t", e.delay, e.ok)
	case opStop:
		return fmt.Sprintf("Stop %t", e.ok)
	case opFree:
		return fmt.Sprintf("Free %t", e.ok)
	case opDeadline:
		if !e.ok {
			return "Deadline false"
		}
		return fmt.Sprintf("Deadline %v true", time.Duration(e.at))
	case opRun:
		return fmt.Sprintf("runs at %v", time.Duration(e.at))
	case opShutdown:
		return fmt.Sprintf("Shutdown, armed %t", e.ok)
	}
	return fmt.Sprintf("event %d", e.op)
}

func (s state) String() string {
	name := [...]string{"not made", "reusable", "one-shot", "stale", "closed"}[s.lifetime]
	if s.armed {
		name = fmt.Sprintf("%s armed for %v to %v", name, time.Duration(s.lo), time.Duration(s.hi))
	}
	return name
}
