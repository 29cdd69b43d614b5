package wheel_test

import (
	"math"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

func TestDrainYieldsEveryEntryOnceAndEachTickInArmingOrder(t *testing.T) {
	const n = 20_000
	w := newMixedWheel(n)
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
			t.Fatalf("at %d: %d was yielded after %d", at, v, before)
		}
		last[at] = v
		if _, _, ok := w.Lookup(handles[v]); ok || w.Len() != len(ticks) {
			t.Fatalf("in the body: Lookup is %t, Len is %d, want %d", ok, w.Len(), len(ticks))
		}
	}
	if _, ok := w.Next(); len(ticks) != 0 || w.Len() != 0 || ok || w.Now() != 1000 {
		t.Fatalf("%d entries were not yielded, Len is %d, Next is %t, Now is %d",
			len(ticks), w.Len(), ok, w.Now())
	}
	wantSound(t, w)
}

func TestDrainIntoAnotherWheelKeepsTheOrder(t *testing.T) {
	from, same := newMixedWheel(5000), newMixedWheel(5000)
	to := wheel.New[int](from.Now(), from.Len())
	for at, v := range from.Drain() {
		to.Schedule(at, v)
	}
	want := advance(same, math.MaxUint64)
	if got := advance(to, math.MaxUint64); !slices.Equal(got, want) {
		t.Fatal("the entries moved by Drain are yielded in another order")
	}
}

func TestBreakInDrainLeavesTheRestInPlace(t *testing.T) {
	for _, n := range []int{1, 2, 100, 2999, 3000} {
		w, same := newMixedWheel(3000), newMixedWheel(3000)
		gone := map[int]bool{}
		for _, v := range w.Drain() {
			if gone[v] = true; len(gone) == n {
				break
			}
		}
		wantSound(t, w)
		if w.Len() != 3000-n || w.Now() != 1000 {
			t.Fatalf("after %d: Len is %d, Now is %d", n, w.Len(), w.Now())
		}
		var want []item[int]
		for at, v := range same.Advance(math.MaxUint64) {
			if !gone[v] {
				want = append(want, item[int]{at, v})
			}
		}
		if got := advance(w, math.MaxUint64); !slices.Equal(got, want) {
			t.Fatalf("after %d: the rest is yielded in another order", n)
		}
	}
}

func TestInTheBodyOfDrainTheRestMayBeCancelled(t *testing.T) {
	w := newMixedWheel(1000)
	n := 0
	for range w.Drain() {
		n++
		for h := range w.All() {
			w.Cancel(h)
			break
		}
	}
	if n != 500 || w.Len() != 0 {
		t.Fatalf("%d entries were yielded, Len is %d", n, w.Len())
	}
	wantSound(t, w)
}

func TestDrainHasNoEffectBeforeItIsRangedOver(t *testing.T) {
	w := newMixedWheel(10)
	seq := w.Drain()
	if w.Len() != 10 {
		t.Fatalf("Len is %d before the loop", w.Len())
	}
	w.Schedule(2000, 10)
	n := 0
	for range seq {
		n++
	}
	if n != 11 || w.Len() != 0 {
		t.Fatalf("%d entries were yielded, Len is %d", n, w.Len())
	}
}
