package wheel_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/wheel"
)

// These are tests of Pop and Advance in turn: each goes on where the other left off.

func TestPopGoesOnWhereAnAdvanceBrokeOff(t *testing.T) {
	eachLeaving(t, func(t *testing.T, leave func(*wheel.Wheel[int], wheel.Tick, int)) {
		for n := 1; n <= 10; n++ {
			for _, to := range []wheel.Tick{0, 55, 100} {
				w, _ := ten()
				leave(w, 100, n)
				w.Schedule(1, 11)
				var want []firing[int]
				for i := n + 1; i <= 10; i++ {
					want = append(want, firing[int]{wheel.Tick(10 * i), i})
				}
				want = append(want, firing[int]{100, 11})
				if got := popAll(w, to); !slices.Equal(got, want) {
					t.Fatalf("after %d, Pop(%d): got %v, want %v", n, to, got, want)
				}
				checkInvariants(t, w)
			}
		}
	})
}

func TestAdvanceGoesOnWherePopsLeftOff(t *testing.T) {
	for n := 1; n <= 10; n++ {
		for _, to := range []wheel.Tick{0, 55, 100} {
			w, handles := ten()
			for range n {
				w.Pop(100)
			}
			w.Schedule(1, 11)
			w.Reschedule(handles[1], 0) // due again: behind 11
			var want []firing[int]
			for i := n + 1; i <= 10; i++ {
				want = append(want, firing[int]{wheel.Tick(10 * i), i})
			}
			want = append(want, firing[int]{100, 11}, firing[int]{100, 1})
			if got := advance(w, to); !slices.Equal(got, want) {
				t.Fatalf("after %d, Advance(%d): got %v, want %v", n, to, got, want)
			}
			checkInvariants(t, w)
		}
	}
}

func TestPopsAndBrokenOffAdvancesInTurnKeepTheOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(17, seed))
		l := &line{w: wheel.New[int](5, 0)}
		l.arm(6000)
		expect := func(v int) {
			if len(l.order) == 0 || v != l.order[0] {
				t.Fatalf("seed %d: got %d, want the first of %d, %v", seed, v, len(l.order), l.order[:min(3, len(l.order))])
			}
			l.order = l.order[1:]
		}
		for turn := 0; len(l.order) > 0; turn++ {
			from := rng.IntN(len(l.order))
			l.cancel(t, from, from+1+rng.IntN(len(l.order)-from), 2+rng.IntN(3))
			budget := min(1+rng.IntN(120), len(l.order))
			if turn%2 == 0 {
				for _, v := range l.w.Advance(0) {
					if expect(v); budget == 1 {
						break
					}
					budget--
				}
			} else {
				for range budget {
					h, _, _ := l.w.Pop(0)
					v, _ := l.w.Cancel(h)
					expect(v)
				}
			}
			if turn < 20 {
				l.arm(rng.IntN(300))
			}
			checkInvariants(t, l.w)
		}
		if _, _, ok := l.w.Pop(5); ok || l.w.Len() != 0 {
			t.Fatalf("seed %d: Pop is %t, %d left", seed, ok, l.w.Len())
		}
	}
}
