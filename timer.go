package foliot

import (
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Timer is a handle of a timer in a runtime. It becomes stale when the timer is freed, and
// stays stale when the memory of the timer is used for another one. On a stale Timer, and on
// the zero Timer, all methods return false. A Timer is a plain value that may be copied and
// compared. Its methods may be called from any goroutine, also from the callback of the
// timer.
type Timer struct {
	t engine.Timer
}

// Reset arms the timer to fire after d. If the timer is armed already, Reset replaces its
// deadline. If the callback is running, it runs again after it has returned, and not before d.
//
// Reset returns true if it has armed the timer. It returns false if the Timer is stale, if the
// runtime is shut down, and if the caller is in a synctest bubble to which the runtime does not
// belong. In contrast, Reset of a time.Timer reports whether the timer was armed before.
//
// A timer of [Runtime.Every] starts anew, with the period d if d is positive.
//
// A later deadline is cheaper than an earlier one, because it leaves the timing wheel alone.
func (t Timer) Reset(d time.Duration) bool { return t.t.Reset(d) }

// ResetAt arms the timer to fire at the time when, like [Timer.Reset]. If when has a monotonic
// reading, ResetAt uses it and does not read the clock, so that it costs less than Reset for a
// caller that knows the time.
func (t Timer) ResetAt(when time.Time) bool { return t.t.ResetAt(when) }

// Stop disarms the timer. It returns true if the timer was armed: then the callback will not
// run for that arming, whatever else happens at the same time. It returns false if the timer
// was not armed, in particular if its callback has started. Stop frees a timer of AfterFunc. If the
// callback of a timer of Every runs, Stop returns false, and the callback does not run again.
func (t Timer) Stop() bool { return t.t.Stop() }

// Free stops the timer and frees it. Every copy of the Timer becomes stale. Free returns true
// if the Timer was not stale before. It does not wait for a callback that is running.
//
// A timer of [Runtime.NewTimer] that is never freed lives as long as its runtime, and keeps its
// callback and everything that the callback refers to alive.
func (t Timer) Free() bool { return t.t.Free() }

// Deadline returns the time for which the timer is armed, rounded up to a tick, see
// Options.Resolution. It returns false if the timer is not armed.
func (t Timer) Deadline() (time.Time, bool) { return t.t.Deadline() }
