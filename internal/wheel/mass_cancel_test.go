package wheel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A dueList is a wheel in which all entries are due, and the order in which they must be yielded.
type dueList struct {
	w       *wheel.Wheel[int]
	handles []wheel.Handle // by value
	order   []int          // values
}

func (l *dueList) arm(n int) {
	for range n {
		v := len(l.handles)
		l.handles = append(l.handles, l.w.Schedule(l.w.Now(), v))
		l.order = append(l.order, v)
	}
}

// cancel cancels every step-th entry of order[from:to].
func (l *dueList) cancel(t *testing.T, from, to, step int) {
	t.Helper()
	kept := l.order[:from:from]
	for i, v := range l.order[from:] {
		if from+i >= to || i%step > 0 {
			kept = append(kept, v)
		} else if got, ok := l.w.Cancel(l.handles[v]); got != v || !ok {
			t.Fatalf("Cancel of %d is %d, %t", v, got, ok)
		}
	}
	l.order = kept
}

// wantNext checks that v is the next value to be yielded, and removes it from the list.
func (l *dueList) wantNext(t *testing.T, v int) {
	t.Helper()
	if len(l.order) == 0 || v != l.order[0] {
		t.Fatalf("got %d, want the first of %d, %v",
			v, len(l.order), l.order[:min(3, len(l.order))])
	}
	l.order = l.order[1:]
}

func TestShortPassesBetweenMassCancelsKeepTheOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(13, seed))
		l := &dueList{w: wheel.New[int](5, 0)}
		l.arm(12_000)
		for pass := 0; len(l.order) > 0; pass++ {
			from := rng.IntN(len(l.order))
			to := from + 1 + rng.IntN(len(l.order)-from)
			l.cancel(t, from, to, 1+rng.IntN(3))
			wantSound(t, l.w)
			budget := 1 + rng.IntN(200)
			for _, v := range l.w.Advance(0) {
				l.wantNext(t, v)
				if budget--; budget == 0 {
					break
				}
			}
			if pass < 20 {
				l.arm(rng.IntN(1000))
			}
		}
		if l.w.Len() != 0 {
			t.Fatalf("seed %d: %d entries are left", seed, l.w.Len())
		}
	}
}

func TestAfterMassCancelsInTheBodyOnlyEarlierEntriesAreYielded(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(14, seed))
		l := &dueList{w: wheel.New[int](5, 0)}
		l.arm(200 << rng.IntN(5))
		for pass := range 5 {
			due := len(l.order) // entries from this index on are armed by the body
			for _, v := range l.w.Advance(5) {
				if due == 0 {
					t.Fatalf("seed %d, pass %d: got %d, which the body armed", seed, pass, v)
				}
				l.wantNext(t, v)
				due--
				if rng.IntN(20) == 0 && len(l.order) < 5000 {
					l.arm(rng.IntN(200))
				}
				if rng.IntN(20) == 0 && due > 0 {
					from := rng.IntN(due)
					before := len(l.order)
					l.cancel(t, from, from+rng.IntN(due-from+1), 1+rng.IntN(3))
					due -= before - len(l.order)
				}
				if rng.IntN(20) == 0 && len(l.order) > due {
					l.cancel(t, due, due+rng.IntN(len(l.order)-due), 1+rng.IntN(3))
				}
			}
			if due != 0 {
				t.Fatalf("seed %d, pass %d: %d entries were not yielded", seed, pass, due)
			}
			wantSound(t, l.w)
		}
	}
}
