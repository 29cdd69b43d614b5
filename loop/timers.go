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
type agenda struct {
	due  []wheel.Handle
	next int // index in due of the next to be called

	// overdue are the timers of the next iteration that were armed for a time before the tick
	// of the wheel. The wheel cannot order them. They are parked there, where Cancel finds
	// them; what was cancelled stays in overdue until tidy or the next iteration. They are in
	// order of arming, and all of them are due before every timer that is armed in the wheel.
	overdue []late

	// earliest is the first deadline in the wheel, if known. It saves looking for it before
	// each sleep.
	earliest time.Duration
	known    bool

	// The wheel is trimmed when it has at most few timers: a quarter of what it has grown to,
	// and then half of what it had the last time. A trim takes time in proportion to them.
	few  int
	size int // Cap of the wheel when few was settled
}

// A late is a timer that was overdue when it was armed.
type late struct {
	when  time.Duration
	timer wheel.Handle
}

// tick maps times to ticks of the wheel, a nanosecond each, and keeps their order.
func tick(t time.Duration) wheel.Tick { return wheel.Tick(uint64(t) ^ 1<<63) }

func timeOf(t wheel.Tick) time.Duration { return time.Duration(t ^ 1<<63) }

// after returns the time d after another, the last there is if that is out of range.
func after(t, d time.Duration) time.Duration {
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
	if when < s.agenda.earliest {
		s.agenda.earliest = when // a bound, of no use unless known
	}
	return Handle{loop: l, when: when, timer: s.timers.Schedule(tick(when), f)}
}

// armLate files a timer that is due before the tick of the wheel.
func (s *state) armLate(l *Loop, when time.Duration, f func()) Handle {
	a := &s.agenda
	if len(a.overdue) == cap(a.overdue) {
		s.tidy()
	}
	h := s.timers.Reserve(f)
	a.overdue = append(a.overdue, late{when, h})
	return Handle{loop: l, when: when, timer: h}
}

// fewLate is how many places tidy makes at least.
const fewLate = 16

// tidy makes room in overdue: what was cancelled goes, and what is left takes at most half of the memory.
func (s *state) tidy() {
	a := &s.agenda
	a.overdue = slices.DeleteFunc(a.overdue, func(t late) bool { return s.timers.Value(t.timer) == nil })
	a.overdue = slices.Grow(a.overdue, max(len(a.overdue), fewLate))
}

// isLate reports whether overdue has a timer that was not cancelled. It drops those that were from the end.
func (s *state) isLate() bool {
	a := &s.agenda
	for last := len(a.overdue) - 1; last >= 0; last-- {
		if s.timers.Value(a.overdue[last].timer) != nil {
			return true
		}
		a.overdue = a.overdue[:last]
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
	return s.arm(l, after(s.readClock(), d), f)
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
	if tick(when) < s.timers.Now() {
		return s.armLate(l, when, f)
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
		dst = append(dst, s.arm(l, after(now, calls[i].After), calls[i].Func))
	}
	return dst
}

// expire takes what is due out of overdue and out of the wheel.
func (s *state) expire() {
	a := &s.agenda
	a.due, a.next = a.due[:0], 0
	if len(a.overdue) > 0 {
		slices.SortStableFunc(a.overdue, func(t, u late) int { return cmp.Compare(t.when, u.when) })
		for _, t := range a.overdue {
			a.due = append(a.due, t.timer)
		}
		a.overdue = a.overdue[:0]
	}
	if s.timers.Len() == 0 {
		return
	}
	for {
		h, _, ok := s.timers.Pop(tick(s.now))
		if !ok {
			break
		}
		a.due = append(a.due, h)
	}
	if len(a.due) > 0 {
		a.known = false
	}
}

// soonest returns the first deadline, or the present if that is past, and false if no timer is armed.
func (s *state) soonest() (time.Duration, bool) {
	if s.timers.Len() == 0 {
		return 0, false
	}
	if s.isLate() {
		return s.now, true
	}
	a := &s.agenda
	if !a.known {
		at, _ := s.timers.Soonest(math.MaxInt)
		a.earliest, a.known = timeOf(at), true
	}
	return a.earliest, true
}

// jump moves a virtual clock to the first deadline, unless that is past. The wheel knows it by
// steps: where it has one that is not exact, a look from there shows a later one.
func (s *state) jump() {
	if s.isLate() {
		return
	}
	for {
		t, ok := s.timers.Next()
		if !ok || t <= tick(s.now) {
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
	a := &s.agenda
	if cap(a.due) > keep && a.next == len(a.due) {
		a.due, a.next = nil, 0
	}
	if cap(a.overdue) > keep && len(a.overdue) == 0 {
		a.overdue = nil
	}
	n, size := s.timers.Len(), s.timers.Cap()
	if size > a.size {
		a.few = size / 4
	}
	a.size = size
	if size > keep && n <= a.few {
		s.timers.Trim(math.MaxInt)
		a.size, a.few = s.timers.Cap(), n/2
	}
}
