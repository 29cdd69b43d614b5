package loop

import (
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

	// earliest is the first deadline in the wheel, if known. It saves looking for it before
	// each sleep.
	earliest time.Duration
	known    bool

	// The wheel is trimmed when it has at most few timers: a quarter of what it has grown to,
	// and then half of what it had the last time. A trim takes time in proportion to them.
	few  int
	size int // Cap of the wheel when few was settled
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

// arm files a timer.
func (c *core) arm(l *Loop, when time.Duration, f func()) Handle {
	if when < c.agenda.earliest {
		c.agenda.earliest = when // a bound, of no use unless known
	}
	return Handle{loop: l, when: when, timer: c.timers.Schedule(tick(when), f)}
}

// CallLater calls f once d has passed from this moment, by the clock and not by
// Time, so it is not early however long the iteration has taken. If d is not positive, f
// is called in the next iteration.
func (l *Loop) CallLater(d time.Duration, f func()) Handle {
	if f == nil {
		panic("loop: CallLater of a nil func")
	}
	c := l.core.Load()
	if c == nil {
		return Handle{}
	}
	return c.arm(l, after(c.clock(), d), f)
}

// CallAt calls f when the clock of [Loop.Time] says so. A time that is past counts as now.
func (l *Loop) CallAt(when time.Duration, f func()) Handle {
	if f == nil {
		panic("loop: CallAt of a nil func")
	}
	c := l.core.Load()
	if c == nil {
		return Handle{}
	}
	return c.arm(l, max(when, c.clock()), f)
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
	c := l.core.Load()
	if c == nil {
		return append(dst, make([]Handle, len(calls))...)
	}
	now := c.clock()
	for i := range calls {
		dst = append(dst, c.arm(l, after(now, calls[i].After), calls[i].Func))
	}
	return dst
}

// expire takes what is due out of the wheel.
func (c *core) expire() {
	a := &c.agenda
	a.due, a.next = a.due[:0], 0
	if c.timers.Len() == 0 {
		return
	}
	for {
		h, _, ok := c.timers.Pop(tick(c.now))
		if !ok {
			break
		}
		a.due = append(a.due, h)
	}
	if len(a.due) > 0 {
		a.known = false
	}
}

// soonest returns the first deadline, and false if no timer is armed.
func (c *core) soonest() (time.Duration, bool) {
	if c.timers.Len() == 0 {
		return 0, false
	}
	a := &c.agenda
	if !a.known {
		at, _ := c.timers.Soonest(math.MaxInt)
		a.earliest, a.known = timeOf(at), true
	}
	return a.earliest, true
}

// jump moves a virtual clock to the first deadline. The wheel knows it by steps: where it
// has one that is not exact, a look from there shows a later one.
func (c *core) jump() {
	for {
		t, ok := c.timers.Next()
		if !ok || t <= tick(c.now) {
			return
		}
		c.now = timeOf(t)
		if _, _, ok := c.timers.Peek(t); ok {
			return
		}
	}
}

// trimTimers gives back what a burst of timers has left.
func (c *core) trimTimers() {
	a := &c.agenda
	if cap(a.due) > keep && a.next == len(a.due) {
		a.due, a.next = nil, 0
	}
	n, size := c.timers.Len(), c.timers.Cap()
	if size > a.size {
		a.few = size / 4
	}
	a.size = size
	if size > keep && n <= a.few {
		c.timers.Trim(math.MaxInt)
		a.size, a.few = c.timers.Cap(), n/2
	}
}
