package foliot

import (
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Timer is a handle to a timer in a runtime. It becomes stale when the timer is freed, and
// stays stale even when the timer's memory is reused. On a stale Timer, and on the zero Timer,
// all methods return false. A Timer is a plain value that may be copied and compared. Its
// methods may be called from any goroutine, including the timer's own callback.
type Timer struct {
	t engine.Timer
}

// Reset arms the timer to fire after d. If the timer is already armed, Reset replaces its
// deadline. If the callback is running, it runs again once it returns, but not before d.
//
// Reset returns true if it armed the timer. It returns false if the Timer is stale, if the runtime
// is shut down, or if the caller is in a synctest bubble that the runtime is not part of. By
// contrast, the Reset method of a time.Timer reports whether the timer was armed before.
//
// A timer from [Runtime.Every] starts a new schedule, with period d if d is positive.
//
// Moving a deadline back is cheaper than moving it forward, because it does not touch the timing
// wheel.
func (t Timer) Reset(d time.Duration) bool { return t.t.Reset(d) }

// ResetAt is like [Timer.Reset], but arms the timer to fire at a point in time. If when has a
// monotonic clock reading, ResetAt does not read the clock, which makes it cheaper than Reset for a
// caller that already knows the time.
func (t Timer) ResetAt(when time.Time) bool { return t.t.ResetAt(when) }

// Stop disarms the timer. It returns true if the timer was armed, in which case the callback will
// not run for that arming, even if Stop raced with it. It returns false if the timer was not armed,
// and in particular if its callback has started. Stop does not wait for a running callback. It
// frees a timer from AfterFunc; one from NewTimer or Every can be armed again with Reset.
//
// While the callback of an Every timer is running, Stop cancels the next tick but returns false,
// because the timer armed that tick itself. If Reset was called since the callback started, Stop
// returns true, as for any other arming.
func (t Timer) Stop() bool { return t.t.Stop() }

// Free stops the timer and frees it, which makes every copy of the Timer stale. It returns true
// unless the Timer was already stale. It does not wait for a running callback.
//
// A timer from [Runtime.NewTimer] that is never freed lives as long as its runtime, and keeps alive
// its callback and everything the callback refers to.
func (t Timer) Free() bool { return t.t.Free() }

// Deadline returns the time for which the timer is armed, rounded up to a tick (see
// Options.Resolution). It returns false if the timer is not armed.
func (t Timer) Deadline() (time.Time, bool) { return t.t.Deadline() }
