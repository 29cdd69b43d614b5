package loop

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A dueList holds an iteration's timers: those that were due when it began. They are collected, and
// parked in the wheel, before the first callback is called. The wheel no longer orders a parked
// timer, but Cancel still finds it. A timer that a callback arms is therefore not in the list, even
// if it is armed for the past, and even if a panic interrupts the iteration and the rest of it runs
// later.
//
// Calling callbacks from within wheel.Advance would save a step per timer. But the list must be
// fixed before the queue's callbacks are called, and an Advance cannot be resumed after a panic.
type dueList struct {
	handles []wheel.Handle
	next    int // index in handles of the next timer to be called

	// overdue holds timers for the next iteration that were armed for a time before the wheel's
	// tick, which the wheel cannot order. They are parked in it so that Cancel finds them; a
	// canceled timer stays in overdue until compactOverdue or the next iteration. They are in
	// arming order, and all are due before every timer that the wheel orders.
	overdue []overdueTimer

	// earliest is the first deadline in the wheel if earliestKnown is true. It saves a
	// search before each sleep.
	earliest      time.Duration
	earliestKnown bool

	// trimAt is the number of timers at which the wheel is trimmed: first a quarter of what the
	// wheel has grown to, then half of what it held at the last trim. A trim takes time in
	// proportion to the number of timers.
	trimAt  int
	lastCap int // the wheel's Cap in the last call to trimTimers
}

// An overdueTimer is a timer that was already due when it was armed.
type overdueTimer struct {
	when  time.Duration
	timer wheel.Handle
}

// toTick converts a time to a tick of the wheel, which is a nanosecond. Times may be
// negative and ticks may not; flipping the sign bit keeps the order.
func toTick(t time.Duration) wheel.Tick { return wheel.Tick(uint64(t) ^ 1<<63) }

// toTime is the inverse of toTick.
func toTime(t wheel.Tick) time.Duration { return time.Duration(t ^ 1<<63) }

// addDelay returns t plus d, or the largest time if the sum is out of range. A negative d
// counts as zero.
func addDelay(t, d time.Duration) time.Duration {
	if d <= 0 {
		return t
	}
	if t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}

// arm schedules a timer whose deadline is not before the wheel's tick.
func (s *state) arm(l *Loop, when time.Duration, f func()) Handle {
	if when < s.due.earliest {
		s.due.earliest = when // not used unless earliestKnown
	}
	return Handle{loop: l, when: when, timer: s.timers.Schedule(toTick(when), f)}
}

// armOverdue schedules a timer whose deadline is before the wheel's tick.
func (s *state) armOverdue(l *Loop, when time.Duration, f func()) Handle {
	d := &s.due
	if len(d.overdue) == cap(d.overdue) {
		s.compactOverdue()
	}
	h := s.timers.Reserve(f)
	d.overdue = append(d.overdue, overdueTimer{when, h})
	return Handle{loop: l, when: when, timer: h}
}

// minOverdueRoom is the minimum number of timers that compactOverdue makes room for.
const minOverdueRoom = 16

// compactOverdue makes room in overdue. It removes the canceled timers, and then grows the slice so
// that the others use at most half of it.
func (s *state) compactOverdue() {
	d := &s.due
	d.overdue = slices.DeleteFunc(d.overdue, func(t overdueTimer) bool {
		return s.timers.Value(t.timer) == nil
	})
	d.overdue = slices.Grow(d.overdue, max(len(d.overdue), minOverdueRoom))
}

// hasOverdue reports whether overdue holds a timer that was not canceled. It removes canceled
// timers from the end.
func (s *state) hasOverdue() bool {
	d := &s.due
	for last := len(d.overdue) - 1; last >= 0; last-- {
		if s.timers.Value(d.overdue[last].timer) != nil {
			return true
		}
		d.overdue = d.overdue[:last]
	}
	return false
}

// CallLater schedules f to be called after d. The delay counts from the clock at the moment of the
// call, not from Time, so that f is not called early, however long the iteration has already taken.
// If d is not positive, f is called in the next iteration.
func (l *Loop) CallLater(d time.Duration, f func()) Handle {
	if f == nil {
		panic("loop: CallLater with a nil func; pass the function to call")
	}
	s := l.state.Load()
	if s == nil {
		return Handle{}
	}
	return s.arm(l, addDelay(s.readClock(), d), f)
}

// CallAt schedules f to be called at a point in time on the clock of [Loop.Time]. A time in the
// past is kept: f is due immediately, that time determines its place in the order, and
// [Handle.When] returns it. A periodic timer that is rearmed for When plus its period thus keeps
// its phase even after a slow callback.
func (l *Loop) CallAt(when time.Duration, f func()) Handle {
	if f == nil {
		panic("loop: CallAt with a nil func; pass the function to call")
	}
	s := l.state.Load()
	if s == nil {
		return Handle{}
	}
	if toTick(when) < s.timers.Now() {
		return s.armOverdue(l, when, f)
	}
	return s.arm(l, when, f)
}

// CallLaterBatch is like CallLater for several callbacks, whose delays all count from the same
// moment. It appends a handle for each callback to dst and returns the extended slice.
func (l *Loop) CallLaterBatch(dst []Handle, calls []Call) []Handle {
	for i := range calls {
		if calls[i].Func == nil {
			panic("loop: CallLaterBatch with a nil func; pass the function to call")
		}
	}
	dst = slices.Grow(dst, len(calls))
	s := l.state.Load()
	if s == nil {
		return append(dst, make([]Handle, len(calls))...)
	}
	now := s.readClock()
	for i := range calls {
		dst = append(dst, s.arm(l, addDelay(now, calls[i].After), calls[i].Func))
	}
	return dst
}

// collectDue fills the iteration's list: first the overdue timers, by deadline, then the wheel's
// timers that are due at now. Pop parks each of the latter.
func (s *state) collectDue() {
	d := &s.due
	d.handles, d.next = d.handles[:0], 0
	if len(d.overdue) > 0 {
		slices.SortStableFunc(d.overdue, func(t, u overdueTimer) int {
			return cmp.Compare(t.when, u.when)
		})
		for _, t := range d.overdue {
			d.handles = append(d.handles, t.timer)
		}
		d.overdue = d.overdue[:0]
	}
	if s.timers.Len() == 0 {
		return
	}
	for {
		h, _, ok := s.timers.Pop(toTick(s.now))
		if !ok {
			break
		}
		d.handles = append(d.handles, h)
	}
	if len(d.handles) > 0 {
		d.earliestKnown = false
	}
}

// nextDeadline returns the first deadline, or now if there is an overdue timer. It
// returns false if no timer is armed.
func (s *state) nextDeadline() (time.Duration, bool) {
	if s.timers.Len() == 0 {
		return 0, false
	}
	if s.hasOverdue() {
		return s.now, true
	}
	d := &s.due
	if !d.earliestKnown {
		at, _ := s.timers.Soonest(math.MaxInt)
		d.earliest, d.earliestKnown = toTime(at), true
	}
	return d.earliest, true
}

// jumpToDeadline moves a virtual clock to the first deadline if that is in the future. The wheel's
// Next is only a lower bound: if no timer is due there, Peek raises it, and the clock moves on to
// the new one.
func (s *state) jumpToDeadline() {
	if s.hasOverdue() {
		return
	}
	for {
		t, ok := s.timers.Next()
		if !ok || t <= toTick(s.now) {
			return
		}
		s.now = toTime(t)
		if _, _, ok := s.timers.Peek(t); ok {
			return
		}
	}
}

// trimTimers frees memory that a burst of timers left behind.
func (s *state) trimTimers() {
	d := &s.due
	if cap(d.handles) > maxKept && d.next == len(d.handles) {
		d.handles, d.next = nil, 0
	}
	if cap(d.overdue) > maxKept && len(d.overdue) == 0 {
		d.overdue = nil
	}
	n, size := s.timers.Len(), s.timers.Cap()
	if size > d.lastCap {
		d.trimAt = size / 4
	}
	d.lastCap = size
	if size > maxKept && n <= d.trimAt {
		s.timers.Trim(math.MaxInt)
		d.lastCap, d.trimAt = s.timers.Cap(), n/2
	}
}
