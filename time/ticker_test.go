package time_test

import (
	"math"
	"math/cmplx"
	"runtime"
	"testing"
	std "time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/time"
)

// There is at most one tick for each period, even if ticks are late.
func TestNoTickIsEarly(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		const period = time.Millisecond
		began := std.Now()
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		weaken()
		for n := range time.Duration(100) {
			if at := testkit.Receive(t, ticker.C, "a tick").Sub(began); at < (n+1)*period {
				t.Fatalf("tick %d is after %v, want at least %v", n+1, at, (n+1)*period)
			}
		}
	})
}

// Ticks are due at multiples of the period. A late tick does not make the next one later. So all
// ticks come at about the same phase of the period. If lateness added up, the phases would be
// spread over the whole period: 300 ticks that are late by some tens of microseconds each drift
// through the period several times.
//
// On a busy machine the phases may be spread, too. So one good attempt of many is enough.
func TestATickerDoesNotDrift(t *testing.T) {
	testkit.SkipIfShort(t)
	var concentration float64
	for attempt := range 20 {
		period := time.Duration(1+attempt/4) * time.Millisecond
		ticker := time.NewTicker(period)
		began := std.Now()
		var sum complex128
		const ticks = 300
		for range ticks {
			phase := float64(testkit.Receive(t, ticker.C, "a tick").Sub(began)) / float64(period)
			sum += cmplx.Rect(1, 2*math.Pi*phase)
		}
		ticker.Stop()
		// 1: all at the same phase; 0: evenly spread.
		if concentration = cmplx.Abs(sum) / ticks; concentration > 0.5 {
			return
		}
	}
	t.Errorf("the concentration of the phases of the ticks is %.2f, want above 0.5", concentration)
}

func TestATickerDropsTicksForASlowReader(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		ticker := time.NewTicker(2 * time.Millisecond)
		defer ticker.Stop()
		weaken()
		waitForValue(t, ticker.C)
		slept := std.Now()
		std.Sleep(50 * time.Millisecond)
		woke := std.Now()
		if at := testkit.Receive(t, ticker.C, "the tick in the channel"); at.After(slept) {
			t.Error("the tick in the channel is not the oldest")
		}
		if at := testkit.Receive(t, ticker.C, "the next tick"); at.Before(woke.Add(-20 * time.Millisecond)) {
			t.Errorf("another tick, from %v before the reader was back, was not dropped",
				woke.Sub(at))
		}
	})
}

// A ticker skips ticks while its channel is not read. When it is read again, no tick is skipped.
func TestATickerSkipsTicksWhileItsChannelIsNotRead(t *testing.T) {
	testkit.SkipIfShort(t)
	awaitNoTimers(t, "other tests")
	const period = time.Millisecond
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		weaken()
		std.Sleep(100 * period)
		before := foliot.Default().Stats().Fired
		std.Sleep(200 * period)
		if n := foliot.Default().Stats().Fired - before; n > 100 {
			t.Errorf("%d ticks in 200 periods while the channel is not read, want at most 100", n)
		}
		testkit.Receive(t, ticker.C, "the tick in the channel")
		testkit.Receive(t, ticker.C, "the next tick")
		testkit.Eventually(t, "ticks at every period", func() bool {
			first := testkit.Receive(t, ticker.C, "a tick")
			return testkit.Receive(t, ticker.C, "another tick").Sub(first) < 2*period
		})
	})
}

func TestResetChangesThePeriodOfATicker(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		ticker := time.NewTicker(time.Hour)
		defer ticker.Stop()
		weaken()
		for _, period := range []time.Duration{
			time.Millisecond, 10 * time.Millisecond, 3 * time.Millisecond,
		} {
			began := std.Now()
			ticker.Reset(period)
			for n := range 3 {
				if at := testkit.Receive(t, ticker.C, "a tick"); at.Sub(began) < time.Duration(n+1)*period {
					t.Errorf("tick %d of a period of %v is after %v", n+1, period, at.Sub(began))
				}
			}
		}
		ticker.Reset(time.Hour)
		wantEmpty(t, ticker.C, "after Reset to an hour")
		ticker.Stop()
		ticker.Reset(time.Millisecond)
		testkit.Receive(t, ticker.C, "a tick after Stop and Reset")
		testkit.Receive(t, ticker.C, "another tick")
	})
}

func TestAStoppedTickerDoesNotTick(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		ticker := time.NewTicker(time.Millisecond)
		weaken()
		testkit.Receive(t, ticker.C, "a tick")
		ticker.Stop()
		ticker.Stop()
		std.Sleep(20 * time.Millisecond)
		wantEmpty(t, ticker.C, "after Stop")
	})
}

func TestTickReturnsNilIfThePeriodIsNotPositive(t *testing.T) {
	if time.Tick(0) != nil || time.Tick(-1) != nil {
		t.Error("Tick(0) or Tick(-1) does not return nil")
	}
	c := time.Tick(time.Millisecond)
	for range 3 {
		testkit.Receive(t, c, "a tick")
	}
}

func TestTickersOfAnyPeriodCanBeMade(t *testing.T) {
	for _, d := range []time.Duration{1, 2, 100, time.Microsecond} {
		ticker := time.NewTicker(d)
		for range 10 {
			testkit.Receive(t, ticker.C, d.String())
		}
		ticker.Stop()
		wantEmpty(t, ticker.C, "after Stop")
	}
	for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2, 1 << 61} {
		ticker := time.NewTicker(d)
		ticker.Reset(d - 1)
		ticker.Reset(d)
		runtime.Gosched()
		wantEmpty(t, ticker.C, d.String())
		ticker.Stop()
	}
}

// The standard package ticks more often than anything that is not part of Go's runtime. Its
// tickers are not timers of the default runtime.
func TestTheShortestTickersAreThoseOfTheStandardPackage(t *testing.T) {
	armed := func() int { return foliot.Default().Stats().Armed }
	before := armed()
	for _, c := range []struct {
		period time.Duration
		armed  int
	}{
		{1, 0},
		{250 * time.Microsecond, 0},
		{251 * time.Microsecond, 1},
		{time.Hour, 1},
	} {
		ticker := time.NewTicker(c.period)
		if n := armed() - before; n != c.armed {
			t.Errorf("%d timers are armed with a ticker of %v, want %d", n, c.period, c.armed)
		}
		ticker.Reset(100 * time.Microsecond)
		testkit.Receive(t, ticker.C, "a tick")
		ticker.Stop()
		if n := armed() - before; n != 0 {
			t.Errorf("%d timers are armed after Stop of a ticker of %v", n, c.period)
		}
		ticker.Reset(time.Millisecond)
		testkit.Receive(t, ticker.C, "a tick after Stop and Reset")
		ticker.Stop()
	}
}
