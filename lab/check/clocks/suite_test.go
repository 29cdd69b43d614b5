package clocks

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/jonboulle/clockwork"
)

// A timer and a ticker have the methods that both packages have.
type (
	timer interface {
		Chan() <-chan time.Time
		Reset(d time.Duration) bool
		Stop() bool
	}
	ticker interface {
		Chan() <-chan time.Time
		Reset(d time.Duration)
		Stop()
	}
)

// A fake is a fake clock whose timers are of type T and whose tickers are of type K. These are
// interfaces of clockwork or of package clock.
type fake[T timer, K ticker] interface {
	clocked[T, K]
	Advance(d time.Duration)
	BlockUntil(n int)
	BlockUntilContext(ctx context.Context, n int) error
}

// A clocked is what programs under test take: the interface Clock of clockwork.
type clocked[T timer, K ticker] interface {
	After(d time.Duration) <-chan time.Time
	Sleep(d time.Duration)
	Now() time.Time
	Since(t time.Time) time.Duration
	Until(t time.Time) time.Duration
	NewTicker(d time.Duration) K
	NewTimer(d time.Duration) T
	AfterFunc(d time.Duration, f func()) T
}

func TestTheSuiteOfClockworkPassesOnBothClocks(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	t.Run("clockwork", func(t *testing.T) {
		suite(t, func() *clockwork.FakeClock { return clockwork.NewFakeClockAt(at) })
	})
	t.Run("clock", func(t *testing.T) {
		suite(t, func() *clock.Fake { return clock.NewFake(at) })
	})
}

// A program takes the interface Clock. These conversions are all that it does with a constructor.
var (
	_ clocked[clockwork.Timer, clockwork.Ticker] = clockwork.NewRealClock()
	_ clocked[clock.Timer, clock.Ticker]         = clock.Real()
)

// suite runs each test outside of a bubble and in one.
func suite[F fake[T, K], T timer, K ticker](t *testing.T, newFake func() F) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, fc F)
	}{
		{"Now stands still", testNow[F, T, K]},
		{"After", testAfter[F, T, K]},
		{"After with 0 or less", testAfterAtOnce[F, T, K]},
		{"a goroutine that sleeps", testSleep[F, T, K]},
		{"BlockUntil", testBlockUntil[F, T, K]},
		{"BlockUntilContext", testBlockUntilContext[F, T, K]},
		{"a timer", testTimer[F, T, K]},
		{"a timer that is stopped", testTimerStop[F, T, K]},
		{"a timer that is reset", testTimerReset[F, T, K]},
		{"a timer of 0", testTimerAtOnce[F, T, K]},
		{"AfterFunc", testAfterFunc[F, T, K]},
		{"AfterFunc that is stopped and reset", testAfterFuncStop[F, T, K]},
		{"AfterFunc with 0", testAfterFuncAtOnce[F, T, K]},
		{"a ticker", testTicker[F, T, K]},
		{"a ticker that misses ticks", testTickerDrops[F, T, K]},
		{"a ticker that is stopped", testTickerStop[F, T, K]},
		{"a ticker without a period", testTickerPanics[F, T, K]},
		{"a poller", testPoller[F, T, K]},
		{"a debouncer", testDebouncer[F, T, K]},
		{"a cache", testCache[F, T, K]},
		{"a retry", testRetry[F, T, K]},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newFake()) })
		t.Run(test.name+" in a bubble", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test.run(t, newFake()) })
		})
	}
}

// wantTime receives from ch, and checks the time.
func wantTime(t *testing.T, what string, ch <-chan time.Time, want time.Time) {
	t.Helper()
	if at := testkit.Receive(t, ch, what); !at.Equal(want) {
		t.Errorf("%s: received %v, want %v", what, at, want)
	}
}

func wantNothing[V any](t *testing.T, what string, ch <-chan V) {
	t.Helper()
	select {
	case v := <-ch:
		t.Errorf("%s: received %v, want nothing", what, v)
	default:
	}
}

// block waits until n goroutines and timers wait on the clock.
func block[F fake[T, K], T timer, K ticker](t *testing.T, fc F, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Timeout)
	defer cancel()
	if err := fc.BlockUntilContext(ctx, n); err != nil {
		t.Fatalf("BlockUntilContext(%d): %v", n, err)
	}
}

func testNow[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	began := fc.Now()
	if !fc.Now().Equal(began) {
		t.Error("the clock moves by itself")
	}
	fc.Advance(time.Minute)
	if fc.Since(began) != time.Minute || fc.Until(began) != -time.Minute {
		t.Errorf("Since is %v and Until %v, want a minute", fc.Since(began), fc.Until(began))
	}
}

func testAfter[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	began := fc.Now()
	one, two, ten := fc.After(1), fc.After(2), fc.After(10)
	wantNothing(t, "before Advance", one)
	fc.Advance(1)
	wantTime(t, "the first", one, began.Add(1))
	wantNothing(t, "the second", two)
	fc.Advance(5)
	wantTime(t, "the second", two, began.Add(2))
	wantNothing(t, "the third", ten)
	fc.Advance(100)
	wantTime(t, "the third", ten, began.Add(10))
}

func testAfterAtOnce[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	for _, d := range []time.Duration{0, -1} {
		select {
		case <-fc.After(d):
		default:
			t.Errorf("After(%v) does not send at once", d)
		}
	}
}

func testSleep[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	var wg sync.WaitGroup
	began := fc.Now()
	for i := range 3 {
		wg.Go(func() {
			fc.Sleep(time.Duration(i+1) * time.Second)
			if d := fc.Since(began); d < time.Duration(i+1)*time.Second {
				t.Errorf("Sleep returns after %v", d)
			}
		})
	}
	fc.Sleep(0)
	block(t, fc, 3)
	fc.Advance(3 * time.Second)
	wg.Wait()
}

func testBlockUntil[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	blocked := testkit.Async(func() bool { fc.BlockUntil(2); return true })
	fc.NewTimer(time.Second)
	fc.After(time.Second)
	testkit.Receive(t, blocked, "BlockUntil(2)")
	fc.Advance(time.Second)
	blocked = testkit.Async(func() bool { fc.BlockUntil(1); return true })
	go fc.Sleep(time.Second)
	testkit.Receive(t, blocked, "BlockUntil(1)")
	fc.Advance(time.Second)
}

func testBlockUntilContext[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	ctx, cancel := context.WithCancel(t.Context())
	blocked := testkit.Async(func() error { return fc.BlockUntilContext(ctx, 2) })
	fc.NewTimer(time.Second)
	cancel()
	if err := testkit.Receive(t, blocked, "BlockUntilContext"); err != context.Canceled {
		t.Errorf("BlockUntilContext returns %v, want Canceled", err)
	}
}
