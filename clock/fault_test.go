package clock_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
)

// The clocks in this file have a fault each. The program under stress must find it.

// An early clock fires before the deadline.
type early struct{ *clock.Fake }

func (c early) AfterFunc(d time.Duration, f func()) clock.Timer {
	return earlyTimer{c.Fake.AfterFunc(d-1, f)}
}
func (c early) NewTimer(d time.Duration) clock.Timer   { return earlyTimer{c.Fake.NewTimer(d - 1)} }
func (c early) NewTicker(d time.Duration) clock.Ticker { return earlyTicker{c.Fake.NewTicker(d - 1)} }
func (c early) Sleep(d time.Duration)                  { c.Fake.Sleep(d - 1) }
func (c early) After(d time.Duration) <-chan time.Time { return c.Fake.After(d - 1) }

func (c early) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return c.Fake.WithTimeout(parent, d-1)
}

type earlyTimer struct{ clock.Timer }

func (t earlyTimer) Reset(d time.Duration) bool { return t.Timer.Reset(d - 1) }

type earlyTicker struct{ clock.Ticker }

func (t earlyTicker) Reset(d time.Duration) { t.Ticker.Reset(d - 1) }

// An unsteady clock has tickers that leave their grid.
type unsteady struct{ *clock.Fake }

func (c unsteady) NewTicker(d time.Duration) clock.Ticker { return unsteadyTicker{c.Fake.NewTicker(d)} }

type unsteadyTicker struct{ clock.Ticker }

func (t unsteadyTicker) Reset(d time.Duration) { t.Ticker.Reset(d + 1) }

// A lossy clock loses armings.
type lossy struct{ *clock.Fake }

func (c lossy) AfterFunc(d time.Duration, f func()) clock.Timer {
	return lossyTimer{c.Fake.AfterFunc(d, f)}
}
func (c lossy) NewTimer(d time.Duration) clock.Timer { return lossyTimer{c.Fake.NewTimer(d)} }

type lossyTimer struct{ clock.Timer }

func (t lossyTimer) Reset(d time.Duration) bool {
	was := t.Timer.Reset(d)
	if rand.IntN(8) == 0 {
		t.Timer.Stop()
	}
	return was
}

// A lying clock returns true from a Stop that stops nothing.
type lying struct{ *clock.Fake }

func (c lying) AfterFunc(d time.Duration, f func()) clock.Timer {
	return lyingTimer{c.Fake.AfterFunc(d, f)}
}

type lyingTimer struct{ clock.Timer }

func (t lyingTimer) Stop() bool { return true }

// A stale clock leaves values in channels, as package time did before Go 1.23.
type stale struct{ *clock.Fake }

func (c stale) NewTimer(d time.Duration) clock.Timer {
	ch := make(chan time.Time, 1)
	return staleTimer{ch, c.Fake.AfterFunc(d, func() {
		select {
		case ch <- c.Now():
		default:
		}
	})}
}

type staleTimer struct {
	ch chan time.Time
	clock.Timer
}

func (t staleTimer) Chan() <-chan time.Time { return t.ch }

func TestTheProgramUnderStressFindsFaults(t *testing.T) {
	for name, test := range map[string]struct {
		make func() faking
		want []string // one of the faults has each of these in its text
	}{
		"early": {
			func() faking { return early{clock.NewFake()} },
			[]string{"a function is early", "a timer is early", "a tick is early", "a Sleep is early", "an After is early", "a context is early"},
		},
		"unsteady": {func() faking { return unsteady{clock.NewFake()} }, []string{"not on the grid"}},
		"lossy":    {func() faking { return lossy{clock.NewFake()} }, []string{"a function was lost", "timer"}},
		"lying":    {func() faking { return lying{clock.NewFake()} }, []string{"after Stop returned true"}},
		"stale":    {func() faking { return stale{clock.NewFake()} }, []string{"timer that is not armed has a value"}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.TrueWithin(testkit.Timeout, func() bool { // chance may hide a fault once
				test.want = remove(test.want, stress(test.make(), 200))
				return len(test.want) == 0
			})
			if len(test.want) > 0 {
				t.Errorf("not found: %q", test.want)
			}
		})
	}
}

// remove returns the texts that are not part of a fault that was found.
func remove(texts []string, found map[string]int) (left []string) {
	for _, text := range texts {
		has := false
		for fault := range found {
			has = has || strings.Contains(fault, text)
		}
		if !has {
			left = append(left, text)
		}
	}
	return left
}
