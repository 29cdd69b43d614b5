package wheel_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

// Each entry is armed for some tick, but some are in fact due a little later. A caller that pops
// such an entry too early requeues it. The entries must be popped in the order of their real
// deadlines, even when all of them are overdue.
func TestRequeuedEntriesAreInOrderAmongOverdueOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var w wheel.Wheel[wheel.Tick]
		const n = 300
		span := wheel.Tick(1) << (3 + rng.IntN(20))
		for range n {
			at := wheel.Tick(rng.Uint64N(uint64(span)))
			w.Schedule(at, at+wheel.Tick(rng.Uint64N(uint64(span)))*wheel.Tick(rng.IntN(2)))
		}
		var out []wheel.Tick
		for now := wheel.Tick(0); w.Len() > 0; now += span/wheel.Tick(1+rng.IntN(8)) + 1 {
			for {
				h, at, ok := w.Pop(now)
				if !ok {
					break
				}
				if due := *w.Value(h); due > at {
					if !w.Requeue(h, due) {
						t.Fatal("Requeue of a popped entry returns false")
					}
					if tick, _, ok := w.Lookup(h); !ok || tick != due {
						t.Fatalf("requeued for %d, but armed for %d, %t", due, tick, ok)
					}
					continue
				}
				if at > now {
					t.Fatalf("popped the entry for %d at %d", at, now)
				}
				out = append(out, at)
				w.Cancel(h)
			}
			wantSound(t, &w)
		}
		if len(out) != n || !slices.IsSorted(out) {
			t.Fatalf("%d of %d entries were popped, in order: %t",
				len(out), n, slices.IsSorted(out))
		}
	}
}

func TestRequeueBeforeThePoppedTickCountsAsThatTick(t *testing.T) {
	var w wheel.Wheel[int]
	w.Schedule(10, 1)
	w.Schedule(20, 2)
	h, _, _ := w.Pop(30)
	w.Requeue(h, 3)
	if at, _, _ := w.Lookup(h); at != 10 {
		t.Errorf("armed for %d, want 10", at)
	}
	if next, at, _ := w.Pop(30); next != h || at != 10 {
		t.Errorf("popped the entry for %d, want the requeued one for 10", at)
	}
	if w.Now() != 30 {
		t.Errorf("Now is %d after Requeue, want 30", w.Now())
	}
}

func TestRequeueInTheBodyIsReschedule(t *testing.T) {
	var w wheel.Wheel[int]
	w.Schedule(5, 1)
	h := w.Schedule(100, 2)
	for range w.Advance(50) {
		w.Requeue(h, 7)
	}
	if at, _, _ := w.Lookup(h); at != 50 {
		t.Errorf("armed for %d, want Now, 50", at)
	}
	wantSound(t, &w)
	if w.Requeue(0, 1) || (*wheel.Wheel[int])(nil).Requeue(h, 1) {
		t.Error("Requeue of no entry returns true")
	}
}
