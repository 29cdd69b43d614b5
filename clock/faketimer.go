package clock

import (
	"time"

	"github.com/foliot-go/foliot/internal/engine"
)

// AfterFunc creates a timer that calls fn when the clock has moved by d. Advance calls fn and waits
// for it to return. AfterFunc panics if fn is nil.
func (f *Fake) AfterFunc(d time.Duration, fn func()) Timer {
	checkFunc(fn)
	return newFuncTimer(d, func(d time.Duration) stopper {
		t, err := f.eng.AfterFunc(d, fn)
		if err != nil {
			panic(err)
		}
		if d <= 0 {
			go f.clock.Advance(0) // otherwise fn would wait for the next Advance
		}
		return t
	})
}

// NewTimer creates a timer that sends the time on its channel when the clock has moved by d.
func (f *Fake) NewTimer(d time.Duration) Timer {
	t := new(fakeTimer)
	t.start(f, d, false)
	if d <= 0 {
		t.Reset(d)
	}
	return t
}

// NewTicker creates a ticker that sends the time on its channel each time the clock has moved by d.
// The channel has room for one tick, so an Advance by several periods leaves one. NewTicker panics
// if d is not positive.
func (f *Fake) NewTicker(d time.Duration) Ticker {
	checkPeriod("NewTicker", d)
	t := new(fakeTicker)
	t.start(f, d, true)
	return t
}

// A fakeChan is a timer or a ticker with a channel on a Fake.
type fakeChan struct{ t engine.Chan }

func (c *fakeChan) start(f *Fake, d time.Duration, ticks bool) {
	c.t.C = make(chan time.Time, 1)
	if err := c.t.Start(f.eng, d, ticks); err != nil {
		panic(err)
	}
}

func (c *fakeChan) Chan() <-chan time.Time { return c.t.C }

type fakeTimer struct{ fakeChan }

func (t *fakeTimer) Stop() bool { return t.t.Stop() }

func (t *fakeTimer) Reset(d time.Duration) bool {
	was, err := false, error(nil)
	if d > 0 {
		was, err = t.t.Reset(d)
	} else {
		was, err = t.t.SendNow() // otherwise the value would wait for the next Advance
	}
	if err != nil {
		panic(err)
	}
	return was
}

type fakeTicker struct{ fakeChan }

func (t *fakeTicker) Stop() { t.t.Stop() }

func (t *fakeTicker) Reset(d time.Duration) {
	checkPeriod("Reset", d)
	if _, err := t.t.Reset(d); err != nil {
		panic(err)
	}
}
