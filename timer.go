package foliot

import (
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// A Timer names a timer of a runtime for ever: it goes stale when the timer is freed,
// and stays stale when its slot is used again. It is a plain value, free to copy and to
// compare. The zero Timer names none. Methods may be called from any goroutine, also
// from the timer's own callback; on a stale Timer they return false.
type Timer struct {
	s *shard
	h wheel.Handle
}

// Reset arms the timer to fire after d, and reports whether it could; the Reset of a
// time.Timer reports whether it was armed before. What was armed before is replaced. It returns
// false if the Timer is stale or the runtime closed, and in a synctest bubble that the runtime is
// not part of.
//
// Pushing a deadline back is cheaper than pulling it forward: it leaves the wheel alone.
// Reset while the callback runs makes a new arming that runs afterwards.
func (t Timer) Reset(d time.Duration) bool {
	if t.s == nil {
		return false
	}
	due, err := t.s.rt.after(d)
	return err == nil && t.s.reset(t.h, t.s.rt.ceil(due), true)
}

// ResetAt arms the timer to fire at a time, like Reset. It goes by the monotonic reading
// of when, if there is one, and then need not read the clock: where the time is known
// already, it costs less than Reset.
func (t Timer) ResetAt(when time.Time) bool {
	if t.s == nil {
		return false
	}
	due, err := t.s.rt.at(when)
	return err == nil && t.s.reset(t.h, t.s.rt.ceil(due), false)
}

// Stop calls off what is armed. It returns true if there was something: that arming
// will not run, whatever else happens at that instant. It returns false if nothing was
// armed, in particular if the callback has started. A one-shot that is stopped is freed.
func (t Timer) Stop() bool {
	return t.s != nil && t.s.stop(t.h, eventStop)
}

// Free stops the timer and gives its slot back. Every copy of the Timer goes stale. It
// returns true if the Timer was not stale before. It does not wait for a callback that
// runs.
//
// A timer of NewTimer that is not freed stays for as long as its runtime, with its callback
// and all that the callback refers to.
func (t Timer) Free() bool {
	return t.s != nil && t.s.stop(t.h, eventFree)
}

// Deadline returns the time that the timer is armed for, rounded up to the resolution,
// and false if it is not armed.
func (t Timer) Deadline() (time.Time, bool) {
	if t.s == nil {
		return time.Time{}, false
	}
	at, ok := t.s.deadline(t.h)
	if !ok {
		return time.Time{}, false
	}
	return t.s.rt.start.Add(time.Duration(t.s.rt.nanos(at))), true
}
