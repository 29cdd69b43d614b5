package wheel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/wheel"
)

// crowd is a wheel at 1000 with n entries: due ones, many on few ticks, and some at any distance.
func crowd(n int) *wheel.Wheel[int] {
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

func TestDrainYieldsEveryEntryAndThoseOfATickInArmingOrder(t *testing.T) {
	const n = 20_000
	w := crowd(n)
	ticks := make(map[int]wheel.Tick, n)
	handles := make(map[int]wheel.Handle, n)
	for h, v := range w.All() {
		ticks[v], _, _ = w.Lookup(h)
		handles[v] = h
	}
	last := map[wheel.Tick]int{}
	for at, v := range w.Drain() {
		if want, ok := ticks[v]; !ok || at != want {
			t.Fatalf("Drain yields %d at %d, want it once at %d", v, at, want)
		}
		delete(ticks, v)
		if before, ok := last[at]; ok && before > v {
			t.Fatalf("at %d: %d comes after %d", at, v, before)
		}
		last[at] = v
		if _, _, ok := w.Lookup(handles[v]); ok || w.Len() != len(ticks) {
			t.Fatalf("in the body: Lookup is %t, Len %d, want %d", ok, w.Len(), len(ticks))
		}
	}
	if _, ok := w.Next(); len(ticks) != 0 || w.Len() != 0 || ok || w.Now() != 1000 {
		t.Fatalf("%d did not come, Len %d, Next %t, Now %d", len(ticks), w.Len(), ok, w.Now())
	}
	checkInvariants(t, w)
}

func TestDrainIntoAnotherWheelKeepsTheOrder(t *testing.T) {
	from, same := crowd(5000), crowd(5000)
	to := wheel.New[int](from.Now(), from.Len())
	for at, v := range from.Drain() {
		to.Schedule(at, v)
	}
	want := advance(same, math.MaxUint64)
	if got := advance(to, math.MaxUint64); !slices.Equal(got, want) {
		t.Fatal("the entries moved by Drain fire in another order")
	}
}

func TestBreakInDrainLeavesTheRestInPlace(t *testing.T) {
	for _, n := range []int{1, 2, 100, 2999, 3000} {
		w, same := crowd(3000), crowd(3000)
		gone := map[int]bool{}
		for _, v := range w.Drain() {
			if gone[v] = true; len(gone) == n {
				break
			}
		}
		checkInvariants(t, w)
		if w.Len() != 3000-n || w.Now() != 1000 {
			t.Fatalf("after %d: Len %d, Now %d", n, w.Len(), w.Now())
		}
		var want []firing[int]
		for at, v := range same.Advance(math.MaxUint64) {
			if !gone[v] {
				want = append(want, firing[int]{at, v})
			}
		}
		if got := advance(w, math.MaxUint64); !slices.Equal(got, want) {
			t.Fatalf("after %d: the rest fires in another order", n)
		}
	}
}

func TestInDrainsBodyTheRestMayBeCancelled(t *testing.T) {
	w := crowd(1000)
	n := 0
	for range w.Drain() {
		n++
		for h := range w.All() {
			w.Cancel(h)
			break
		}
	}
	if n != 500 || w.Len() != 0 {
		t.Fatalf("%d came, Len %d", n, w.Len())
	}
	checkInvariants(t, w)
}

func TestDrainActsWhileItIsRangedOver(t *testing.T) {
	w := crowd(10)
	seq := w.Drain()
	if w.Len() != 10 {
		t.Fatalf("Len %d before the range", w.Len())
	}
	w.Schedule(2000, 10)
	n := 0
	for range seq {
		n++
	}
	if n != 11 || w.Len() != 0 {
		t.Fatalf("%d came, Len %d", n, w.Len())
	}
}
