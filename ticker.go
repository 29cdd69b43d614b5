package foliot

import (
	"errors"
	"fmt"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A ChanTimer sends the time on a channel once. As with a time.Timer since Go 1.23, no value sent
// before Stop or Reset is received after it returns. Unlike a time.Timer, it is kept alive by its
// runtime until it fires or is stopped, even if the program no longer refers to it. Create one with
// [Runtime.NewChanTimer]. Methods of the zero ChanTimer do nothing and return false.
type ChanTimer struct {
	C <-chan time.Time // the channel on which the time is sent

	t engine.Chan // also holds the channel, because the program can change C
}

// NewChanTimer creates a timer that sends the time of the runtime's clock on its channel after at
// least d. The timer counts toward Options.MaxTimers until it fires or is stopped.
//
// NewChanTimer returns [ErrFull] if there are already Options.MaxTimers timers, [ErrClosed] after
// Shutdown, and an error in a synctest bubble that the runtime is not part of.
func (rt *Runtime) NewChanTimer(d time.Duration) (*ChanTimer, error) {
	c := make(chan time.Time, 1)
	t := &ChanTimer{C: c}
	t.t.C = c
	if err := t.t.Start(rt.eng, d, false); err != nil {
		return nil, err
	}
	return t, nil
}

// Stop prevents the timer from firing. It returns true if it stops the timer, and false if the
// timer had already fired or been stopped. A timer whose value was not received counts as not
// having fired: Stop removes the value from the channel.
func (t *ChanTimer) Stop() bool {
	return t.t.C != nil && t.t.Stop()
}

// Reset makes the timer fire after d. It returns true if the timer was armed, and false if it had
// fired or been stopped. A timer whose value was not received counts as armed: Reset removes the
// value from the channel.
//
// After Shutdown, Reset arms nothing and returns false. A timer that is not armed counts toward
// Options.MaxTimers again when it is reset: if that many timers exist, Reset panics with [ErrFull].
// It also panics in a synctest bubble that the runtime is not part of.
func (t *ChanTimer) Reset(d time.Duration) bool {
	if t.t.C == nil {
		return false
	}
	return resetChan(&t.t, d)
}

// resetChan resets a timer. It panics on failure, unless the runtime is shut down, which programs
// cannot know in advance.
func resetChan(t *engine.Chan, d time.Duration) bool {
	was, err := t.Reset(d)
	if err != nil && !errors.Is(err, ErrClosed) {
		panic(err)
	}
	return was
}

// A Ticker sends the time on a channel at a fixed rate. Ticks for which the channel has no room are
// dropped. As with a time.Ticker since Go 1.23, no earlier tick is received once Stop or Reset
// returns. Unlike a time.Ticker, it is kept alive by its runtime until it is stopped, even if the
// program no longer refers to it, and it takes CPU time for each tick, read or not: stop it. Create
// one with [Runtime.NewTicker]. Methods of the zero Ticker do nothing.
type Ticker struct {
	C <-chan time.Time // the channel on which the ticks are delivered

	t engine.Chan // also holds the channel, because the program can change C
}

// NewTicker creates a ticker that sends the time of the runtime's clock on its channel every d. The
// ticker counts toward Options.MaxTimers until it is stopped. NewTicker returns an error if d is
// not positive, and in the cases where [Runtime.NewChanTimer] does.
//
// On a manual clock, a goroutine that reads the channel runs concurrently with Advance, so it misses
// ticks if an Advance is longer than a period. [Runtime.Every] runs a function for each tick.
func (rt *Runtime) NewTicker(d time.Duration) (*Ticker, error) {
	if d <= 0 {
		return nil, fmt.Errorf("foliot: NewTicker with a period of %v; it must be positive", d)
	}
	c := make(chan time.Time, 1)
	t := &Ticker{C: c}
	t.t.C = c
	if err := t.t.Start(rt.eng, d, true); err != nil {
		return nil, err
	}
	return t, nil
}

// Stop stops the ticker. After Stop returns, no tick is received, not even one sent earlier. Stop
// does not close the channel.
func (t *Ticker) Stop() {
	if t.t.C != nil {
		t.t.Stop()
	}
}

// Reset stops the ticker and sets its period to d. The next tick comes after d. A tick sent earlier
// is not received. Reset panics if d is not positive, and in the cases where [ChanTimer.Reset]
// does. After Shutdown it arms nothing.
func (t *Ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic("foliot: non-positive interval for Ticker.Reset")
	}
	if t.t.C != nil {
		resetChan(&t.t, d)
	}
}
