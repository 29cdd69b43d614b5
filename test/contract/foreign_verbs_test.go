package contract_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
)

// verbRows has cases for timers with a channel, contexts with a deadline and Every.
var verbRows = []foreignRow{
	{"Runtime.Now", nil, func(f *foreignTest) {
		f.start()
		f.foreign(func(t *testing.T) {
			want := time.Now()
			if f.manual {
				want = f.clock.Now()
			}
			if d := f.rt.Now().Sub(want).Abs(); d > second {
				t.Errorf("Now differs by %v from the clock of the caller, or the manual clock", d)
			}
		})
	}},
	{"Runtime.Every", nil, func(f *foreignTest) {
		c := f.callback("the callback", brief)
		f.start()
		var timer foliot.Timer
		made := false
		var first sync.Once
		f.foreign(func(t *testing.T) {
			var err error
			timer, err = f.rt.Every(brief, func() { first.Do(c.run) })
			if made = !refused(t, "Every", err); !made {
				wantStale(t, "the Timer that Every returns with an error", timer)
			}
			c.expect(made)
		})
		f.inWorkingPlace(func(t *testing.T) {
			f.awaitCallbacks(t)
			if made && !timer.Free() {
				t.Error("Free returns false")
			}
		})
	}},
	{"Runtime.NewTicker", nil, func(f *foreignTest) {
		f.makeChan("NewTicker", func() (<-chan time.Time, func()) {
			ticker := f.rt.NewTicker(brief)
			return ticker.C, ticker.Stop
		})
	}},
	{"Runtime.NewChanTimer", nil, func(f *foreignTest) {
		f.makeChan("NewChanTimer", func() (<-chan time.Time, func()) {
			timer := f.rt.NewChanTimer(brief)
			return timer.C, func() { timer.Stop() }
		})
	}},
	{"Runtime.NewChanTimer, with no delay", nil, func(f *foreignTest) {
		f.makeChan("NewChanTimer", func() (<-chan time.Time, func()) {
			timer := f.rt.NewChanTimer(0)
			return timer.C, func() { timer.Stop() }
		})
	}},
	{"Runtime.After", nil, func(f *foreignTest) {
		f.makeChan("After", func() (<-chan time.Time, func()) { return f.rt.After(brief), func() {} })
	}},
	{"Ticker.Stop", nil, func(f *foreignTest) {
		f.useChan("Ticker.Stop", func(_ *foliot.ChanTimer, ticker *foliot.Ticker) { ticker.Stop() })
	}},
	{"Ticker.Reset", nil, func(f *foreignTest) {
		f.useChan("Ticker.Reset", func(_ *foliot.ChanTimer, ticker *foliot.Ticker) { ticker.Reset(2 * hour) })
	}},
	{"ChanTimer.Stop", nil, func(f *foreignTest) {
		f.useChan("ChanTimer.Stop", func(timer *foliot.ChanTimer, _ *foliot.Ticker) { timer.Stop() })
	}},
	{"ChanTimer.Reset", nil, func(f *foreignTest) {
		f.useChan("ChanTimer.Reset", func(timer *foliot.ChanTimer, _ *foliot.Ticker) { timer.Reset(2 * hour) })
	}},
	{"Runtime.WithTimeout", nil, func(f *foreignTest) {
		f.makeContext(func(parent context.Context) (context.Context, context.CancelFunc) {
			return f.rt.WithTimeout(parent, brief)
		})
	}},
	{"Runtime.WithTimeoutCause", nil, func(f *foreignTest) {
		f.makeContext(func(parent context.Context) (context.Context, context.CancelFunc) {
			return f.rt.WithTimeoutCause(parent, brief, errSlow)
		})
	}},
	{"Runtime.WithDeadline", nil, func(f *foreignTest) {
		f.makeContext(func(parent context.Context) (context.Context, context.CancelFunc) {
			return f.rt.WithDeadline(parent, f.rt.Now().Add(brief))
		})
	}},
	{"Runtime.WithDeadlineCause", nil, func(f *foreignTest) {
		f.makeContext(func(parent context.Context) (context.Context, context.CancelFunc) {
			return f.rt.WithDeadlineCause(parent, f.rt.Now().Add(brief), errSlow)
		})
	}},
	{"Runtime.WithTimeout, used in the foreign place", nil, useContext},
}

// makeChan tries to make a timer with a channel. It must panic with a text that names the bubble, or
// work.
func (f *foreignTest) makeChan(what string, make func() (c <-chan time.Time, stop func())) {
	f.start()
	var c <-chan time.Time
	stop := func() {}
	f.foreign(func(t *testing.T) {
		if text := foreignPanic(func() { c, stop = make() }); text != "" && !namesBubble(text, "foliot") {
			t.Errorf("%s panics with %q", what, text)
		}
	})
	if c == nil {
		return
	}
	f.inWorkingPlace(func(t *testing.T) {
		f.within(t, "a value is sent", func() bool { return len(c) == 1 })
		stop()
	})
}

// useChan calls a method of a timer or ticker that was made in the place of the runtime. It must
// panic with a text that names the bubble, do nothing, or work.
func (f *foreignTest) useChan(what string, use func(*foliot.ChanTimer, *foliot.Ticker)) {
	var timer *foliot.ChanTimer
	var ticker *foliot.Ticker
	f.own(func(*testing.T) { timer, ticker = f.rt.NewChanTimer(hour), f.rt.NewTicker(hour) })
	f.start()
	f.armed, f.slots = -2, -2
	f.foreign(func(t *testing.T) {
		text := foreignPanic(func() { use(timer, ticker) })
		if text != "" && !namesBubble(text, "foliot") {
			t.Errorf("%s panics with %q", what, text)
		}
	})
	f.own(func(t *testing.T) {
		timer.Reset(brief)
		ticker.Reset(brief)
		f.within(t, "both have fired", func() bool { return len(timer.C) == 1 && len(ticker.C) == 1 })
		timer.Stop()
		ticker.Stop()
	})
}

// makeContext makes a context, which must have ended from the start. Its cause must name the bubble.
func (f *foreignTest) makeContext(make func(parent context.Context) (context.Context, context.CancelFunc)) {
	f.start()
	f.foreign(func(t *testing.T) {
		ctx, cancel := make(context.Background())
		defer cancel()
		if ctx.Err() == nil {
			t.Error("the context has not ended from the start")
		} else if !errors.Is(ctx.Err(), context.Canceled) || !refused(t, "Cause", context.Cause(ctx)) {
			t.Errorf("Err is %v and Cause is %v", ctx.Err(), context.Cause(ctx))
		}
		<-ctx.Done()
		below, cancelBelow := context.WithCancel(ctx)
		defer cancelBelow()
		if below.Err() == nil {
			t.Error("a context below has not ended")
		}
	})
}

// useContext uses contexts of a runtime in the foreign place, which no goroutine waits for.
func useContext(f *foreignTest) {
	var cancelled, late context.Context
	var cancel, cancelLate context.CancelFunc
	f.own(func(*testing.T) {
		cancelled, cancel = f.rt.WithTimeout(context.Background(), hour)
		late, cancelLate = f.rt.WithTimeout(context.Background(), 3*brief)
	})
	f.start()
	f.foreign(func(t *testing.T) {
		if cancelled.Err() != nil || late.Err() != nil {
			t.Errorf("Err is %v and %v", cancelled.Err(), late.Err())
		}
		if _, ok := late.Deadline(); !ok {
			t.Error("Deadline returns false")
		}
		cancel()
		wantContext(t, "cancelled in the foreign place", cancelled, context.Canceled, context.Canceled)
	})
	f.armed, f.slots = -2, -2
	f.own(func(t *testing.T) {
		wantContext(t, "cancelled in the foreign place", cancelled, context.Canceled, context.Canceled)
		f.within(t, "the deadline passes", func() bool { return late.Err() != nil })
		wantContext(t, "late", late, context.DeadlineExceeded, context.DeadlineExceeded)
		cancelLate()
	})
}
