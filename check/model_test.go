package check

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// kind says what happened to a timer. All but ran are calls of the API.
type kind uint8

const (
	created  kind = iota // NewTimer: reusable, not armed
	oneShot              // AfterFunc or a batch of them: armed, good for one run
	reset                // Reset
	stopped              // Stop
	freed                // Free
	deadline             // Deadline
	ran                  // the runtime took an arming to run its callback
	shut                 // Shutdown, as this timer sees it; ok: it was armed
)

// event is one operation on one timer with what it answered. Times are nanoseconds
// since the epoch of the history.
//
// A run is an operation nobody calls: the runtime takes the arming at an instant
// that cannot be seen from outside, and from then on Stop is false. All that can be
// said of the instant is that it lies before the callback's first statement, and
// after the last statement of the callback's previous run, as until then Stop still
// takes back an arming made meanwhile. A run is recorded as an operation over that
// whole interval, and the model places it, never before the deadline of the arming.
type event struct {
	timer  int
	client int // the goroutine, for reports
	kind   kind
	call   int64
	ret    int64
	delay  time.Duration // oneShot, reset
	ok     bool          // what the call answered; created, oneShot: not ErrClosed
	at     int64         // deadline: the time answered; ran: the callback's first statement
}

// life is what a timer's handle is good for.
type life uint8

const (
	unborn life = iota
	reusable
	single // one-shot: goes stale with its only run, or when stopped
	stale
	closed // the runtime is
)

// state is that of one timer. There is no state for a running callback, as no answer
// depends on it: a reusable timer is idle or armed whether or not it runs. That two
// runs do not overlap is in the intervals of the runs, see events.
type state struct {
	life  life
	armed bool
	// The deadline of the arming is in [lo, hi], as the clock was read between the
	// call and the return of what armed it. Zero when not armed.
	lo, hi int64
	// The instant of the last run is not before floor, the deadline it was due at.
	// porcupine cannot know: that depends on which arming ran. What comes after the
	// run in the order of the model must not have returned before that.
	floor int64
}

// step is the sequential specification of a timer: what e makes of s, and whether
// e's answer is the right one in s. A deadline may be rounded up by resolution.
func step(s state, e event, resolution time.Duration) (state, bool) {
	if e.ret < s.floor {
		return s, false
	}
	armed := state{
		life: s.life, armed: true, floor: s.floor,
		lo: later(e.call, e.delay), hi: later(later(e.ret, e.delay), resolution),
	}
	disarmed := state{life: s.life, floor: s.floor}
	if s.life == single {
		disarmed.life = stale
	}
	alive := s.life == reusable || s.life == single

	if s.life == closed {
		// The contract leaves open what Free and Deadline answer.
		return s, e.kind == freed || e.kind == deadline || e.kind != ran && !e.ok
	}
	switch e.kind {
	case created:
		return state{life: reusable}, e.ok && s.life == unborn
	case oneShot:
		armed.life = single
		return armed, e.ok && s.life == unborn
	case reset:
		if !alive {
			return s, !e.ok
		}
		return armed, e.ok
	case stopped:
		if !s.armed {
			return s, !e.ok
		}
		return disarmed, e.ok
	case freed:
		if !alive {
			return s, !e.ok
		}
		return state{life: stale, floor: s.floor}, e.ok
	case deadline:
		if !s.armed {
			return s, !e.ok
		}
		return s, e.ok && s.lo <= e.at && e.at <= s.hi
	case ran:
		disarmed.floor = max(s.floor, s.lo)
		return disarmed, s.armed && e.at >= s.lo
	case shut:
		return state{life: closed, floor: s.floor}, e.ok == s.armed
	}
	panic("unknown kind of event")
}

// later is t+d, or the end of time.
func later(t int64, d time.Duration) int64 {
	d = max(d, 0)
	if t > math.MaxInt64-int64(d) {
		return math.MaxInt64
	}
	return t + int64(d)
}

// model makes step a model of porcupine's. It is of a single timer: a history of
// several is linearizable if and only if it is so for each, so each is judged alone.
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
	switch e.kind {
	case created:
		return fmt.Sprintf("NewTimer %t", e.ok)
	case oneShot:
		return fmt.Sprintf("AfterFunc(%v) %t", e.delay, e.ok)
	case reset:
		return fmt.Sprintf("Reset(%v) %t", e.delay, e.ok)
	case stopped:
		return fmt.Sprintf("Stop %t", e.ok)
	case freed:
		return fmt.Sprintf("Free %t", e.ok)
	case deadline:
		if !e.ok {
			return "Deadline false"
		}
		return fmt.Sprintf("Deadline %v true", time.Duration(e.at))
	case ran:
		return fmt.Sprintf("runs at %v", time.Duration(e.at))
	case shut:
		return fmt.Sprintf("Shutdown, armed %t", e.ok)
	}
	return fmt.Sprintf("event %d", e.kind)
}

func (s state) String() string {
	name := [...]string{"unborn", "reusable", "one-shot", "stale", "closed"}[s.life]
	if s.armed {
		name = fmt.Sprintf("%s armed for %v to %v", name, time.Duration(s.lo), time.Duration(s.hi))
	}
	return name
}
