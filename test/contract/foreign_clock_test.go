package contract_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A clockTest has a Fake and what waits on it, made in one place and used in another.
type clockTest struct {
	twoPlaces
	fake   *clock.Fake
	timer  clock.Timer
	ticker clock.Ticker
	fn     clock.Timer
	runs   atomic.Int64
}

// clockRows has a use of each method of a Fake, and of its timers and tickers. It must panic with a
// text that names the bubble, do nothing, or work.
var clockRows = []struct {
	name string
	use  func(t *testing.T, c *clockTest)
}{
	{"Fake.Now", func(t *testing.T, c *clockTest) {
		if !c.fake.Now().Equal(kit.Epoch) {
			t.Errorf("Now returns %v", c.fake.Now())
		}
	}},
	{"Fake.Since", func(t *testing.T, c *clockTest) {
		if d := c.fake.Since(kit.Epoch); d != 0 {
			t.Errorf("Since returns %v", d)
		}
	}},
	{"Fake.Until", func(t *testing.T, c *clockTest) {
		if d := c.fake.Until(kit.Epoch); d != 0 {
			t.Errorf("Until returns %v", d)
		}
	}},
	{"Fake.Waiters", func(t *testing.T, c *clockTest) {
		if n := c.fake.Waiters(); n != 3 {
			t.Errorf("%d wait, want 3", n)
		}
	}},
	{"Fake.Advance", func(_ *testing.T, c *clockTest) { c.fake.Advance(second) }},
	{"Fake.AdvanceToNext", func(_ *testing.T, c *clockTest) { c.fake.AdvanceToNext() }},
	{"Fake.BlockUntil", func(_ *testing.T, c *clockTest) {
		c.fake.BlockUntil(3)
		c.fake.BlockUntil(100)
	}},
	{"Fake.BlockUntilContext", func(t *testing.T, c *clockTest) {
		if err := c.fake.BlockUntilContext(context.Background(), 100); !refused(t, "BlockUntilContext", err) {
			t.Error("BlockUntilContext returns nil, want an error")
		}
	}},
	{"Fake.Sleep", func(_ *testing.T, c *clockTest) {
		c.fake.Sleep(0)
		c.fake.Sleep(brief)
	}},
	{"Fake.After", func(_ *testing.T, c *clockTest) { c.fake.After(brief) }},
	{"Fake.Tick", func(_ *testing.T, c *clockTest) { c.fake.Tick(hour) }},
	{"Fake.NewTimer", func(_ *testing.T, c *clockTest) { c.fake.NewTimer(brief) }},
	{"Fake.NewTimer, with no delay", func(_ *testing.T, c *clockTest) { c.fake.NewTimer(0) }},
	{"Fake.NewTicker", func(_ *testing.T, c *clockTest) { c.fake.NewTicker(hour) }},
	{"Fake.AfterFunc", func(_ *testing.T, c *clockTest) { c.fake.AfterFunc(brief, func() {}) }},
	{"Fake.AfterFunc, with no delay", func(_ *testing.T, c *clockTest) { c.fake.AfterFunc(0, func() {}) }},
	{"Fake.WithTimeout", func(t *testing.T, c *clockTest) {
		ctx, cancel := c.fake.WithTimeout(context.Background(), brief)
		defer cancel()
		if !refused(t, "Cause", context.Cause(ctx)) {
			t.Error("the context has not ended from the start")
		}
	}},
	{"Fake.WithDeadline", func(t *testing.T, c *clockTest) {
		ctx, cancel := c.fake.WithDeadline(context.Background(), c.fake.Now().Add(brief))
		defer cancel()
		if !refused(t, "Cause", context.Cause(ctx)) {
			t.Error("the context has not ended from the start")
		}
	}},
	{"Timer.Chan", func(_ *testing.T, c *clockTest) { c.timer.Chan(); c.fn.Chan() }},
	{"Timer.Stop", func(_ *testing.T, c *clockTest) { c.timer.Stop() }},
	{"Timer.Stop, of AfterFunc", func(_ *testing.T, c *clockTest) { c.fn.Stop() }},
	{"Timer.Reset", func(_ *testing.T, c *clockTest) { c.timer.Reset(hour) }},
	{"Timer.Reset, of AfterFunc", func(_ *testing.T, c *clockTest) { c.fn.Reset(hour) }},
	{"Ticker.Chan", func(_ *testing.T, c *clockTest) { c.ticker.Chan() }},
	{"Ticker.Stop", func(_ *testing.T, c *clockTest) { c.ticker.Stop() }},
	{"Ticker.Reset", func(_ *testing.T, c *clockTest) { c.ticker.Reset(hour) }},
}

func clockCases() (cases []foreignCase) {
	for _, row := range clockRows {
		for _, s := range settings {
			cases = append(cases, foreignCase{
				row.name + ", " + s.String(),
				[]string{foreignRow{name: row.name}.covers("clock")},
				func(t *testing.T) { runClockCase(t, s, row.use) },
			})
		}
	}
	return append(cases, otherClockCases()...)
}

func runClockCase(t *testing.T, s setting, use func(*testing.T, *clockTest)) {
	c := &clockTest{twoPlaces: twoPlaces{setting: s, t: t}}
	c.open()
	defer c.close()
	c.own(func(*testing.T) {
		c.fake = clock.NewFake(kit.Epoch)
		c.timer, c.ticker = c.fake.NewTimer(2*hour), c.fake.NewTicker(2*hour)
		c.fn = c.fake.AfterFunc(2*hour, func() { c.runs.Add(1) })
	})
	c.foreign(func(t *testing.T) {
		if text := foreignPanic(func() { use(t, c) }); text != "" && !namesBubble(text, "foliot") {
			t.Errorf("it panics with %q", text)
		}
	})
	c.own(func(t *testing.T) {
		// A goroutine that the call has started may advance the clock at the same time.
		c.timer.Reset(brief)
		c.ticker.Reset(hour)
		before := c.runs.Load()
		c.fn.Reset(brief)
		sleeps := testkit.Async(func() bool { c.fake.Sleep(hour); return true })
		ctx, cancel := c.fake.WithTimeout(context.Background(), hour)
		defer cancel()
		for len(sleeps) == 0 {
			c.fake.Advance(hour)
			time.Sleep(millisecond)
		}
		if len(c.timer.Chan()) != 1 || len(c.ticker.Chan()) != 1 || c.runs.Load() != before+1 || ctx.Err() != context.DeadlineExceeded {
			t.Errorf("the Fake does not work: %d and %d values, %d runs, the context has %v",
				len(c.timer.Chan()), len(c.ticker.Chan()), c.runs.Load()-before, ctx.Err())
		}
		c.ticker.Stop()
	})
}

// otherClockCases has cases for the functions of package clock, and for the interface: a clock of the
// system in a bubble is that of the bubble.
func otherClockCases() []foreignCase {
	return []foreignCase{
		{"Real", []string{
			"clock.Real", "clock.Clock.Now", "clock.Clock.Since", "clock.Clock.Until", "clock.Clock.Sleep", "clock.Clock.After", "clock.Clock.Tick",
			"clock.Clock.AfterFunc", "clock.Clock.NewTimer", "clock.Clock.NewTicker", "clock.Clock.WithTimeout", "clock.Clock.WithDeadline",
		}, func(t *testing.T) {
			c := clock.Real()
			synctest.Test(t, func(t *testing.T) { wantClockWorks(t, c) })
			c.Sleep(brief)
		}},
		{"On", []string{"clock.On"}, func(t *testing.T) {
			rt := kit.NewRuntime(t, foliot.Options{})
			c := clock.On(rt)
			synctest.Test(t, func(t *testing.T) {
				for what, f := range map[string]func(){
					"Sleep":     func() { c.Sleep(brief) },
					"AfterFunc": func() { c.AfterFunc(brief, func() {}) },
					"NewTimer":  func() { c.NewTimer(brief) },
					"Tick":      func() { c.Tick(brief) },
				} {
					if text := foreignPanic(f); !namesBubble(text, "foliot") {
						t.Errorf("%s panics with %q", what, text)
					}
				}
				wantClockWorks(t, clock.On(kit.NewRuntime(t, foliot.Options{})))
			})
			c.Sleep(brief)
		}},
		{"NewFake", []string{"clock.NewFake"}, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := clock.NewFake()
				fake.After(hour)
				if d, ok := fake.AdvanceToNext(); d != hour || !ok {
					t.Errorf("AdvanceToNext returns %v, %v", d, ok)
				}
			})
		}},
	}
}

// wantClockWorks checks that a clock is that of the bubble of the caller.
func wantClockWorks(t *testing.T, c clock.Clock) {
	t.Helper()
	began := time.Now()
	ticker, tick := c.NewTicker(hour), c.Tick(hour)
	defer ticker.Stop()
	ran := make(chan struct{})
	c.AfterFunc(hour, func() { close(ran) })
	first, cancelFirst := c.WithTimeout(context.Background(), hour)
	defer cancelFirst()
	second, cancelSecond := c.WithDeadline(context.Background(), began.Add(hour))
	defer cancelSecond()
	timer := c.NewTimer(hour)
	c.Sleep(hour)
	<-timer.Chan()
	<-ticker.Chan()
	<-tick
	<-ran
	<-first.Done()
	<-second.Done()
	<-c.After(hour)
	if d := time.Since(began); d != 2*hour || c.Since(began) != d || c.Until(began) != -d || !c.Now().Equal(time.Now()) {
		t.Errorf("%v have passed, want 2h, and the clock shows %v", d, c.Since(began))
	}
}
