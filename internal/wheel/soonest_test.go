package wheel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

func TestSoonestIsTheTickOfTheEarliestEntry(t *testing.T) {
	for _, now := range starts {
		w := wheel.New[int](now, 0)
		if at, ok := w.Soonest(1000); at != 0 || ok {
			t.Fatalf("Soonest of an empty wheel is %d, %t", at, ok)
		}
		ds := distances()
		for i := len(ds) - 1; i >= 0; i-- { // each one earlier than all before
			want := addTick(now, ds[i])
			w.Schedule(want, i)
			if at, ok := w.Soonest(1000); at != want || !ok {
				t.Fatalf("from %d: Soonest is %d, %t, want %d", now, at, ok, want)
			}
		}
		w.Schedule(0, 0)
		if at, ok := w.Soonest(1000); at != now || !ok {
			t.Fatalf("with an entry due Soonest is %d, %t, want %d", at, ok, now)
		}
	}
}

func TestSoonestIgnoresCancelledAndParkedEntries(t *testing.T) {
	var w wheel.Wheel[int]
	handles := make([]wheel.Handle, 100)
	for i := range handles {
		handles[i] = w.Schedule(1<<30+wheel.Tick(i), i)
	}
	for i, h := range handles {
		if at, ok := w.Soonest(1000); at != 1<<30+wheel.Tick(i) || !ok {
			t.Fatalf("Soonest is %d, %t, want %d", at, ok, 1<<30+i)
		}
		if i%2 == 0 {
			w.Park(h)
		} else {
			w.Cancel(h)
		}
	}
	if at, ok := w.Soonest(1000); at != 0 || ok {
		t.Fatalf("Soonest is %d, %t with nothing armed", at, ok)
	}
}

func TestSoonestLooksAtNoMoreRefsThanItsLimit(t *testing.T) {
	const n = 4000
	var w wheel.Wheel[int]
	for i := range n {
		w.Schedule(1<<30+wheel.Tick(n-i), i)
	}
	next, _ := w.Next()
	if next >= 1<<30+1 {
		t.Fatalf("Next is %d, so the test checks nothing", next)
	}
	for _, limit := range []int{math.MinInt, -1, 0, 1, n / 2, n, n + 1, 1 << 30, math.MaxInt} {
		want := next
		if limit >= n {
			want = 1<<30 + 1
		}
		if at, ok := w.Soonest(limit); at != want || !ok {
			t.Errorf("Soonest(%d) among %d entries is %d, %t, want %d", limit, n, at, ok, want)
		}
	}
}

func TestEveryStepToSoonestYieldsAnEntry(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 19))
	var w wheel.Wheel[int]
	for i := range 2000 {
		w.Schedule(wheel.Tick(rng.Uint64()>>rng.IntN(64)), i)
	}
	for w.Len() > 0 {
		to, _ := w.Soonest(100_000)
		if got := advance(&w, to); len(got) == 0 || got[0].at != to {
			t.Fatalf("Advance(%d) yields %v", to, got)
		}
	}
}
