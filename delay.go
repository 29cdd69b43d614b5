package foliot

import (
	"fmt"
	"math"
	"time"
)

// A Delay is a pause in a task. It is a plain value that is part of the task's struct.
//
//	func (c *client) Poll(cx *foliot.Context) foliot.Status {
//		if !c.backoff.Poll(cx) {
//			return foliot.Pending
//		}
//		…
//
// A task may have several. A Delay starts at its first Poll after NewDelay or Reset. The zero Delay
// is over immediately.
type Delay struct {
	d       time.Duration
	at      int64
	started bool
}

// NewDelay returns a Delay of d.
func NewDelay(d time.Duration) Delay {
	return Delay{d: d}
}

// Poll reports whether the pause is over. Once it returns true, it keeps returning true until
// Reset. If it returns false, it also requests a poll for the end of the pause.
func (d *Delay) Poll(cx *Context) bool {
	base := cx.base()
	if !d.started {
		d.started = true
		d.at = base.Time()
		if d.d > 0 {
			d.at = base.After(d.d)
		}
	}
	if base.Time() >= d.at {
		return true
	}
	base.WakeAt(d.at)
	return false
}

// Reset turns d into a pause of d2 that starts at the next Poll.
func (d *Delay) Reset(d2 time.Duration) {
	*d = Delay{d: d2}
}

// Missed says what an Interval does when several ticks have passed since its last Poll.
type Missed uint8

const (
	// Skip reports them as one tick and stays on schedule.
	Skip Missed = iota
	// Burst reports every one of them and stays on schedule.
	Burst
	// Shift reports them as one tick and starts a new schedule: the next tick comes one period
	// after this Poll.
	Shift
)

// An Interval counts ticks for a task, one per period on a schedule that does not drift. It is a
// plain value that is part of the task's struct. The first tick comes one period after the first
// Poll. The zero Interval never ticks; use NewInterval.
type Interval struct {
	period  int64
	next    int64
	missed  Missed
	started bool
}

// NewInterval returns an Interval. It returns an error if the period is not positive.
func NewInterval(period time.Duration, m Missed) (Interval, error) {
	return newInterval("NewInterval", period, m)
}

// MustInterval is like [NewInterval], but panics instead of returning an error.
func MustInterval(period time.Duration, m Missed) Interval {
	i, err := newInterval("MustInterval", period, m)
	if err != nil {
		panic(err)
	}
	return i
}

// newInterval implements NewInterval and MustInterval. The error names the caller.
func newInterval(caller string, period time.Duration, m Missed) (Interval, error) {
	if period <= 0 {
		return Interval{}, fmt.Errorf("foliot: %s with a period of %v; it must be positive", caller, period)
	}
	if m > Shift {
		return Interval{}, fmt.Errorf("foliot: %s with Missed(%d); use Skip, Burst or Shift", caller, m)
	}
	return Interval{period: int64(period), missed: m}, nil
}

// Reset changes the period of i and keeps its Missed. The new schedule starts at the next Poll.
// Reset panics if the period is not positive.
func (i *Interval) Reset(period time.Duration) {
	if period <= 0 {
		panic(fmt.Errorf("foliot: Interval.Reset with a period of %v; it must be positive", period))
	}
	*i = Interval{period: int64(period), missed: i.missed}
}

// Poll returns the number of ticks since the last Poll, and requests a poll for the next tick. If
// there were several, the number depends on Missed.
func (i *Interval) Poll(cx *Context) int {
	if i.period <= 0 {
		return 0
	}
	base := cx.base()
	if !i.started {
		i.started = true
		i.next = base.After(time.Duration(i.period))
	}
	ticks := 0
	if now := base.Time(); now >= i.next {
		ticks = i.due(now)
	}
	base.WakeAt(i.next)
	return ticks
}

// due moves next past now and returns the number of ticks to report. The caller has checked that
// next is not after now. A tick that would come after the end of time never comes.
func (i *Interval) due(now int64) int {
	passed := (now-i.next)/i.period + 1
	last := i.next + (passed-1)*i.period // the last tick that is not after now
	if i.missed == Shift {
		last = now
	}
	i.next = math.MaxInt64
	if last <= math.MaxInt64-i.period {
		i.next = last + i.period
	}
	if i.missed == Burst {
		return int(min(passed, math.MaxInt))
	}
	return 1
}
