package foliot

import (
	"errors"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A ChanTimer sends the time on a channel once. It behaves like a time.Timer since Go 1.23: after
// Stop or Reset has returned, no value that was sent before is received, and a ChanTimer that is
// unreachable is garbage collected, stopped or not. Make one with [Runtime.NewChanTimer]. Methods of
// the zero ChanTimer do nothing and return false.
type ChanTimer struct {
	C <-chan time.Time // the channel on which the time is sent

	t engine.Chan // has the channel, too, because the program can change C
}

// NewChanTimer makes a timer that sends the time of the runtime's clock on its channel after at least
// d. The timer counts in Options.MaxTimers until it has fired or is stopped.
//
// NewChanTimer panics with [ErrFull] if there are Options.MaxTimers timers already, with [ErrClosed]
// after Shutdown, and in a synctest bubble to which the runtime does not belong.
func (rt *Runtime) NewChanTimer(d time.Duration) *ChanTimer {
	c := make(chan time.Time, 1)
	t := &ChanTimer{C: c, t: engine.Chan{C: c}}
	if err := t.t.Start(rt.eng, d, 0); err != nil {
		panic(err)
	}
	return t
}

// After returns a channel on which the time of the runtime's clock is sent once, after at least d.
// It panics like [Runtime.NewChanTimer].
func (rt *Runtime) After(d time.Duration) <-chan time.Time {
	return rt.NewChanTimer(d).C
}

// Stop prevents the timer from firing. It returns true if it has stopped the timer, and false if the
// timer had fired or been stopped. A timer whose value was not received counts as one that has not
// fired: Stop takes the value out of the channel.
func (t *ChanTimer) Stop() bool {
	return t.t.C != nil && t.t.Stop()
}

// Reset makes the timer fire after d. It returns true if the timer was armed, and false if it had
// fired or been stopped. A timer whose value was not received counts as armed: Reset takes the
// value out of the channel.
//
// After Shutdown, Reset arms nothing and returns false. A timer that is not armed needs a place
// among Options.MaxTimers again: if there is none, Reset panics with [ErrFull]. It also panics in a
// synctest bubble to which the runtime does not belong.
func (t *ChanTimer) Reset(d time.Duration) bool {
	if t.t.C == nil {
		return false
	}
	return resetChan(&t.t, d, 0)
}

// resetChan resets a timer. It panics if it cannot, unless the runtime is shut down: programs
// cannot know that in advance.
func resetChan(t *engine.Chan, d, period time.Duration) bool {
	was, err := t.Reset(d, period)
	if err != nil && !errors.Is(err, ErrClosed) {
		panic(err)
	}
	return was
}

// A Ticker sends the time on a channel at regular intervals. It behaves like a time.Ticker since Go
// 1.23: ticks are on a grid, those for which the channel has no room are dropped, after Stop or Reset
// has returned no earlier tick is received, and a Ticker that is unreachable is garbage collected,
// stopped or not. Make one with [Runtime.NewTicker]. Methods of the zero Ticker do nothing.
type Ticker struct {
	C <-chan time.Time // the channel on which the ticks are delivered

	t engine.Chan // has the channel, too, because the program can change C
}

// NewTicker makes a ticker that sends the time of the runtime's clock on its channel every d. The
// ticker counts in Options.MaxTimers until it is stopped. NewTicker panics if d is not positive, and
// like [Runtime.NewChanTimer].
//
// On the system clock, a ticker whose channel is not read skips ticks: more and more, until one in a
// tenth of a second is left. Once the channel is read, the ticker is on its grid again. On a manual
// clock, a goroutine that reads the channel runs while Advance goes on. So it misses ticks if an
// Advance is longer than a period. [Runtime.Every] runs a function for each tick.
func (rt *Runtime) NewTicker(d time.Duration) *Ticker {
	if d <= 0 {
		panic("foliot: non-positive interval for NewTicker")
	}
	c := make(chan time.Time, 1)
	t := &Ticker{C: c, t: engine.Chan{C: c}}
	if err := t.t.Start(rt.eng, d, d); err != nil {
		panic(err)
	}
	return t
}

// Stop stops the ticker. After Stop has returned, no tick is received, not even one that was sent
// before. Stop does not close the channel.
func (t *Ticker) Stop() {
	if t.t.C != nil {
		t.t.Stop()
	}
}

// Reset stops the ticker and sets its period to d. The next tick comes after d. A tick that was sent
// before is not received. Reset panics if d is not positive, and like [ChanTimer.Reset]. After
// Shutdown it arms nothing.
func (t *Ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic("foliot: non-positive interval for Ticker.Reset")
	}
	if t.t.C != nil {
		resetChan(&t.t, d, d)
	}
}
