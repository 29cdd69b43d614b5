package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/test/kit"
)

// A place is a clock and a way to let time pass on it.
type place struct {
	clock clock.Clock
	pass  func(d time.Duration) // returns when at least d has passed, and what came due has happened
	unit  time.Duration         // a duration that is long enough to be told from nothing
	exact bool                  // pass lets exactly d pass
}

// eachPlace runs a test with each kind of clock, outside of bubbles and in one.
func eachPlace(t *testing.T, test func(t *testing.T, p place)) {
	inBubble := func(f func(t *testing.T)) func(t *testing.T) {
		return func(t *testing.T) { synctest.Test(t, f) }
	}
	t.Run("Real", func(t *testing.T) { test(t, onSystem(clock.Real())) })
	t.Run("Real in a bubble", inBubble(func(t *testing.T) { test(t, ofBubble(clock.Real())) }))
	t.Run("On a runtime", func(t *testing.T) {
		test(t, onSystem(clock.On(kit.NewRuntime(t, foliot.Options{}))))
	})
	t.Run("On a runtime in a bubble", inBubble(func(t *testing.T) {
		test(t, ofBubble(clock.On(kit.NewRuntime(t, foliot.Options{}))))
	}))
	onManual := func(t *testing.T) {
		rt, manual := kit.NewManual(t, foliot.Options{})
		test(t, place{clock.On(rt), manual.Advance, time.Hour, true})
	}
	t.Run("On a manual clock", onManual)
	t.Run("On a manual clock in a bubble", inBubble(onManual))
	onFake := func(t *testing.T) {
		fake := clock.NewFake()
		test(t, place{fake, fake.Advance, time.Hour, true})
	}
	t.Run("Fake", onFake)
	t.Run("Fake in a bubble", inBubble(onFake))
}

// onSystem is a place in which time passes by itself.
func onSystem(c clock.Clock) place {
	return place{clock: c, pass: time.Sleep, unit: 3 * time.Millisecond}
}

// ofBubble is a place on the clock of the bubble of the caller.
func ofBubble(c clock.Clock) place {
	return place{clock: c, unit: time.Hour, exact: true, pass: func(d time.Duration) {
		time.Sleep(d)
		synctest.Wait()
	}}
}

// passUntil lets time pass, a unit at a time, until ok returns true. If it does not, passUntil fails
// the test. On an exact clock the first unit must be enough.
func (p place) passUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	p.pass(p.unit)
	if !p.exact {
		testkit.Eventually(t, what, ok)
	} else if !ok() {
		t.Fatalf("%s: not true after a unit", what)
	}
}

// wantSince checks how much time has passed since an earlier time: d, or more if the clock is not
// exact.
func (p place) wantSince(t testing.TB, what string, earlier time.Time, d time.Duration) {
	t.Helper()
	if got := p.clock.Since(earlier); got < d || p.exact && got != d {
		t.Errorf("%s after %v, want %v", what, got, d)
	}
}

// wantEmpty checks that there is nothing to receive from ch.
func wantEmpty(t testing.TB, what string, ch <-chan time.Time) {
	t.Helper()
	select {
	case at := <-ch:
		t.Errorf("%s: received %v, want nothing", what, at)
	default:
	}
}

// wantTime checks that a time can be received from ch without waiting.
func wantTime(t testing.TB, what string, ch <-chan time.Time, want time.Time) {
	t.Helper()
	select {
	case at := <-ch:
		if !at.Equal(want) {
			t.Errorf("%s: received %v, want %v", what, at, want)
		}
	default:
		t.Errorf("%s: nothing to receive, want %v", what, want)
	}
}
