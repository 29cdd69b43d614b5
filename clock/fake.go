package clock

import (
	"context"
	"fmt"
	"time"

	nodes "github.com/foliot-go/foliot/internal/context"
	"github.com/foliot-go/foliot/internal/engine"
)

// A Fake is a clock for tests. It stands still until the test calls [Fake.Advance] or
// [Fake.AdvanceToNext]. All of its methods may be called from any goroutine. Make one with
// [NewFake]. It has no goroutine while it stands still, and needs no Close.
//
// A timer with a channel that is armed for 0 or less fires at once. A function of AfterFunc with 0 or
// less starts at once, on another goroutine, and the next Advance waits for it.
//
// A Fake that is made in a synctest bubble belongs to it. Elsewhere its methods panic, or do nothing.
// The same holds, in a bubble, for a Fake that was made outside of it.
type Fake struct {
	clock *engine.ManualClock
	eng   *engine.Engine
	waits blockers
}

var _ Clock = (*Fake)(nil)

// NewFake returns a clock that shows the first of its arguments. Without an argument it shows
// midnight UTC on the first of January 2000, as a synctest bubble does at first. If contexts of the
// clock reach code that compares their deadlines with the real time, pass time.Now().
func NewFake(start ...time.Time) *Fake {
	at := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	if len(start) > 0 {
		at = start[0]
	}
	c := engine.NewManualClock(at)
	eng, err := engine.New(engine.Config{Clock: c, Workers: 1, Counted: true})
	if err != nil {
		panic(err) // it cannot fail: the clock has no other engine
	}
	return &Fake{clock: c, eng: eng}
}

// Advance moves the clock forward by d. It fires everything that is due on the way, in the order of
// the deadlines, and in the order of arming among equal deadlines. That includes what functions of
// AfterFunc arm meanwhile. When Advance returns, the functions have returned, the times have been sent
// on the channels, and the contexts have ended.
//
// In a function Now shows its deadline. Other goroutines see the new time as soon as Advance has begun.
// So a goroutine that Advance wakes counts its next delay from the new time, however fast it is.
//
// Functions run one after the other. A function may use the clock, but it must not wait for it:
// Advance and Sleep panic there. Nor may it wait for the goroutine that called Advance, for example
// in a send on a channel without room. A function that panics ends the program.
//
// Advance does not wait for goroutines that it wakes. To advance again when a goroutine waits
// again, call [Fake.BlockUntil] in between.
//
// Calls of Advance from several goroutines take effect one after the other. Advance(0) fires what is
// due already. Advance panics if d is negative.
func (f *Fake) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("clock: Advance(%v): a Fake cannot go back", d))
	}
	f.clock.Advance(d)
}

// AdvanceToNext moves the clock to the next deadline, like Advance, and returns how far it has moved.
// If nothing waits on the clock, it returns false, and the clock stays. What is due already fires
// before, and does not count as the next.
func (f *Fake) AdvanceToNext() (d time.Duration, ok bool) {
	return f.clock.AdvanceToNext()
}

// Now returns the time of the clock.
func (f *Fake) Now() time.Time { return f.clock.Now() }

// Since returns the time that has passed on the clock since t.
func (f *Fake) Since(t time.Time) time.Duration { return f.Now().Sub(t) }

// Until returns the time until t on the clock.
func (f *Fake) Until(t time.Time) time.Duration { return t.Sub(f.Now()) }

// Sleep pauses the calling goroutine until the clock has moved by d. If d is 0 or less, it returns at
// once. It panics in a function of AfterFunc: the clock does not move until that has returned.
func (f *Fake) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	f.eng.MustNotBlock("Sleep")
	<-f.After(d)
}

// After returns a channel on which the time is sent once, when the clock has moved by d.
func (f *Fake) After(d time.Duration) <-chan time.Time {
	return f.NewTimer(d).Chan()
}

// Tick returns the channel of a new ticker, or nil if d is not positive. The ticker cannot be
// stopped, so it counts in Waiters from then on.
func (f *Fake) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return f.NewTicker(d).Chan()
}

// WithTimeout returns a context derived from parent that ends when the clock has moved by d, and a
// function that cancels it. In everything that can be seen it behaves like a context of the standard
// package. It also ends with parent, whose deadline may be on another clock. The package comment says
// what other code makes of its deadline.
func (f *Fake) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	now := f.Now()
	return f.withDeadline(parent, now, now.Add(d), d)
}

// WithDeadline is like [Fake.WithTimeout], for a point in time on the clock.
func (f *Fake) WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc) {
	now := f.Now()
	return f.withDeadline(parent, now, t, t.Sub(now))
}

func (f *Fake) withDeadline(parent context.Context, now, t time.Time, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := nodes.WithDeadline(f.eng, parent, now, t, d, nil)
	// Once Done was called, an end of the parent stops the timer at once. Otherwise the context would
	// count in Waiters until the program asks it.
	ctx.Done()
	f.armed()
	if d > 0 { // otherwise it has ended
		f.fireIfDue(now, d)
	}
	return ctx, cancel
}

// fireIfDue is called after something was armed for d. The time before is one that the clock has shown
// before that. If the clock has moved by d since then, the deadline may have passed, and the Advance
// that has moved it may be over. Then nothing else would fire it before the next Advance, and it would
// not count in Waiters. If the clock has not moved so far, a later Advance finds the deadline.
func (f *Fake) fireIfDue(before time.Time, d time.Duration) {
	if f.Since(before) >= d {
		go f.clock.Advance(0)
	}
}
