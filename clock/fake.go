package clock

import (
	"context"
	"fmt"
	"time"

	nodes "github.com/foliot-go/foliot/internal/context"
	"github.com/foliot-go/foliot/internal/engine"
)

// A Fake is a clock for tests. It stands still until a test calls [Fake.Advance] or
// [Fake.AdvanceToNext]. All of its methods may be called from any goroutine. Create one with
// [NewFake]. It has no goroutine while it stands still, and needs no Close.
//
// A Fake is a [foliot.ManualClock] with one runtime, and promises three more things:
//
//   - Whatever is armed with a delay of 0 or less fires immediately: a timer with a channel before
//     the call returns, an AfterFunc function on another goroutine, which the next Advance waits for.
//   - Every context with a deadline counts as a waiter, even if its parent has an earlier deadline.
//   - Goroutines that run during an Advance see the time at which it ends, so an Advance wakes a
//     goroutine that sleeps in a loop only once.
//
// A Fake created in a synctest bubble belongs to it. Outside, its methods panic or do nothing. The
// same holds, in a bubble, for a Fake created outside.
type Fake struct {
	clock *engine.ManualClock
	eng   *engine.Engine
}

var _ Clock = (*Fake)(nil)

// NewFake returns a clock that is set to the first of its arguments. Without an argument it is set
// to midnight UTC on January 1, 2000, where a synctest bubble also starts. If the clock's contexts
// reach code that compares their deadlines with the real time, pass time.Now().
func NewFake(start ...time.Time) *Fake {
	at := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	if len(start) > 0 {
		at = start[0]
	}
	c := engine.NewManualClock(at)
	c.ShowsEnd = true
	eng, err := engine.New(engine.Config{Manual: c, Workers: 1})
	if err != nil {
		panic(err) // cannot happen: the clock has no other engine
	}
	return &Fake{clock: c, eng: eng}
}

// Advance moves the clock forward by d. It fires everything that comes due on the way, in deadline
// order, and in arming order among equal deadlines. That includes whatever AfterFunc functions arm
// along the way. When Advance returns, the functions have returned, the times have been sent on the
// channels, and the contexts have ended.
//
// In a function, Now returns its deadline. Other goroutines see the new time as soon as Advance
// begins, so a goroutine that Advance wakes counts its next delay from the new time, however fast
// it is.
//
// Functions run one after the other. A function may use the clock, but must not wait for it:
// Advance and Sleep panic there. Nor may it wait for the goroutine that called Advance, for example
// by sending on a channel without room. A function that panics crashes the program.
//
// Advance does not wait for goroutines that it wakes. To advance again only when a goroutine is
// waiting again, call [Fake.BlockUntil] in between.
//
// Concurrent calls to Advance take effect one after the other. Advance(0) fires whatever is already
// due. Advance panics if d is negative.
func (f *Fake) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("clock: Advance(%v): a Fake cannot go back", d))
	}
	f.clock.Advance(d)
}

// AdvanceToNext moves the clock to the next deadline, like Advance, and returns how far it moved.
// Whatever is already due fires first, and does not count as the next. If nothing else waits on the
// clock, AdvanceToNext returns false and the clock stays where it is.
func (f *Fake) AdvanceToNext() (d time.Duration, ok bool) { return f.clock.AdvanceToNext() }

// Next returns the earliest deadline that the clock has not reached, or false if there is none.
func (f *Fake) Next() (t time.Time, ok bool) { return f.clock.Next() }

// Waiters returns the number of waiters on the clock. An armed timer, a running ticker, a goroutine
// in Sleep or SleepContext, a channel from After on which nothing was sent yet, and a context with
// a deadline that has not ended count one each.
func (f *Fake) Waiters() int { return f.clock.Waiters() }

// BlockUntil blocks until the clock has at least n waiters (see [Fake.Waiters]). Call it before
// Advance to make sure that the goroutines under test have reached their timers.
func (f *Fake) BlockUntil(n int) {
	if err := f.BlockUntilContext(context.Background(), n); err != nil {
		panic(err)
	}
}

// BlockUntilContext is like BlockUntil, but returns ctx.Err() if ctx ends first. It also returns an
// error if it would have to block in a synctest bubble to which the clock does not belong.
func (f *Fake) BlockUntilContext(ctx context.Context, n int) error {
	return f.clock.BlockUntilContext(ctx, n)
}

// BlockUntilDeadline blocks until something on the clock is due at exactly t, so that a test need
// not know what else waits. It returns an error where [Fake.BlockUntilContext] does.
func (f *Fake) BlockUntilDeadline(ctx context.Context, t time.Time) error {
	return f.clock.BlockUntilDeadline(ctx, t)
}

// Now returns the clock's time.
func (f *Fake) Now() time.Time { return f.clock.Now() }

// Since returns the time that has passed on the clock since t.
func (f *Fake) Since(t time.Time) time.Duration { return f.Now().Sub(t) }

// Until returns the time until t on the clock.
func (f *Fake) Until(t time.Time) time.Duration { return t.Sub(f.Now()) }

// Sleep pauses the calling goroutine until the clock has moved by d. If d is 0 or less, it returns
// immediately. It panics in an AfterFunc function, because the clock does not move until that
// returns.
func (f *Fake) Sleep(d time.Duration) {
	if err := f.SleepContext(context.Background(), d); err != nil {
		panic(err)
	}
}

// SleepContext is like [Fake.Sleep], but returns ctx.Err() as soon as ctx ends. It returns an error
// in a synctest bubble to which the clock does not belong.
func (f *Fake) SleepContext(ctx context.Context, d time.Duration) error { return f.eng.Sleep(ctx, d) }

// After returns a channel on which the time is sent once, when the clock has moved by d.
func (f *Fake) After(d time.Duration) <-chan time.Time {
	return f.NewTimer(d).Chan()
}

// Tick returns the channel of a new ticker, or nil if d is not positive. The ticker cannot be
// stopped, so it counts as a waiter from then on.
func (f *Fake) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return f.NewTicker(d).Chan()
}

// WithTimeout returns a context derived from parent that ends when the clock has moved by d, and a
// function that cancels it. The context behaves exactly like a standard one. It also ends with
// parent, whose deadline may be on another clock. See the package comment for what other code makes
// of its deadline.
func (f *Fake) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	now := f.Now()
	return nodes.WithOwnTimer(f.eng, parent, now, now.Add(d), d)
}

// WithDeadline is like [Fake.WithTimeout], but takes a point in time on the clock.
func (f *Fake) WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc) {
	now := f.Now()
	return nodes.WithOwnTimer(f.eng, parent, now, t, t.Sub(now))
}
