package loop

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// An agenda holds the timers of an iteration: what was due when it began. They are taken
// out of the wheel before the first callback runs, and parked there, where Cancel finds
// them. So what a callback arms, for the past even, is not among them, also when a panic
// cuts the iteration short and the rest of it runs later. To fire from within
// wheel.Advance would save a step for each timer, but an Advance can be neither
// begun before the callbacks of the queue nor gone on with after a panic.
type dueList struct {
	handles []wheel.Handle
	next    int // index in due of the next to be called

	// overdue are the timers of the next iteration that were armed for a time before the tick
	// of the wheel. The wheel cannot order them. They are parked there, where Cancel finds
	// them; what was cancelled stays in overdue until tidy or the next iteration. They are in
	// order of arming, and all of them are due before every timer that is armed in the wheel.
	overdue []overdueTimer

	// earliest is the first deadline in the wheel, if known. It saves looking for it before
	// each sleep.
	earliest      time.Duration
	earliestKnown bool

	// The wheel is trimmed when it has at most few timers: a quarter of what it has grown to,
	// and then half of what it had the last time. A trim takes time in proportion to them.
	trimBelow int
	trimCap   int // Cap of the wheel when few was settled
}

// A late is a timer that was overdue when it was armed.
type overdueTimer struct {
	when  time.Duration
	timer wheel.Handle
}

// tick maps times to ticks of the wheel, a nanosecond each, and keeps their order.
func tickOf(t time.Duration) wheel.Tick { return wheel.Tick(uint64(t) ^ 1<<63) }

func timeOf(t wheel.Tick) time.Duration { return time.Duration(t ^ 1<<63) }

// after returns the time d after another, the last there is if that is out of range.
func addDelay(t, d time.Duration) time.Duration {
	if d <= 0 {
		return t
	}
	if t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}

// arm files a timer that is not due before the tick of the wheel.
func (s *state) arm(l *Loop, when time.Duration, f func()) Handle {
	if when < s.due.earliest {
		s.due.earliest = when // a bound, of no use unless known
	}
	return Handle{loop: l, when: when, timer: s.timers.Schedule(tickOf(when), f)}
}

// armLate files a timer that is due before the tick of the wheel.
func (s *state) armOverdue(l *Loop, when time.Duration, f func()) Handle {
	d := &s.due
	if len(d.overdue) == cap(d.overdue) {
		s.compactOverdue()
	}
	h := s.timers.Reserve(f)
	d.overdue = append(d.overdue, overdueTimer{when, h})
	return Handle{loop: l, when: when, timer: h}
}

// fewLate is how many places tidy makes at least.
const minOverdueRoom = 16

// tidy makes room in overdue: what was cancelled goes, and what is left takes at most half of the memory.
func (s *state) compactOverdue() {
	d := &s.due
	d.overdue = slices.DeleteFunc(d.overdue, func(t overdueTimer) bool { return s.timers.Value(t.timer) == nil })
	d.overdue = slices.Grow(d.overdue, max(len(d.overdue), minOverdueRoom))
}

// isLate reports whether overdue has a timer that was not cancelled. It drops those that were from the end.
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

// CallLater calls f once d has passed from this moment, by the clock and not by
// Time, so it is not early however long the iteration has taken. If d is not positive, f
// is called in the next iteration.
func (l *Loop) CallLater(d time.Duration, f func()) Handle {
	if f == nil {
		panic("loop: CallLater of a nil func")
	}
	s := l.state.Load()
	if s == nil {
		return Handle{}
	}
	return s.arm(l, addDelay(s.readClock(), d), f)
}

// CallAt calls f when the clock of [Loop.Time] says so. A CallAt in the past keeps its time: it
// is due at once, has its place in the order by it, and When tells it. So timers that are armed
// for When plus a period keep to their grid after a callback that took long.
func (l *Loop) CallAt(when time.Duration, f func()) Handle {
	if f == nil {
		panic("loop: CallAt of a nil func")
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

// CallLaterBatch is CallLater for many callbacks, whose delays all count from the same
// moment. It appends a handle for each to dst.
func (l *Loop) CallLaterBatch(dst []Handle, calls []Call) []Handle {
	for i := range calls {
		if calls[i].Func == nil {
			panic("loop: CallLaterBatch of a nil func")
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

// expire takes what is due out of overdue and out of the wheel.
func (s *state) collectDue() {
	d := &s.due
	d.handles, d.next = d.handles[:0], 0
	if len(d.overdue) > 0 {
		slices.SortStableFunc(d.overdue, func(t, u overdueTimer) int { return cmp.Compare(t.when, u.when) })
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

// soonest returns the first deadline, or the present if that is past, and false if no timer is armed.
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

// jump moves a virtual clock to the first deadline, unless that is past. The wheel knows it by
// steps: where it has one that is not exact, a look from there shows a later one.
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

// trimTimers gives back what a burst of timers has left.
func (s *state) trimTimers() {
	d := &s.due
	if cap(d.handles) > maxKept && d.next == len(d.handles) {
		d.handles, d.next = nil, 0
	}
	if cap(d.overdue) > maxKept && len(d.overdue) == 0 {
		d.overdue = nil
	}
	n, size := s.timers.Len(), s.timers.Cap()
	if size > d.trimCap {
		d.trimBelow = size / 4
	}
	d.trimCap = size
	if size > maxKept && n <= d.trimBelow {
		s.timers.Trim(math.MaxInt)
		d.trimCap, d.trimBelow = s.timers.Cap(), n/2
	}
}
