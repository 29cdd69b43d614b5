package time_test

import (
	"math"
	"math/cmplx"
	"runtime"
	"testing"
	std "time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/time"
)

// There is at most one tick for each period, even if ticks are late.
func TestTheNthTickComesAfterNPeriodsAtTheEarliest(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		const period = time.Millisecond
		began := std.Now()
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		weaken()
		for n := range time.Duration(100) {
			if at := receive(t, ticker.C, "a tick").Sub(began); at < (n+1)*period {
				t.Fatalf("tick %d after %v", n+1, at)
			}
		}
	})
}

// Ticks are due on a grid. A tick may be late, but that does not make the next one later. So
// all ticks come at about the same phase of the period. If lateness added up, the phase would
// be any: 300 ticks that are late by some tens of microseconds move through the period several
// times.
//
// On a busy machine the phase may be any, too. So one good attempt of many is enough.
func TestATickerDoesNotDrift(t *testing.T) {
	var focus float64
	for attempt := range 20 {
		period := time.Duration(1+attempt/4) * time.Millisecond
		ticker := time.NewTicker(period)
		began := std.Now()
		var sum complex128
		const ticks = 300
		for range ticks {
			phase := float64(receive(t, ticker.C, "a tick").Sub(began)) / float64(period)
			sum += cmplx.Rect(1, 2*math.Pi*phase)
		}
		ticker.Stop()
		if focus = cmplx.Abs(sum) / ticks; focus > 0.5 { // 1: all at the same phase; 0: at any
			return
		}
	}
	t.Errorf("ticks come at any phase of the period: their focus is %.2f", focus)
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
		if at := receive(t, ticker.C, "the tick that waits"); at.After(slept) {
			t.Error("the tick that waits is not the oldest")
		}
		if at := receive(t, ticker.C, "the next tick"); at.Before(woke.Add(-20 * time.Millisecond)) {
			t.Errorf("a second tick, of %v before the reader was back, has waited, too", woke.Sub(at))
		}
	})
}

// A ticker skips ticks while its channel is not read, and stops that when it is read again.
func TestATickerThatIsNotReadSlowsDownUntilItIs(t *testing.T) {
	allGone(t, "of other tests")
	const period = time.Millisecond
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		weaken()
		std.Sleep(100 * period)
		before := foliot.Default().Stats().Fired
		std.Sleep(200 * period)
		if n := foliot.Default().Stats().Fired - before; n > 100 {
			t.Errorf("%d ticks in 200 periods in which the channel is not read", n)
		}
		receive(t, ticker.C, "the tick that waits")
		receive(t, ticker.C, "the next")
		eventually(t, "ticks at every period", func() bool {
			first := receive(t, ticker.C, "a tick")
			return receive(t, ticker.C, "another").Sub(first) < 2*period
		})
	})
}

func TestResetChangesThePeriodOfATicker(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		ticker := time.NewTicker(time.Hour)
		defer ticker.Stop()
		weaken()
		for _, period := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 3 * time.Millisecond} {
			began := std.Now()
			ticker.Reset(period)
			for n := range 3 {
				if at := receive(t, ticker.C, "a tick"); at.Sub(began) < time.Duration(n+1)*period {
					t.Errorf("tick %d of a period of %v after %v", n, period, at.Sub(began))
				}
			}
		}
		ticker.Reset(time.Hour)
		wantEmpty(t, ticker.C, "after Reset to an hour")
		ticker.Stop()
		ticker.Reset(time.Millisecond)
		receive(t, ticker.C, "a tick after Stop and Reset")
		receive(t, ticker.C, "another")
	})
}

func TestAStoppedTickerDoesNotTick(t *testing.T) {
	forStrongAndWeak(t, func(t *testing.T, weaken func()) {
		ticker := time.NewTicker(time.Millisecond)
		weaken()
		receive(t, ticker.C, "a tick")
		ticker.Stop()
		ticker.Stop()
		std.Sleep(20 * time.Millisecond)
		wantEmpty(t, ticker.C, "after Stop")
	})
}

func TestTickReturnsNilForNoPeriod(t *testing.T) {
	if time.Tick(0) != nil || time.Tick(-1) != nil {
		t.Error("not nil")
	}
	c := time.Tick(time.Millisecond)
	for range 3 {
		receive(t, c, "a tick")
	}
}

func TestTickersOfAnyPeriodCanBeMade(t *testing.T) {
	for _, d := range []time.Duration{1, 2, 100, time.Microsecond} {
		ticker := time.NewTicker(d)
		for range 10 {
			receive(t, ticker.C, d.String())
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
