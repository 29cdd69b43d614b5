package clock

import (
	"context"
	"fmt"
	"time"
)

// A Clock is what a program reads the time from and waits on. Its methods do what the functions of
// the same names in packages time and context do. They may be called from any goroutine. There are
// three kinds of clocks: [Real], [On] and [Fake].
type Clock interface {
	// Now returns the clock's time.
	Now() time.Time

	// Since returns the time that has passed since t.
	Since(t time.Time) time.Duration

	// Until returns the time until t.
	Until(t time.Time) time.Duration

	// Sleep pauses the calling goroutine for at least d. If d is 0 or less, it returns immediately.
	Sleep(d time.Duration)

	// SleepContext is like Sleep, but returns ctx.Err() as soon as ctx ends. If ctx has already
	// ended, it does not sleep.
	SleepContext(ctx context.Context, d time.Duration) error

	// After returns a channel on which the time is sent once, after at least d.
	After(d time.Duration) <-chan time.Time

	// Tick returns the channel of a new ticker, or nil if d is not positive.
	Tick(d time.Duration) <-chan time.Time

	// AfterFunc creates a timer that calls f after at least d. Its Chan is nil. It panics if f is
	// nil.
	AfterFunc(d time.Duration, f func()) Timer

	// NewTimer creates a timer that sends the time on its channel after at least d.
	NewTimer(d time.Duration) Timer

	// NewTicker creates a ticker that sends the time on its channel every d. It panics if d is not
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
	// Chan returns the channel on which the time is sent. It is nil for an AfterFunc timer.
	Chan() <-chan time.Time

	// Stop prevents the timer from firing, and reports whether it was armed. After Stop returns, no
	// value sent earlier is received, and a timer whose value was not received counts as armed.
	Stop() bool

	// Reset arms the timer to fire after d, and reports whether it was armed. It treats values sent
	// earlier as Stop does.
	Reset(d time.Duration) bool
}

// A Ticker fires at regular intervals, like a time.Ticker. Ticks for which its channel has no room
// are dropped.
type Ticker interface {
	// Chan returns the channel on which the ticks are sent.
	Chan() <-chan time.Time

	// Stop stops the ticker. After Stop returns, no tick is received, not even one sent earlier.
	Stop()

	// Reset sets the period to d. The next tick comes after d, and no tick sent earlier is
	// received. Reset panics if d is not positive.
	Reset(d time.Duration)
}

// checkFunc panics if an AfterFunc function is nil. Otherwise the program would crash only when the
// timer fires, with nothing to show who created it.
func checkFunc(f func()) {
	if f == nil {
		panic("clock: AfterFunc with a nil function; pass the function to call, or use NewTimer")
	}
}

// checkPeriod panics if a ticker's period is not positive.
func checkPeriod(method string, d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("clock: %s(%v) of a ticker: the period must be positive; use Stop to stop a ticker", method, d))
	}
}
