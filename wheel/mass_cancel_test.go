package wheel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/foliot-go/foliot/wheel"
)

// line is what is due in a wheel, in the order in which it must come.
type line struct {
	w       *wheel.Wheel[int]
	handles []wheel.Handle // by payload
	order   []int
}

func (l *line) arm(n int) {
	for range n {
		v := len(l.handles)
		l.handles = append(l.handles, l.w.Schedule(l.w.Now(), v))
		l.order = append(l.order, v)
	}
}

// cancel removes every step-th entry between two places of the line.
func (l *line) cancel(t *testing.T, from, to, step int) {
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

func TestPassesWithABudgetBetweenMassCancelsKeepTheOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(13, seed))
		l := &line{w: wheel.New[int](5, 0)}
		l.arm(12_000)
		for pass := 0; len(l.order) > 0; pass++ {
			from := rng.IntN(len(l.order))
			to := from + 1 + rng.IntN(len(l.order)-from)
			l.cancel(t, from, to, 1+rng.IntN(3))
			checkInvariants(t, l.w)
			budget := 1 + rng.IntN(200)
			for _, v := range l.w.Advance(0) {
				if len(l.order) == 0 || v != l.order[0] {
					t.Fatalf("seed %d, pass %d: got %d, want the first of %d, %v", seed, pass, v, len(l.order), l.order[:min(3, len(l.order))])
				}
				l.order = l.order[1:]
				if budget--; budget == 0 {
					break
				}
			}
			if pass < 20 {
				l.arm(rng.IntN(1000))
			}
		}
		if l.w.Len() != 0 {
			t.Fatalf("seed %d: %d left", seed, l.w.Len())
		}
	}
}

func TestMassCancelsInTheBodyKeepWhatItMakesDueApart(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(14, seed))
		l := &line{w: wheel.New[int](5, 0)}
		l.arm(200 << rng.IntN(5))
		for pass := range 5 {
			due := len(l.order) // the line from there on is what the body arms
			for _, v := range l.w.Advance(5) {
				if due == 0 || v != l.order[0] {
					t.Fatalf("seed %d, pass %d: got %d with %d due, next %v", seed, pass, v, due, l.order[:min(3, due)])
				}
				l.order = l.order[1:]
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
				t.Fatalf("seed %d, pass %d: %d did not come", seed, pass, due)
			}
			checkInvariants(t, l.w)
		}
	}
}
