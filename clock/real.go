package clock

import (
	"context"
	"time"
)

// Real returns the system clock: the standard packages time and context. In a synctest bubble that
// is the bubble's clock.
func Real() Clock { return realClock{} }

type realClock struct{}

func (realClock) Now() time.Time                         { return time.Now() }
func (realClock) Since(t time.Time) time.Duration        { return time.Since(t) }
func (realClock) Until(t time.Time) time.Duration        { return time.Until(t) }
func (realClock) Sleep(d time.Duration)                  { time.Sleep(d) }
func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (realClock) Tick(d time.Duration) <-chan time.Time  { return time.Tick(d) }

func (realClock) SleepContext(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (realClock) AfterFunc(d time.Duration, f func()) Timer {
	checkFunc(f)
	return realTimer{time.AfterFunc(d, f)}
}

func (realClock) NewTimer(d time.Duration) Timer {
	return realTimer{time.NewTimer(d)}
}

func (realClock) NewTicker(d time.Duration) Ticker {
	checkPeriod("NewTicker", d)
	return realTicker{time.NewTicker(d)}
}

func (realClock) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, d)
}

func (realClock) WithDeadline(parent context.Context, t time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(parent, t)
}

type realTimer struct{ *time.Timer }

func (t realTimer) Chan() <-chan time.Time { return t.C }

type realTicker struct{ *time.Ticker }

func (t realTicker) Reset(d time.Duration) {
	checkPeriod("Reset", d)
	t.Ticker.Reset(d)
}

func (t realTicker) Chan() <-chan time.Time { return t.C }
