package time

import (
	std "time"

	"github.com/foliot-go/foliot/internal/engine"
)

// A Ticker sends the time on a channel at regular intervals. A Ticker must be made with
// [NewTicker].
type Ticker struct {
	C <-chan Time // The channel on which the ticks are delivered.

	timer engine.Chan // its C is nil if the Ticker was not made by NewTicker, or if std is set
	std   *std.Ticker // set in a Ticker that is short or was made in a synctest bubble: it does everything
}

// NewTicker makes a Ticker that sends the time on its channel every d. It drops ticks if the
// receiver is slow. A Ticker is garbage collected when it and its channel are unreachable,
// stopped or not. NewTicker panics if d is not positive.
func NewTicker(d Duration) *Ticker {
	if d <= 0 {
		panic("non-positive interval for NewTicker")
	}
	if isShort(d) {
		return newStdTicker(d)
	}
	c := make(chan Time, 1)
	t := &Ticker{C: c, timer: engine.Chan{C: c}}
	if t.timer.Start(engine.Default(), d, d) != nil {
		return newStdTicker(d)
	}
	return t
}

func newStdTicker(d Duration) *Ticker {
	t := std.NewTicker(d)
	return &Ticker{C: t.C, std: t}
}

// Tick returns the channel of a new Ticker, or nil if d is not positive.
func Tick(d Duration) <-chan Time {
	if d <= 0 {
		return nil
	}
	return NewTicker(d).C
}

// Stop stops the ticker. After Stop has returned, no tick is received, not even one that was
// sent before. Stop does not close the channel.
func (t *Ticker) Stop() {
	switch {
	case t.std != nil:
		t.std.Stop()
	case t.timer.C != nil:
		t.timer.Stop()
	}
}

// Reset stops the ticker and sets its period to d. The next tick comes after d. A tick that was
// sent before is not received. Reset panics if d is not positive, and in a synctest bubble if
// the ticker was made outside of it.
func (t *Ticker) Reset(d Duration) {
	if d <= 0 {
		panic("non-positive interval for Ticker.Reset")
	}
	if t.std != nil {
		t.std.Reset(d)
		return
	}
	if t.timer.C == nil {
		panic("time: Reset called on uninitialized Ticker")
	}
	if _, err := t.timer.Reset(d, d); err != nil {
		panic("time: Reset, in a synctest bubble, of a Ticker that was made outside of it")
	}
}
