package clock

import (
	"context"
	"errors"
	"time"

	"github.com/foliot-go/foliot"
)

// On returns a clock whose timers, tickers, sleeps and contexts are those of a runtime. They are on
// the clock of the runtime, which may be a manual one, and count as its timers.
//
// A function of AfterFunc is a callback of the runtime. It runs on the goroutine of a worker, not on a
// new one. If it blocks, it delays other callbacks of the worker by about 10 ms, as package foliot
// says. On a manual clock, Advance waits until it has returned.
//
// If the runtime is shut down or full, or belongs to another synctest bubble, AfterFunc, NewTimer,
// NewTicker, After, Tick and Sleep panic with the error of the runtime, and so do methods named
// Reset. A context has then ended from the start, with that error as its cause. There are two
// exceptions: Reset after Shutdown arms nothing, and Sleep returns when the runtime is shut down.
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
func (c onRuntime) After(d time.Duration) <-chan time.Time { return c.rt.After(d) }

func (c onRuntime) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	if err := c.rt.Sleep(context.Background(), d); err != nil && !errors.Is(err, foliot.ErrClosed) {
		panic(err)
	}
}

func (c onRuntime) Tick(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return c.rt.NewTicker(d).C
}

func (c onRuntime) AfterFunc(d time.Duration, f func()) Timer {
	t, err := c.rt.AfterFunc(d, f)
	if err != nil {
		panic(err)
	}
	return &funcTimer{last: t, arm: func(d time.Duration) stopper { return c.rearm(d, f) }}
}

// rearm arms the timer of AfterFunc again. It returns nil after Shutdown.
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
	return chanTimer{c.rt.NewChanTimer(d)}
}

func (c onRuntime) NewTicker(d time.Duration) Ticker {
	return chanTicker{c.rt.NewTicker(d)}
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

func (t chanTicker) Chan() <-chan time.Time { return t.C }
