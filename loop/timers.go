package loop

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// A dueList holds the timers of an iteration: those that were due when it began. They are
// collected, and parked in the wheel, before the first callback is called. The wheel no
// longer orders a parked timer, but Cancel still finds it. So a timer that a callback
// arms is not in the list, even if it is armed for the past, and even if a panic
// interrupts the iteration and the rest of it runs later.
//
// Calling callbacks from within wheel.Advance would save a step for each timer. But the
// list must be fixed before the callbacks of the queue are called, and an Advance cannot
// be resumed after a panic.
type dueList struct {
	handles []wheel.Handle
	next    int // index in handles of the next timer to be called

	// overdue are timers for the next iteration that were armed for a time before the
	// tick of the wheel. The wheel cannot order them. They are parked in it, so that
	// Cancel finds them; a cancelled timer stays in overdue until compactOverdue or the
	// next iteration. They are in order of arming, and all are due before every timer
	// that the wheel orders.
	overdue []overdueTimer

	// earliest is the first deadline in the wheel if earliestKnown is true. It saves a
	// search before each sleep.
	earliest      time.Duration
	earliestKnown bool

	// trimAt is the number of timers at which the wheel is trimmed: first a quarter of
	// what the wheel has grown to, then half of what it had at the last trim. The time of
	// a trim is in proportion to the number of timers.
	trimAt  int
	lastCap int // Cap of the wheel in the last call of trimTimers
}

// An overdueTimer is a timer that was already due when it was armed.
type overdueTimer struct {
	when  time.Duration
	timer wheel.Handle
}

// tickOf converts a time to a tick of the wheel, which is a nanosecond. Times may be
// negative and ticks may not; flipping the sign bit keeps the order.
func tickOf(t time.Duration) wheel.Tick { return wheel.Tick(uint64(t) ^ 1<<63) }

// timeOf is the inverse of tickOf.
func timeOf(t wheel.Tick) time.Duration { return time.Duration(t ^ 1<<63) }

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

// arm schedules a timer whose deadline is not before the tick of the wheel.
func (s *state) arm(l *Loop, when time.Duration, f func()) Handle {
	if when < s.due.earliest {
		s.due.earliest = when // not used unless earliestKnown
	}
	return Handle{loop: l, when: when, timer: s.timers.Schedule(tickOf(when), f)}
}

// armOverdue schedules a timer whose deadline is before the tick of the wheel.
func (s *state) armOverdue(l *Loop, when time.Duration, f func()) Handle {
	d := &s.due
	if len(d.overdue) == cap(d.overdue) {
		s.compactOverdue()
	}
	h := s.timers.Reserve(f)
	d.overdue = append(d.overdue, overdueTimer{when, h})
	return Handle{loop: l, when: when, timer: h}
}

// minOverdueRoom is the least number of timers that compactOverdue makes room for.
const minOverdueRoom = 16

// compactOverdue makes room in overdue. It removes the cancelled timers, and then grows
// the slice so that the others use at most half of it.
func (s *state) compactOverdue() {
	d := &s.due
	d.overdue = slices.DeleteFunc(d.overdue, func(t overdueTimer) bool {
		return s.timers.Value(t.timer) == nil
	})
	d.overdue = slices.Grow(d.overdue, max(len(d.overdue), minOverdueRoom))
}

// hasOverdue reports whether overdue has a timer that was not cancelled. It removes
// cancelled timers from the end.
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

// CallLater schedules f for the time d from now. It counts from the clock at this moment,
// not from Time, so f is not called early, however long the iteration has already taken.
// If d is not positive, f is called in the next iteration.
func (l *Loop) CallLater(d time.Duration, f func()) Handle {
	if f == nil {
		panic("loop: CallLater called with a nil func")
	}
	s := l.state.Load()
	if s == nil {
		return Handle{}
	}
	return s.arm(l, addDelay(s.readClock(), d), f)
}

// CallAt schedules f for the time when, on the clock of [Loop.Time]. A time in the past
// is kept: f is due at once, its place in the order is that of the time, and
// [Handle.When] returns the time. So a periodic timer that is armed for When plus its
// period keeps its phase after a callback that took long.
func (l *Loop) CallAt(when time.Duration, f func()) Handle {
	if f == nil {
		panic("loop: CallAt called with a nil func")
	}
	s := l.state.Load()
	if s == nil {
		return Handle{}
	}
	if tickOf(when) < s.timers.Now() {
		return s.armOverdue(l, when, f)
	}
	return s.arm(l, when, f)
}

// CallLaterBatch is CallLater for several callbacks. All delays count from the same
// moment. It appends a handle for each callback to dst, and returns the extended slice.
func (l *Loop) CallLaterBatch(dst []Handle, calls []Call) []Handle {
	for i := range calls {
		if calls[i].Func == nil {
			panic("loop: CallLaterBatch called with a nil func")
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

// collectDue fills the list of the iteration: first the overdue timers, by deadline, then
// the timers of the wheel that are due at now. Pop parks each of those.
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
		h, _, ok := s.timers.Pop(tickOf(s.now))
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
		d.earliest, d.earliestKnown = timeOf(at), true
	}
	return d.earliest, true
}

// jumpToDeadline moves a virtual clock to the first deadline, unless that is not in the
// future. Next of the wheel is only a lower bound. If no timer is due there, Peek has
// made the bound later, and the clock moves on to the new one.
func (s *state) jumpToDeadline() {
	if s.hasOverdue() {
		return
	}
	for {
		t, ok := s.timers.Next()
		if !ok || t <= tickOf(s.now) {
			return
		}
		s.now = timeOf(t)
		if _, _, ok := s.timers.Peek(t); ok {
			return
		}
	}
}

// trimTimers frees memory that a burst of timers has left behind.
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
