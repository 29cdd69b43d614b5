package time

import (
	std "time"

	"github.com/foliot-go/foliot/internal/door"
)

// A Ticker holds a channel that delivers ticks of a clock at intervals. A Ticker must be
// made with [NewTicker].
type Ticker struct {
	C <-chan Time

	at  door.Chan   // its C is nil if it was not made here
	std *std.Ticker // of a Ticker made in a synctest bubble, instead
}

// NewTicker makes a Ticker that sends the time on its channel every d. It drops ticks to
// make up for slow receivers. A Ticker that nobody refers to is collected, stopped or not.
// NewTicker panics if d is not positive.
func NewTicker(d Duration) *Ticker {
	if d <= 0 {
		panic("non-positive interval for NewTicker")
	}
	c := make(chan Time, 1)
	t := &Ticker{C: c, at: door.Chan{C: c}}
	if !door.ArmChan(&t.at, d, d) {
		b := std.NewTicker(d)
		return &Ticker{C: b.C, std: b}
	}
	return t
}

// Tick returns the channel of a new Ticker, or nil if d is not positive.
func Tick(d Duration) <-chan Time {
	if d <= 0 {
		return nil
	}
	return NewTicker(d).C
}

// Stop turns the ticker off. No tick is received after it, not even one that was sent
// before. It does not close the channel.
func (t *Ticker) Stop() {
	switch {
	case t.std != nil:
		t.std.Stop()
	case t.at.C != nil:
		door.StopChan(&t.at)
	}
}

// Reset stops the ticker and sets its period to d. The next tick comes after that period.
// Reset panics if d is not positive.
func (t *Ticker) Reset(d Duration) {
	if d <= 0 {
		panic("non-positive interval for Ticker.Reset")
	}
	if t.std != nil {
		t.std.Reset(d)
		return
	}
	if t.at.C == nil {
		panic("time: Reset called on uninitialized Ticker")
	}
	if _, ok := door.ResetChan(&t.at, d, d); !ok {
		panic("time: Reset, in a synctest bubble, of a Ticker made outside of it")
	}
}
