package foreign_test

import (
	"context"
	"strings"
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

var clockRows = []struct {
	name string
	want want
	call func(c *clockTest) any
}{
	{"Fake.Now", works, func(c *clockTest) any { return c.fake.Now().Equal(kit.Epoch) }},
	{"Fake.Since", works, func(c *clockTest) any { return c.fake.Since(kit.Epoch) == 0 }},
	{"Fake.Until", works, func(c *clockTest) any { return c.fake.Until(kit.Epoch) == 0 }},
	{"Fake.Waiters", works, func(c *clockTest) any { return c.fake.Waiters() == 3 }},
	{"Fake.Advance", wakes(aPanic), func(c *clockTest) any { c.fake.Advance(second); return nil }},
	{"Fake.AdvanceToNext", wakes(aPanic), func(c *clockTest) any { c.fake.AdvanceToNext(); return nil }},
	{"Fake.BlockUntil, for those that wait already", works, func(c *clockTest) any { c.fake.BlockUntil(3); return nil }},
	{"Fake.BlockUntil", waits(aPanic), func(c *clockTest) any { c.fake.BlockUntil(100); return nil }},
	{"Fake.BlockUntilContext", waits(anError), func(c *clockTest) any { return c.fake.BlockUntilContext(c.soon, 100) }},
	{"Fake.BlockUntilDeadline, of one that waits already", works, func(c *clockTest) any {
		return c.fake.BlockUntilDeadline(c.soon, kit.Epoch.Add(2*hour))
	}},
	{"Fake.BlockUntilDeadline", waits(anError), func(c *clockTest) any { return c.fake.BlockUntilDeadline(c.soon, kit.Epoch.Add(hour)) }},
	{"Fake.Next", works, func(c *clockTest) any { t, ok := c.fake.Next(); return ok && t.Equal(kit.Epoch.Add(2*hour)) }},
	{"Fake.SleepContext", waits(anError), func(c *clockTest) any { return c.fake.SleepContext(c.soon, brief) }},
	{"Fake.Sleep", waits(aPanic), func(c *clockTest) any { c.fake.Sleep(brief); return nil }},
	{"Fake.Sleep, with no delay", works, func(c *clockTest) any { c.fake.Sleep(0); return nil }},
	{"Fake.After", waits(aPanic), func(c *clockTest) any { c.fake.After(brief); return nil }},
	{"Fake.Tick", waits(aPanic), func(c *clockTest) any { c.fake.Tick(brief); return nil }},
	{"Fake.NewTimer", waits(aPanic), func(c *clockTest) any { c.fake.NewTimer(brief); return nil }},
	{"Fake.NewTimer, with no delay", waits(aPanic), func(c *clockTest) any { c.fake.NewTimer(0); return nil }},
	{"Fake.NewTicker", waits(aPanic), func(c *clockTest) any { c.fake.NewTicker(hour); return nil }},
	{"Fake.AfterFunc", enters(aPanic), func(c *clockTest) any { c.fake.AfterFunc(brief, func() {}); return nil }},
	{"Fake.AfterFunc, with no delay", enters(aPanic), func(c *clockTest) any { c.fake.AfterFunc(0, func() {}); return nil }},
	{"Fake.WithTimeout", waits(anError), func(c *clockTest) any {
		return refusedContext(c.fake.WithTimeout(context.Background(), brief))
	}},
	{"Fake.WithDeadline", waits(anError), func(c *clockTest) any {
		return refusedContext(c.fake.WithDeadline(context.Background(), c.fake.Now().Add(brief)))
	}},
	{"Timer.Chan", works, func(c *clockTest) any { return c.timer.Chan() != nil && c.fn.Chan() == nil }},
	{"Timer.Stop", wakes(no), func(c *clockTest) any { return c.timer.Stop() }},
	{"Timer.Stop, of AfterFunc", works, func(c *clockTest) any { return c.fn.Stop() }},
	{"Timer.Reset", enters(aPanic), func(c *clockTest) any { c.timer.Reset(hour); return nil }},
	{"Timer.Reset, of AfterFunc", enters(aPanic), func(c *clockTest) any { c.fn.Reset(hour); return nil }},
	{"Ticker.Chan", works, func(c *clockTest) any { return c.ticker.Chan() != nil }},
	{"Ticker.Stop", works, func(c *clockTest) any { c.ticker.Stop(); return nil }},
	{"Ticker.Reset", enters(aPanic), func(c *clockTest) any { c.ticker.Reset(hour); return nil }},
}

func clockCases() (cases []foreignCase) {
	for _, r := range clockRows {
		for _, v := range variants(false, strings.Contains(r.name, "Stop")) {
			if v.manual { // as a Fake is
				name := r.name + strings.TrimPrefix(v.String(), "on a manual clock")
				cases = append(cases, foreignCase{
					name,
					[]string{covered("clock", r.name)},
					func(t *testing.T) { runClockRow(t, v, r.want, r.call) },
				})
			}
		}
	}
	return append(cases, otherClockCases...)
}

func runClockRow(t *testing.T, v variant, want want, call func(*clockTest) any) {
	c := &clockTest{twoPlaces: twoPlaces{variant: v, t: t}}
	c.open()
	defer c.close()
	c.own(func(*testing.T) {
		c.fake = clock.NewFake(kit.Epoch)
		c.timer, c.ticker = c.fake.NewTimer(2*hour), c.fake.NewTicker(2*hour)
		c.fn = c.fake.AfterFunc(2*hour, func() { c.runs.Add(1) })
	})
	c.foreign(func(t *testing.T) { c.try(t, "foliot", want, func() any { return call(c) }) })
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
var otherClockCases = []foreignCase{
	{"Real", []string{
		"clock.Real", "clock.Clock.Now", "clock.Clock.Since", "clock.Clock.Until", "clock.Clock.Sleep", "clock.Clock.SleepContext", "clock.Clock.After", "clock.Clock.Tick",
		"clock.Clock.AfterFunc", "clock.Clock.NewTimer", "clock.Clock.NewTicker", "clock.Clock.WithTimeout", "clock.Clock.WithDeadline",
	}, func(t *testing.T) {
		c := clock.Real()
		synctest.Test(t, func(t *testing.T) { wantClockOfBubble(t, c) })
		c.Sleep(brief)
	}},
	{"On", []string{"clock.On"}, func(t *testing.T) {
		c := clock.On(kit.NewRuntime(t, foliot.Options{}))
		timer, fn := c.NewTimer(hour), c.AfterFunc(hour, func() {})
		synctest.Test(t, func(t *testing.T) {
			for what, call := range map[string]func(){
				"Sleep":              func() { c.Sleep(brief) },
				"AfterFunc":          func() { c.AfterFunc(brief, func() {}) },
				"NewTimer":           func() { c.NewTimer(brief) },
				"NewTicker":          func() { c.NewTicker(brief) },
				"After":              func() { c.After(brief) },
				"Tick":               func() { c.Tick(brief) },
				"Reset":              func() { timer.Reset(brief) },
				"Reset of AfterFunc": func() { fn.Reset(brief) },
			} {
				if got := outcomeOf("foliot", func() any { call(); return nil }); got != aPanic {
					t.Errorf("%s %s, want: it %s", what, got, aPanic)
				}
			}
			wantClockOfBubble(t, clock.On(kit.NewRuntime(t, foliot.Options{})))
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

// wantClockOfBubble checks that a clock is that of the bubble of the caller.
func wantClockOfBubble(t *testing.T, c clock.Clock) {
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
	c.Sleep(hour / 2)
	if err := c.SleepContext(context.Background(), hour/2); err != nil {
		t.Errorf("SleepContext returns %v", err)
	}
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
