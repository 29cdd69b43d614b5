package time

import (
	std "time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/door"
)

// A Ticker holds a channel that delivers ticks of a clock at intervals. A Ticker must be
// made with [NewTicker].
type Ticker struct {
	C <-chan Time

	ticks *ticks
	std   *std.Ticker // of a Ticker made in a synctest bubble, instead of ticks
}

// A ticks is what a Ticker is to its callback. It is apart from the Ticker because the
// callback must not keep the channel of a Ticker that was forgotten. Once it is made, all of
// it belongs to the holder of the lock of its shard, except for which shard that is.
type ticks struct {
	at   foliot.Timer
	f    func()
	beat door.Beat
	c    chan Time // nil when it has grown up, see young
}

// NewTicker makes a Ticker that sends the time on its channel every d. It drops ticks to
// make up for slow receivers. A Ticker that nobody refers to is collected, stopped or not.
// NewTicker panics if d is not positive.
func NewTicker(d Duration) *Ticker {
	if d <= 0 {
		panic("non-positive interval for NewTicker")
	}
	c := make(chan Time, 1)
	t := &ticks{c: c}
	t.f = func() { t.tick(c) }
	if !arm(&t.at, d, &t.f, (*youngTicks)(t), &t.beat) {
		b := std.NewTicker(d)
		return &Ticker{C: b.C, std: b}
	}
	return &Ticker{C: c, ticks: t}
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
	case t.ticks != nil:
		stop(&t.ticks.at, t.C)
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
	k := t.ticks
	if k == nil {
		panic("time: Reset called on uninitialized Ticker")
	}
	if _, ok := rearm(&k.at, d, &k.f, (*youngTicks)(k), &k.beat, t.C); !ok {
		panic("time: Reset, in a synctest bubble, of a Ticker made outside of it")
	}
}

// tick sends a tick and has the next one sent in time.
func (t *ticks) tick(c chan Time) {
	send(c)
	again(&t.at, &t.beat)
}

// A youngTicks is a ticks whose f holds on to the channel.
type youngTicks ticks

// GrowUp replaces f by one that does not.
func (y *youngTicks) GrowUp() {
	t, far := (*ticks)(y), remote(y.c)
	t.f = func() {
		if c := far.channel(); c != nil {
			t.tick(c)
		}
	}
	growUp(&t.at, t.f)
	freeWith(t.c, t.at)
	t.c = nil
}
