package foliot

import (
	"fmt"
	"time"
)

// A Delay is a pause in a task. It is a plain value that the task keeps in its struct:
//
//	func (c *client) Poll(cx *foliot.Context) foliot.Status {
//		if !c.backoff.Poll(cx) {
//			return foliot.Pending
//		}
//		…
//
// A task may have several. A Delay starts at its first Poll after NewDelay or Reset. The zero
// Delay is over at once.
type Delay struct {
	d       time.Duration
	at      int64
	started bool
}

// NewDelay returns a Delay of d.
func NewDelay(d time.Duration) Delay {
	return Delay{d: d}
}

// Poll reports whether the pause is over. Once it has returned true, it returns true until
// Reset. If it returns false, it has the task polled when the pause is over.
func (d *Delay) Poll(cx *Context) bool {
	if !d.started {
		d.started = true
		d.at = cx.s.Engine().Add(cx.clock(), d.d)
		if d.d <= 0 {
			d.at = cx.now
		}
	}
	if cx.now >= d.at {
		return true
	}
	cx.wake(d.at)
	return false
}

// Reset makes d a pause of d2 that starts at the next Poll.
func (d *Delay) Reset(d2 time.Duration) {
	*d = Delay{d: d2}
}

// Missed says what an Interval does if several ticks have passed since its last Poll.
type Missed uint8

const (
	// Skip counts them as one tick. The following ticks stay on the grid.
	Skip Missed = iota
	// Burst counts each of them. The following ticks stay on the grid.
	Burst
	// Shift counts them as one tick and moves the grid: the next tick comes one period after
	// this Poll.
	Shift
)

// An Interval counts ticks for a task, on a grid of one tick for each period. It is a plain
// value that the task keeps in its struct. The first tick comes one period after the first
// Poll. The zero Interval has no ticks: make one with NewInterval.
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

// MustInterval is like [NewInterval] and panics instead of returning an error.
func MustInterval(period time.Duration, m Missed) Interval {
	i, err := newInterval("MustInterval", period, m)
	if err != nil {
		panic(err)
	}
	return i
}

// newInterval is NewInterval for the function that caller names. The error has that name.
func newInterval(caller string, period time.Duration, m Missed) (Interval, error) {
	if period <= 0 {
		return Interval{}, fmt.Errorf("foliot: %s with a period of %v; it must be positive", caller, period)
	}
	if m > Shift {
		return Interval{}, fmt.Errorf("foliot: %s with Missed(%d); use Skip, Burst or Shift", caller, m)
	}
	return Interval{period: int64(period), missed: m}, nil
}

// Reset makes i an Interval with another period that starts at the next Poll, and with the same
// Missed. It panics if the period is not positive.
func (i *Interval) Reset(period time.Duration) {
	if period <= 0 {
		panic(fmt.Errorf("foliot: Interval.Reset with a period of %v; it must be positive", period))
	}
	*i = Interval{period: int64(period), missed: i.missed}
}

// Poll returns how many ticks are due since the last Poll, and has the task polled at the next
// tick. If several have passed, the number depends on Missed.
func (i *Interval) Poll(cx *Context) int {
	if i.period <= 0 {
		return 0
	}
	if !i.started {
		i.started = true
		i.next = cx.s.Engine().Add(cx.clock(), time.Duration(i.period))
	}
	ticks := 0
	if cx.now >= i.next {
		ticks = i.due(cx.now)
	}
	cx.wake(i.next)
	return ticks
}

// due moves next past now and returns the number of ticks to report. The caller has checked
// that next is not after now.
func (i *Interval) due(now int64) int {
	passed := (now-i.next)/i.period + 1
	switch {
	case i.missed == Shift:
		i.next = now + i.period
		return 1
	case i.missed == Burst:
		i.next += passed * i.period
		return int(passed)
	default:
		i.next += passed * i.period
		return 1
	}
}
