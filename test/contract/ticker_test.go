package contract_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// received returns the value in a channel, counted from start, and false if there is none.
func received(c <-chan time.Time, start time.Time) (time.Duration, bool) {
	select {
	case at := <-c:
		return at.Sub(start), true
	default:
		return 0, false
	}
}

// wantReceived checks that a channel has a value, which is the time after d.
func wantReceived(t testing.TB, what string, c <-chan time.Time, start time.Time, d time.Duration) {
	t.Helper()
	if got, ok := received(c, start); !ok || got != d {
		t.Errorf("%s: received %v, %t, want %v", what, got, ok, d)
	}
}

// wantEmpty checks that a channel is empty.
func wantEmpty(t testing.TB, what string, c <-chan time.Time, start time.Time) {
	t.Helper()
	if got, ok := received(c, start); ok {
		t.Errorf("%s: received %v, want nothing", what, got)
	}
}

func TestNowIsTheTimeOfTheClock(t *testing.T) {
	r, clock := kit.NewManual(t, foliot.Options{})
	clock.Advance(hour)
	if got, want := r.Now(), kit.Epoch.Add(hour); !got.Equal(want) {
		t.Errorf("Now returns %v on a manual clock, want %v", got, want)
	}
	sys := kit.NewRuntime(t, foliot.Options{})
	before := time.Now()
	got := sys.Now()
	if after := time.Now(); got.Before(before) || got.After(after) {
		t.Errorf("Now returns %v on the system clock, want a time from %v to %v", got, before, after)
	}
	synctest.Test(t, func(t *testing.T) {
		r := kit.NewRuntime(t, foliot.Options{})
		time.Sleep(hour)
		if got, want := r.Now(), time.Now(); !got.Equal(want) {
			t.Errorf("Now returns %v in a bubble, want %v", got, want)
		}
	})
}

// A fakeTime is a runtime on a clock that a test moves: a manual clock or that of a bubble.
type fakeTime struct {
	*foliot.Runtime
	start time.Time
	pass  func(d time.Duration) // when it returns, all that came due has happened
}

// eachFakeTime runs a test on a manual clock and in a bubble.
func eachFakeTime(t *testing.T, o foliot.Options, f func(t *testing.T, r fakeTime)) {
	t.Run("manual clock", func(t *testing.T) {
		r, clock := kit.NewManual(t, o)
		f(t, fakeTime{r, clock.Now(), clock.Advance})
	})
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := kit.NewRuntime(t, o)
			f(t, fakeTime{r, time.Now(), func(d time.Duration) {
				time.Sleep(d)
				synctest.Wait()
			}})
		})
	})
}

func TestATickerTicksOnAGrid(t *testing.T) {
	eachFakeTime(t, foliot.Options{}, func(t *testing.T, r fakeTime) {
		ticker := kit.NewTicker(t, r.Runtime, second)
		r.pass(second - 1)
		wantEmpty(t, "before the first period has passed", ticker.C, r.start)
		r.pass(1)
		wantReceived(t, "after a period", ticker.C, r.start, second)
		r.pass(second + second/2)
		wantReceived(t, "the second tick, read late", ticker.C, r.start, 2*second)
		r.pass(second / 2)
		wantReceived(t, "the third tick", ticker.C, r.start, 3*second)
	})
}

func TestATickerThatIsNotReadDropsTicksAndStaysOnItsGrid(t *testing.T) {
	eachFakeTime(t, foliot.Options{}, func(t *testing.T, r fakeTime) {
		ticker := kit.NewTicker(t, r.Runtime, 10*millisecond)
		r.pass(3*second + 5*millisecond)
		wantReceived(t, "the first tick", ticker.C, r.start, 10*millisecond)
		wantEmpty(t, "a second tick without room", ticker.C, r.start)
		r.pass(5 * millisecond)
		wantReceived(t, "the next tick", ticker.C, r.start, 3*second+10*millisecond)
		r.pass(10 * millisecond)
		wantReceived(t, "the tick after that", ticker.C, r.start, 3*second+20*millisecond)
	})
}

func TestNoStaleTickIsReceivedAfterStopOrReset(t *testing.T) {
	eachFakeTime(t, foliot.Options{}, func(t *testing.T, r fakeTime) {
		ticker := kit.NewTicker(t, r.Runtime, second)
		r.pass(second)
		ticker.Stop()
		wantEmpty(t, "after Stop", ticker.C, r.start)
		r.pass(5 * second)
		wantEmpty(t, "while it is stopped", ticker.C, r.start)
		ticker.Reset(2 * second) // the time is 6 s
		r.pass(2 * second)
		ticker.Reset(3 * second) // the time is 8 s
		wantEmpty(t, "after Reset", ticker.C, r.start)
		r.pass(3*second - 1)
		wantEmpty(t, "before the new period has passed", ticker.C, r.start)
		r.pass(1)
		wantReceived(t, "after the new period", ticker.C, r.start, 11*second)
		r.pass(3 * second)
		wantReceived(t, "after another one", ticker.C, r.start, 14*second)
		if n := r.Stats().Armed; n != 1 {
			t.Errorf("Armed is %d, want 1", n)
		}
		ticker.Stop()
		ticker.Stop()
		if n := r.Stats().Armed; n != 0 {
			t.Errorf("Armed is %d after Stop, want 0", n)
		}
	})
}

func TestAChanTimerBehavesLikeATimerOfPackageTime(t *testing.T) {
	eachFakeTime(t, foliot.Options{}, func(t *testing.T, r fakeTime) {
		timer := kit.NewChanTimer(t, r.Runtime, second)
		r.pass(second - 1)
		wantEmpty(t, "before the delay", timer.C, r.start)
		r.pass(1)
		wantReceived(t, "after the delay", timer.C, r.start, second)
		if timer.Stop() {
			t.Error("Stop of a timer whose value was received returns true")
		}
		if timer.Reset(second) {
			t.Error("Reset of a timer that has fired returns true")
		}
		if !timer.Reset(2 * second) {
			t.Error("Reset of an armed timer returns false")
		}
		r.pass(2 * second) // the time is 3 s
		if !timer.Reset(second) {
			t.Error("Reset of a timer whose value was not received returns false")
		}
		wantEmpty(t, "after Reset", timer.C, r.start)
		r.pass(second)
		if !timer.Stop() {
			t.Error("Stop of a timer whose value was not received returns false")
		}
		wantEmpty(t, "after Stop", timer.C, r.start)
		r.pass(hour)
		wantEmpty(t, "an hour after Stop", timer.C, r.start)
		c := kit.NewChanTimer(t, r.Runtime, second).C
		r.pass(second)
		wantReceived(t, "another timer", c, r.start, hour+5*second)
		for _, d := range []time.Duration{0, -second} {
			timer := kit.NewChanTimer(t, r.Runtime, d)
			r.pass(0)
			wantReceived(t, "a delay that is not positive", timer.C, r.start, hour+5*second)
		}
	})
}

func TestChannelsAndCallbacksOfAManualClockFireInTheOrderOfArming(t *testing.T) {
	clock := foliot.NewManualClock(kit.Epoch)
	a := kit.NewRuntime(t, foliot.Options{Clock: clock})
	b := kit.NewRuntime(t, foliot.Options{Clock: clock})
	var timers [4]*foliot.ChanTimer
	var got []int
	look := func() { // how many channels have a value
		n := 0
		for _, timer := range timers {
			n += len(timer.C)
		}
		got = append(got, n)
	}
	for i := range timers {
		r, other := a, b
		if i%2 == 1 {
			r, other = b, a
		}
		timers[i] = kit.NewChanTimer(t, r, second)
		kit.After(t, other, second, look)
	}
	ticker := kit.NewTicker(t, a, second/2)
	kit.After(t, b, second, func() { got = append(got, 10+len(ticker.C)) })
	clock.Advance(second / 2)
	<-ticker.C // its next tick was armed after the callback
	clock.Advance(second / 2)
	if want := []int{1, 2, 3, 4, 10}; !slices.Equal(got, want) {
		t.Errorf("the callbacks find %v values, want %v", got, want)
	}
	if len(ticker.C) != 1 {
		t.Error("the ticker has not ticked")
	}
}

func TestOnTheSystemClockChannelTimersAndTickersAreNotEarly(t *testing.T) {
	eachWorkers(t, func(t *testing.T, workers int) {
		r := kit.NewRuntime(t, foliot.Options{Workers: workers})
		for _, d := range []time.Duration{-1, 0, 1, microsecond, 50 * microsecond, 3 * millisecond} {
			began := time.Now()
			sent := testkit.Receive(t, kit.NewChanTimer(t, r, d).C, "a ChanTimer")
			if took := time.Since(began); took < d || sent.Sub(began) < d {
				t.Errorf("NewChanTimer(%v) sends %v at %v", d, sent.Sub(began), took)
			}
		}
		start := time.Now()
		ticker := kit.NewTicker(t, r, 2*millisecond)
		for n := time.Duration(1); n <= 10; n++ {
			if at := testkit.Receive(t, ticker.C, "a tick").Sub(start); at < 2*n*millisecond {
				t.Errorf("tick %d comes after %v", n, at)
			}
		}
		ticker.Stop()
	})
}

func TestTheZeroTickerAndTheZeroChanTimerDoNothing(t *testing.T) {
	var timer foliot.ChanTimer
	if timer.Stop() || timer.Reset(second) {
		t.Error("a method of the zero ChanTimer returns true")
	}
	var ticker foliot.Ticker
	ticker.Stop()
	ticker.Reset(second)
	if timer.C != nil || ticker.C != nil {
		t.Error("a zero value has a channel")
	}
}
