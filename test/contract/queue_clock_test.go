package contract_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/test/kit"
	"github.com/foliot-go/foliot/wheel"
)

// A testClock is a clock of a runtime, seen by a test.
type testClock struct {
	now  func() time.Time
	pass func(d time.Duration) // lets d pass
}

// eachClock runs a test on the clock of the system, on a manual clock and in a synctest bubble.
func eachClock(t *testing.T, f func(t *testing.T, r *foliot.Runtime, c testClock)) {
	std := testClock{time.Now, time.Sleep}
	t.Run("system", func(t *testing.T) { f(t, kit.NewRuntime(t, foliot.Options{}), std) })
	t.Run("manual", func(t *testing.T) {
		r, clock := kit.NewManual(t, foliot.Options{})
		f(t, r, testClock{clock.Now, clock.Advance})
	})
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, kit.NewRuntime(t, foliot.Options{}), std) })
	})
}

// pushAt calls PushAt, which must succeed.
func pushAt[V any](t testing.TB, q *foliot.Queue[V], at time.Time, v V) wheel.Handle {
	t.Helper()
	h, err := q.PushAt(at, v)
	if err != nil || h == 0 {
		t.Fatalf("PushAt(%v) returns %v, %v", at, h, err)
	}
	return h
}

// try calls TryWait with a buffer for n values and returns what is due.
func try[V any](q *foliot.Queue[V], n int) []V {
	buf := make([]V, n)
	return buf[:q.TryWait(buf)]
}

// drain returns the values that Drain removes, all or the first n of them.
func drain[V any](q *foliot.Queue[V], n int) (values []V) {
	for _, v := range q.Drain() {
		if values = append(values, v); len(values) == n {
			break
		}
	}
	return values
}
