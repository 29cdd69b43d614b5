package clock

import (
	"context"
	"time"
)

// A Clock is what a program reads the time from and waits on. Its methods are those of packages time
// and context, and do the same. They may be called from any goroutine. There are three kinds of
// clocks: [Real], [On] and [Fake].
type Clock interface {
	// Now returns the time of the clock.
	Now() time.Time

	// Since returns the time that has passed since t.
	Since(t time.Time) time.Duration

	// Until returns the time until t.
	Until(t time.Time) time.Duration

	// Sleep pauses the calling goroutine for at least d. If d is 0 or less, it returns at once.
	Sleep(d time.Duration)

	// After returns a channel on which the time is sent once, after at least d.
	After(d time.Duration) <-chan time.Time

	// Tick returns the channel of a new ticker, or nil if d is not positive.
	Tick(d time.Duration) <-chan time.Time

	// AfterFunc makes a timer that calls f after at least d. Its Chan is nil.
	AfterFunc(d time.Duration, f func()) Timer

	// NewTimer makes a timer that sends the time on its channel after at least d.
	NewTimer(d time.Duration) Timer

	// NewTicker makes a ticker that sends the time on its channel every d. It panics if d is not
	// positive.
	NewTicker(d time.Duration) Ticker

	// WithTimeout returns a context derived from parent that ends after d, and a function that
	// cancels it.
	WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc)

	// WithDeadline returns a context derived from parent that ends at t, and a function that cancels
	// it.
	WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc)
}

// A Timer is a single event, like a time.Timer.
type Timer interface {
	// Chan returns the channel on which the time is sent. It is nil for a timer of AfterFunc.
	Chan() <-chan time.Time

	// Stop prevents the timer from firing. It reports whether the timer was armed. After Stop no
	// value that was sent before is received, and a timer whose value was not received counts as
	// armed.
	Stop() bool

	// Reset arms the timer to fire after d. It reports whether the timer was armed, and does the
	// same with values that were sent before as Stop.
	Reset(d time.Duration) bool
}

// A Ticker fires at regular intervals, like a time.Ticker. Ticks for which its channel has no room
// are dropped.
type Ticker interface {
	// Chan returns the channel on which the ticks are sent.
	Chan() <-chan time.Time

	// Stop stops the ticker. After Stop no tick is received, not even one that was sent before.
	Stop()

	// Reset sets the period to d. The next tick comes after d, and no tick that was sent before is
	// received. Reset panics if d is not positive.
	Reset(d time.Duration)
}
