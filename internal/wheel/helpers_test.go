package wheel_test

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

// wantSound checks every link, bitmap and counter of w.
func wantSound[V any](t testing.TB, w *wheel.Wheel[V]) {
	t.Helper()
	if err := wheel.CheckForTest(w); err != nil {
		t.Fatal(err)
	}
}

// wantPanic checks that f panics with a text that names the package.
func wantPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "wheel:") {
			t.Fatalf("panic %v, want one that begins with wheel:", p)
		}
	}()
	f()
}

// wantStale checks that all methods of w reject h, and that the calls change nothing.
func wantStale[V comparable](t *testing.T, w *wheel.Wheel[V], h wheel.Handle) {
	t.Helper()
	var zero V
	before := w.Len()
	if at, v, ok := w.Lookup(h); at != 0 || v != zero || ok {
		t.Fatalf("Lookup(%#x) returns %d, %v, %t, want false", h, at, v, ok)
	}
	if p := w.Value(h); p != nil {
		t.Fatalf("Value(%#x) points to %v, want nil", h, *p)
	}
	if w.Park(h) {
		t.Fatalf("Park(%#x) returns true, want false", h)
	}
	if w.Reschedule(h, w.Now()) {
		t.Fatalf("Reschedule(%#x) returns true, want false", h)
	}
	if v, ok := w.Cancel(h); v != zero || ok {
		t.Fatalf("Cancel(%#x) returns %v, %t, want false", h, v, ok)
	}
	if w.Len() != before {
		t.Fatalf("Len is %d, want %d as before", w.Len(), before)
	}
}

// wantParked checks that h is the handle of a parked entry with the value v.
func wantParked[V comparable](t *testing.T, w *wheel.Wheel[V], h wheel.Handle, v V) {
	t.Helper()
	if at, got, ok := w.Lookup(h); at != wheel.Never || got != v || !ok {
		t.Fatalf("Lookup of a parked entry is %d, %v, %t, want Never, %v, true", at, got, ok, v)
	}
	if p := w.Value(h); p == nil || *p != v {
		t.Fatalf("Value of a parked entry does not point to %v", v)
	}
}

// wantAll checks that All yields exactly the given entries, each once, and that Len counts them.
func wantAll(t *testing.T, w *wheel.Wheel[int], want map[wheel.Handle]int) {
	t.Helper()
	got := map[wheel.Handle]int{}
	for h, v := range w.All() {
		if _, again := got[h]; again || want[h] != v {
			t.Fatalf("All yields %#x, %d, want %d once", h, v, want[h])
		}
		got[h] = v
	}
	if len(got) != len(want) || w.Len() != len(want) {
		t.Fatalf("All yields %d of %d entries, Len is %d", len(got), len(want), w.Len())
	}
}

// An item is a pair that Advance or Drain yields.
type item[V any] struct {
	at wheel.Tick
	v  V
}

// advance ranges over Advance(now) to its end.
func advance[V any](w *wheel.Wheel[V], now wheel.Tick) []item[V] {
	var got []item[V]
	for at, v := range w.Advance(now) {
		got = append(got, item[V]{at, v})
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

// popAll pops until nothing is due.
func popAll[V any](w *wheel.Wheel[V], now wheel.Tick) []item[V] {
	var got []item[V]
	for h, at, ok := w.Pop(now); ok; h, at, ok = w.Pop(now) {
		got = append(got, item[V]{at, *w.Value(h)})
	}
	return got
}

// newTenWheel returns a wheel with the entries 1 to 10 at the ticks 10 to 100, and one more at
// 1000. The handles are those of the entries 1 to 10, by value.
func newTenWheel() (*wheel.Wheel[int], []wheel.Handle) {
	w := wheel.New[int](0, 0)
	handles := make([]wheel.Handle, 11)
	for i := 1; i <= 10; i++ {
		handles[i] = w.Schedule(wheel.Tick(10*i), i)
	}
	w.Schedule(1000, 1000)
	return w, handles
}

// newMixedWheel returns a wheel at tick 1000 with n entries: some due, many on few ticks, and
// some at any distance.
func newMixedWheel(n int) *wheel.Wheel[int] {
	w := wheel.New[int](1000, 0)
	rng := rand.New(rand.NewPCG(8, uint64(n)))
	for i := range n {
		switch i % 3 {
		case 0:
			w.Schedule(wheel.Tick(rng.IntN(2000)), i)
		case 1:
			w.Schedule(1000+wheel.Tick(i%5)<<20, i)
		case 2:
			w.Schedule(wheel.Tick(rng.Uint64()>>rng.IntN(64)), i)
		}
	}
	return w
}

// starts has ticks at boundaries: zero, ticks next to powers of two, and the last ticks.
var starts = []wheel.Tick{
	0, 1, 63, 64, 1<<12 - 1, 1_200_003, 1 << 32, 1<<48 + 12345,
	1<<63 - 1, 1 << 63, math.MaxUint64 - 5,
}

// distances returns 1, 2^k - 1, 2^k and 2^k + 1 for every k, and 2^64 - 1.
func distances() []wheel.Tick {
	d := []wheel.Tick{math.MaxUint64}
	for k := range 64 {
		d = append(d, 1<<k-1, 1<<k, 1<<k+1)
	}
	slices.Sort(d)
	return slices.Compact(d)[1:]
}

// startsAndTargets yields every start with every tick that is one of distances after it.
func startsAndTargets() iter.Seq2[wheel.Tick, wheel.Tick] {
	return func(yield func(now, at wheel.Tick) bool) {
		for _, now := range starts {
			for _, d := range distances() {
				if d <= math.MaxUint64-now && !yield(now, now+d) {
					return
				}
			}
		}
	}
}

// addTick returns t + d, or the last tick if that overflows.
func addTick(t, d wheel.Tick) wheel.Tick { return t + min(d, math.MaxUint64-t) }
