package clock

import (
	"context"
	"errors"
	"time"

	"github.com/foliot-go/foliot"
)

// On returns a clock whose timers, tickers, sleeps and contexts are a runtime's. They use the
// runtime's clock, which may be a manual one, and count as its timers.
//
// An AfterFunc function is a callback of the runtime. It runs on a worker's goroutine, not on a new
// one. If it blocks, it delays the worker's other callbacks by about 10 ms, as package foliot
// explains. On a manual clock, Advance waits for it to return.
//
// If the runtime is shut down or full, or belongs to another synctest bubble, AfterFunc, NewTimer,
// NewTicker, After, Tick and Sleep panic with the runtime's error, and so do methods named Reset.
// SleepContext returns the error, and a context is canceled from the start, with that error as its
// cause. There are two exceptions: Reset after Shutdown arms nothing, and Sleep returns when the
// runtime is shut down.
//
// A runtime keeps a ticker alive until it is stopped, and the channel of Tick forever.
func On(rt *foliot.Runtime) Clock {
	if rt == nil {
		panic("clock: On(nil); make a runtime with foliot.New, or use foliot.Default or Real")
	}
	return onRuntime{rt}
}

type onRuntime struct{ rt *foliot.Runtime }

func (c onRuntime) Now() time.Time                         { return c.rt.Now() }
func (c onRuntime) Since(t time.Time) time.Duration        { return c.rt.Now().Sub(t) }
func (c onRuntime) Until(t time.Time) time.Duration        { return t.Sub(c.rt.Now()) }
func (c onRuntime) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

func (c onRuntime) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	if err := c.rt.Sleep(context.Background(), d); err != nil && !errors.Is(err, foliot.ErrClosed) {
		panic(err)
	}
}

func (c onRuntime) SleepContext(ctx context.Context, d time.Duration) error {
	return c.rt.Sleep(ctx, d)
}

func (c onRuntime) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return c.NewTicker(d).Chan()
}

func (c onRuntime) AfterFunc(d time.Duration, f func()) Timer {
	checkFunc(f)
	t, err := c.rt.AfterFunc(d, f)
	if err != nil {
		panic(err)
	}
	return &funcTimer{last: t, arm: func(d time.Duration) stopper { return c.rearm(d, f) }}
}

// rearm arms an AfterFunc timer again. It returns nil after Shutdown.
func (c onRuntime) rearm(d time.Duration, f func()) stopper {
	t, err := c.rt.AfterFunc(d, f)
	switch {
	case errors.Is(err, foliot.ErrClosed):
		return nil
	case err != nil:
		panic(err)
	}
	return t
}

func (c onRuntime) NewTimer(d time.Duration) Timer {
	t, err := c.rt.NewChanTimer(d)
	if err != nil {
		panic(err)
	}
	return chanTimer{t}
}

func (c onRuntime) NewTicker(d time.Duration) Ticker {
	checkPeriod("NewTicker", d)
	t, err := c.rt.NewTicker(d)
	if err != nil {
		panic(err)
	}
	return chanTicker{t}
}

func (c onRuntime) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return c.rt.WithTimeout(parent, d)
}

func (c onRuntime) WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return c.rt.WithDeadline(parent, t)
}

type chanTimer struct{ *foliot.ChanTimer }

func (t chanTimer) Chan() <-chan time.Time { return t.C }

type chanTicker struct{ *foliot.Ticker }

func (t chanTicker) Reset(d time.Duration) {
	checkPeriod("Reset", d)
	t.Ticker.Reset(d)
}

func (t chanTicker) Chan() <-chan time.Time { return t.C }
