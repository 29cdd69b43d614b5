package foliot

import (
	"fmt"
	"time"
)

// A Delay is a pause within a task, kept as a plain value in the task's own struct:
//
//	func (c *client) Poll(cx *foliot.Context) foliot.Status {
//		if !c.backoff.Poll(cx) {
//			return foliot.Pending
//		}
//		…
//
// A task may have several. It starts at its first Poll after NewDelay or Reset. The zero
// Delay is due at once.
type Delay struct {
	d       time.Duration
	at      int64
	started bool
}

// NewDelay returns a pause of d.
func NewDelay(d time.Duration) Delay {
	return Delay{d: d}
}

// Poll tells whether the pause is over, and goes on to say so. Before that it makes sure
// that the task is polled when it is.
func (d *Delay) Poll(cx *Context) bool {
	if !d.started {
		d.started = true
		d.at = cx.s.rt.add(cx.clock(), d.d)
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

// Reset makes it a pause of d2 that starts at the next Poll.
func (d *Delay) Reset(d2 time.Duration) {
	*d = Delay{d: d2}
}

// Missed says what an Interval does about ticks that nobody was there to see.
type Missed uint8

const (
	// Skip makes one of them all and stays on the grid.
	Skip Missed = iota
	// Burst counts each of them.
	Burst
	// Shift makes one of them all and moves the grid: the next tick comes a period from now.
	Shift
)

// An Interval ticks within a task on a fixed grid, kept as a plain value in the task's own
// struct. It first ticks one period after its first Poll. The zero Interval never ticks:
// make one with NewInterval.
type Interval struct {
	period  int64
	next    int64
	missed  Missed
	started bool
}

// NewInterval returns an interval. The period must be positive.
func NewInterval(period time.Duration, m Missed) (Interval, error) {
	if period <= 0 {
		return Interval{}, fmt.Errorf("foliot: NewInterval with a period of %v; it must be positive", period)
	}
	if m > Shift {
		return Interval{}, fmt.Errorf("foliot: NewInterval with Missed(%d); use Skip, Burst or Shift", m)
	}
	return Interval{period: int64(period), missed: m}, nil
}

// Poll returns how many ticks are due, 0 if none, and makes sure that the task is polled
// at the next one.
func (i *Interval) Poll(cx *Context) int {
	if i.period <= 0 {
		return 0
	}
	if !i.started {
		i.started = true
		i.next = cx.s.rt.add(cx.clock(), time.Duration(i.period))
	}
	ticks := 0
	if cx.now >= i.next {
		ticks = i.due(cx.now)
	}
	cx.wake(i.next)
	return ticks
}

// due moves next behind now and returns the number of ticks in between.
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
