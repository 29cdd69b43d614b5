package wheel_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

// These tests use Pop and Advance in turn. Each continues where the other stopped.

func TestPopContinuesAfterAnAdvanceThatEndedByShutdownEarly(t *testing.T) {
	forEachExit(t, func(t *testing.T, exit exitFunc) {
		for n := 1; n <= 10; n++ {
			for _, to := range []wheel.Tick{0, 55, 100} {
				w, _ := newTenWheel()
				exit(w, 100, n)
				w.Schedule(1, 11)
				var want []item[int]
				for i := n + 1; i <= 10; i++ {
					want = append(want, item[int]{wheel.Tick(10 * i), i})
				}
				want = append(want, item[int]{100, 11})
				if got := popAll(w, to); !slices.Equal(got, want) {
					t.Fatalf("after %d, Pop(%d): got %v, want %v", n, to, got, want)
				}
				wantSound(t, w)
			}
		}
	})
}

func TestAdvanceContinuesAfterPop(t *testing.T) {
	for n := 1; n <= 10; n++ {
		for _, to := range []wheel.Tick{0, 55, 100} {
			w, handles := newTenWheel()
			for range n {
				w.Pop(100)
			}
			w.Schedule(1, 11)
			w.Reschedule(handles[1], 0) // due again: after 11
			var want []item[int]
			for i := n + 1; i <= 10; i++ {
				want = append(want, item[int]{wheel.Tick(10 * i), i})
			}
			want = append(want, item[int]{100, 11}, item[int]{100, 1})
			if got := advance(w, to); !slices.Equal(got, want) {
				t.Fatalf("after %d, Advance(%d): got %v, want %v", n, to, got, want)
			}
			wantSound(t, w)
		}
	}
}

func TestPopAndShortPassesInTurnKeepTheOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(17, seed))
		l := &dueList{w: wheel.New[int](5, 0)}
		l.arm(6000)
		for turn := 0; len(l.order) > 0; turn++ {
			from := rng.IntN(len(l.order))
			l.cancel(t, from, from+1+rng.IntN(len(l.order)-from), 2+rng.IntN(3))
			budget := min(1+rng.IntN(120), len(l.order))
			if turn%2 == 0 {
				for _, v := range l.w.Advance(0) {
					if l.wantNext(t, v); budget == 1 {
						break
					}
					budget--
				}
			} else {
				for range budget {
					h, _, _ := l.w.Pop(0)
					v, _ := l.w.Cancel(h)
					l.wantNext(t, v)
				}
			}
			if turn < 20 {
				l.arm(rng.IntN(300))
			}
			wantSound(t, l.w)
		}
		if _, _, ok := l.w.Pop(5); ok || l.w.Len() != 0 {
			t.Fatalf("seed %d: Pop is %t, %d entries are left", seed, ok, l.w.Len())
		}
	}
}
