package engine

import (
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// A Timer is a handle of a timer in an engine. Package foliot documents its methods. The zero
// Timer names no timer.
type Timer struct {
	s *Shard
	h wheel.Handle
}

// Reset arms the timer to fire after d. It reports whether it has armed the timer. A timer of Every
// then has the period d, if d is positive.
func (t Timer) Reset(d time.Duration) bool {
	if t.s == nil {
		return false
	}
	due, err := t.s.eng.after(d)
	return err == nil && t.s.reset(t.h, due, d, true)
}

// ResetAt arms the timer to fire at the time when. It reports whether it has armed the timer.
func (t Timer) ResetAt(when time.Time) bool {
	if t.s == nil {
		return false
	}
	due, err := t.s.eng.at(when)
	return err == nil && t.s.reset(t.h, due, 0, false)
}

// ResetTick arms the timer to fire at a tick. The caller has called Clock.Enter. It reports
// whether it has armed the timer.
func (t Timer) ResetTick(at wheel.Tick) bool {
	return t.s.reset(t.h, t.s.eng.Nanos(at), 0, true)
}

// Stop disarms the timer, and reports whether it was armed. It frees a timer of AfterFunc.
func (t Timer) Stop() bool {
	return t.s != nil && t.s.stop(t.h, eventStop)
}

// Free stops the timer and frees it. It reports whether the Timer was not stale before.
func (t Timer) Free() bool {
	return t.s != nil && t.s.stop(t.h, eventFree)
}

// Deadline returns the time for which the timer is armed, and false if it is not armed.
func (t Timer) Deadline() (time.Time, bool) {
	if t.s == nil {
		return time.Time{}, false
	}
	at, ok := t.s.deadline(t.h)
	if !ok {
		return time.Time{}, false
	}
	return t.s.eng.Time(t.s.eng.Nanos(at)), true
}
