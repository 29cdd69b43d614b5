package clock

import (
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// AfterFunc makes a timer that calls fn when the clock has moved by d. Advance calls fn, and waits until
// it has returned.
func (f *Fake) AfterFunc(d time.Duration, fn func()) Timer {
	return newFuncTimer(d, func(d time.Duration) stopper {
		before := f.Now()
		t, err := f.eng.AfterFunc(d, fn)
		if err != nil {
			panic(err)
		}
		f.armed()
		f.fireIfDue(before, d)
		return t
	})
}

// NewTimer makes a timer that sends the time on its channel when the clock has moved by d.
func (f *Fake) NewTimer(d time.Duration) Timer {
	return fakeTimer{f.newChan(d, 0)}
}

// NewTicker makes a ticker that sends the time on its channel each time that the clock has moved by d.
// The channel has room for one tick, so an Advance by several periods leaves one. NewTicker panics if d
// is not positive.
func (f *Fake) NewTicker(d time.Duration) Ticker {
	if d <= 0 {
		panic("clock: non-positive interval for NewTicker")
	}
	return fakeTicker{f.newChan(d, d)}
}

// A fakeChan is a timer with a channel on a Fake.
type fakeChan struct {
	fake *Fake
	t    engine.Chan
}

func (f *Fake) newChan(d, period time.Duration) *fakeChan {
	c := &fakeChan{fake: f, t: engine.Chan{C: make(chan time.Time, 1)}}
	before := f.Now()
	if err := c.t.Start(f.eng, d, period); err != nil {
		panic(err)
	}
	c.armed(before, d)
	return c
}

func (c *fakeChan) Chan() <-chan time.Time { return c.t.C }

func (c *fakeChan) reset(d, period time.Duration) bool {
	before := c.fake.Now()
	was, err := c.t.Reset(d, period)
	if err != nil {
		panic(err)
	}
	c.armed(before, d)
	return was
}

// armed is called after the timer was armed for d. With 0 or less it has fired at once.
func (c *fakeChan) armed(before time.Time, d time.Duration) {
	c.fake.armed()
	if d > 0 {
		c.fake.fireIfDue(before, d)
	}
}

type fakeTimer struct{ *fakeChan }

func (t fakeTimer) Stop() bool                 { return t.t.Stop() }
func (t fakeTimer) Reset(d time.Duration) bool { return t.reset(d, 0) }

type fakeTicker struct{ *fakeChan }

func (t fakeTicker) Stop() { t.t.Stop() }

func (t fakeTicker) Reset(d time.Duration) {
	if d <= 0 {
		panic("clock: non-positive interval for Ticker.Reset")
	}
	t.reset(d, d)
}
