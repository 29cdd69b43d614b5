package wheel_test

import (
	"testing"

	"github.com/foliot-go/foliot/wheel"
)

// invariants is the one place where these tests look inside a wheel: every link, bitmap and counter of w.
func invariants[V any](w *wheel.Wheel[V]) error {
	return wheel.CheckForTest(w)
}

// checkInvariants fails t if w is not sound inside.
func checkInvariants[V any](t testing.TB, w *wheel.Wheel[V]) {
	t.Helper()
	if err := invariants(w); err != nil {
		t.Fatal(err)
	}
}

// firing is one pair yielded by Advance or Drain.
type firing[V any] struct {
	at wheel.Tick
	v  V
}

// advance ranges over Advance(now) to its end.
func advance[V any](w *wheel.Wheel[V], now wheel.Tick) []firing[V] {
	var got []firing[V]
	for at, v := range w.Advance(now) {
		got = append(got, firing[V]{at, v})
	}
	return got
}

// advanceValues is advance without the ticks.
func advanceValues[V any](w *wheel.Wheel[V], now wheel.Tick) []V {
	var got []V
	for _, v := range w.Advance(now) {
		got = append(got, v)
	}
	return got
}
