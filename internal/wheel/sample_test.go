package wheel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

func TestSampleOfASmallWheelPicksEachArmedEntryOnce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	var w wheel.Wheel[int]
	armed := map[wheel.Handle]bool{}
	for i := range 900 {
		h := w.Schedule(wheel.Tick(rnd.Uint64N(1<<30)), i)
		switch i % 3 {
		case 0:
			w.Cancel(h)
		case 1:
			w.Park(h)
		default:
			armed[h] = true
		}
	}
	picked := map[wheel.Handle]bool{}
	for _, h := range w.Sample(make([]wheel.Handle, 0, 1000), rnd.Uint32N) {
		if !armed[h] || picked[h] {
			t.Fatalf("Sample picks an entry that is not armed, or picks it twice")
		}
		picked[h] = true
	}
	if len(picked) != len(armed) {
		t.Errorf("Sample picks %d entries, want all %d", len(picked), len(armed))
	}
	if n := len(w.Sample(make([]wheel.Handle, 5, 25), rnd.Uint32N)); n != 25 {
		t.Errorf("Sample fills the slice up to %d handles, want 25", n)
	}
}

func TestSamplePicksEveryArmedEntryEquallyOften(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	for _, count := range []int{500, 20_000} {
		var w wheel.Wheel[int]
		for i := range count {
			w.Schedule(wheel.Tick(rnd.Uint64N(1<<30)), i*10/count) // the values 0 to 9, each in a tenth of the slots
		}
		var picks [10]int
		const rounds = 400
		for range rounds {
			for _, h := range w.Sample(make([]wheel.Handle, 0, 100), rnd.Uint32N) {
				picks[*w.Value(h)]++
			}
		}
		for v, n := range picks {
			if want := rounds * 10; n < want*9/10 || n > want*11/10 {
				t.Errorf("of %d entries those with the value %d were picked %d times, want about %d", count, v, n, want)
			}
		}
	}
}

func TestSampleOfASparseWheelIsBounded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	var w wheel.Wheel[int]
	var handles []wheel.Handle
	for i := range 100_000 {
		handles = append(handles, w.Schedule(wheel.Tick(rnd.Uint64N(1<<30)), i))
	}
	for i, h := range handles {
		if i%1000 != 0 {
			w.Cancel(h)
		}
	}
	calls := 0
	found := w.Sample(make([]wheel.Handle, 0, 50), func(n uint32) uint32 {
		calls++
		return rnd.Uint32N(n)
	})
	if calls > 50*64 {
		t.Errorf("Sample has tried %d slots for 50 entries", calls)
	}
	for _, h := range found {
		if _, v, ok := w.Lookup(h); !ok || v%1000 != 0 {
			t.Errorf("Sample picks an entry that was cancelled")
		}
	}
}

func TestSampleOfAnEmptyWheel(t *testing.T) {
	if n := len((*wheel.Wheel[int])(nil).Sample(make([]wheel.Handle, 0, 10), rand.Uint32N)); n != 0 {
		t.Errorf("Sample of a nil wheel picks %d entries", n)
	}
	if n := len(new(wheel.Wheel[int]).Sample(make([]wheel.Handle, 0, 10), rand.Uint32N)); n != 0 {
		t.Errorf("Sample of an empty wheel picks %d entries", n)
	}
	w := wheel.New[int](0, 100)
	if n := len(w.Sample(make([]wheel.Handle, 0, 10), rand.Uint32N)); n != 0 {
		t.Errorf("Sample of a wheel without entries picks %d", n)
	}
}
