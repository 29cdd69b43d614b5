package foliot

import (
	"context"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Clock tells a runtime the time. [ManualClock] is the only implementation; a runtime whose
// Options.Clock is nil uses the system clock.
type Clock interface {
	// Now returns the time on this clock.
	Now() time.Time

	sealed()
}

// A ManualClock is a clock for tests and simulations. It moves only in Advance and AdvanceToNext.
// Several runtimes may share one. Its methods may be called from any goroutine.
//
// Callbacks run during Advance. Tasks do not need an Advance: they are polled when they are spawned
// or woken, on one of the runtime's goroutines, and Advance waits for these polls before it moves
// the clock. Callbacks and polls run one after the other, in the same order every time.
//
// Between a Spawn or Wake and the next Advance, polls run concurrently with the goroutine that
// called Spawn or Wake. In a simulation that must be reproducible, spawn and wake tasks in
// callbacks and polls, or call Advance(0) after each Spawn and Wake.
type ManualClock struct {
	c *engine.ManualClock
}

// NewManualClock returns a clock that is set to start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{engine.NewManualClock(start)}
}

// Now returns the clock's time. In a callback that is normally the timer's deadline; it is later if
// the deadline had already passed when the timer was armed. Other goroutines see the time that a
// running Advance has reached.
func (c *ManualClock) Now() time.Time { return c.c.Now() }

// Advance moves the clock forward by d. It fires all timers that come due on the way, on all of the
// clock's runtimes, in deadline order, and in arming order among equal deadlines. That includes
// timers that callbacks arm along the way. Advance returns once all callbacks and polls have returned
// and the clock has reached the new time. Advance(0) fires timers that are already due. A negative d
// does nothing. Advance panics in a callback or a poll, because it would wait for itself.
//
// A timer armed with a delay of 0 or less waits for the next Advance, so that a test can inspect it
// first. If a goroutine arms a timer while Advance is moving the clock past its deadline, the timer
// fires by itself, on another goroutine.
//
// Advance does not wait for goroutines that it wakes. How often a long Advance wakes a goroutine that
// calls [Runtime.Sleep] in a loop depends on how fast the goroutine is. For recurring work, use a
// timer or a task, or advance by one period at a time and call [ManualClock.BlockUntil] in between.
func (c *ManualClock) Advance(d time.Duration) { c.c.Advance(d) }

// AdvanceToNext moves the clock to the next deadline, like Advance, and returns how far it moved.
// Timers that are already due fire first, and do not count as the next. If there is no further
// deadline, AdvanceToNext returns false and the clock stays where it is.
func (c *ManualClock) AdvanceToNext() (d time.Duration, ok bool) { return c.c.AdvanceToNext() }

// Next returns the earliest deadline that the clock has not reached, on any of its runtimes. It
// returns false if there is none. The values in a [Queue] count while a goroutine waits for them.
func (c *ManualClock) Next() (t time.Time, ok bool) { return c.c.Next() }

// Waiters returns the number of waiters on the clock, on all of its runtimes: armed timers, running
// tickers, goroutines in Sleep, contexts with a deadline that have not ended, and tasks that asked
// to be polled later count one each. Whatever is already due does not count, because it is about to
// fire, but a repeating timer always does. A goroutine in [Queue.Wait] does not count, because it
// waits for the queue, nor does a context whose parent has an earlier deadline, because it needs no
// timer.
func (c *ManualClock) Waiters() int { return c.c.Waiters() }

// BlockUntil blocks until the clock has at least n waiters (see [ManualClock.Waiters]). Call it
// before Advance to make sure that the goroutines under test have reached their timers. BlockUntil
// panics if it would have to block in a different synctest bubble than the clock's runtimes.
func (c *ManualClock) BlockUntil(n int) {
	if err := c.BlockUntilContext(context.Background(), n); err != nil {
		panic(err)
	}
}

// BlockUntilContext is like BlockUntil, but returns ctx.Err() if ctx ends first, and an error where
// BlockUntil panics.
func (c *ManualClock) BlockUntilContext(ctx context.Context, n int) error {
	return c.c.BlockUntilContext(ctx, n)
}

// BlockUntilDeadline blocks until something on the clock is due at exactly t, rounded up to the
// resolution of its runtime. Unlike with [ManualClock.BlockUntil], a test need not know what else
// waits on the clock. BlockUntilDeadline returns ctx.Err() if ctx ends first, and an error where
// BlockUntil panics.
func (c *ManualClock) BlockUntilDeadline(ctx context.Context, t time.Time) error {
	return c.c.BlockUntilDeadline(ctx, t)
}

func (c *ManualClock) sealed() {}
