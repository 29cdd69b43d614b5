package wheel

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// arm arms an entry for any tick, also for one before Now.
func arm[V any](w *Wheel[V], at Tick, v V) Handle {
	w.Rewind(at)
	return w.Schedule(at, v)
}

// first moves the wheel to its first entry, and returns it.
func first[V any](w *Wheel[V]) (h Handle, at Tick, ok bool) {
	for {
		next, some := w.Next()
		if !some {
			return 0, 0, false
		}
		if h, at, ok = w.Peek(next); ok {
			return h, at, true
		}
	}
}

// A stamped is an entry with its deadline and the number of its arming.
type stamped struct {
	at Tick
	n  int
}

func byDeadline(a, b stamped) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n))
}

// Entries are armed for the past and the future, in any order. Some are taken out in between.
func TestEntriesArmedAfterRewindAreInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var w Wheel[stamped]
		span := uint64(1) << (2 + rng.IntN(40))
		var want []stamped
		for n := range 1 + rng.IntN(400) {
			at := Tick(rng.Uint64N(span))
			arm(&w, at, stamped{at, n})
			want = append(want, stamped{at, n})
			if rng.IntN(10) > 0 {
				continue
			}
			slices.SortFunc(want, byDeadline)
			for range rng.IntN(4) {
				h, at, ok := first(&w)
				if v, _ := w.Cancel(h); ok != (len(want) > 0) || ok && (v != want[0] || at != v.at) {
					t.Fatalf("the first entry is %v at %d, %t, want %v", v, at, ok, want)
				}
				want = want[min(1, len(want)):]
			}
			w.Rewind(Tick(rng.Uint64N(span)))
			wantSound(t, &w)
		}
		slices.SortFunc(want, byDeadline)
		var got []stamped
		for at, v := range w.Advance(Never) {
			if at != v.at {
				t.Fatalf("the entry for %d is yielded at %d", v.at, at)
			}
			got = append(got, v)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the entries are %v, want %v", got, want)
		}
	}
}

func TestRewindMakesEntriesUndue(t *testing.T) {
	for _, n := range []int{3, 3 * mergeLimit} {
		w := New[int](100, 0)
		for i := range n {
			w.Schedule(Tick(1000+100*i), i)
		}
		if h, _, ok := w.Peek(5_000_000); !ok || *w.Value(h) != 0 {
			t.Fatal("Peek does not return the first entry")
		}
		w.Rewind(1050)
		if w.Now() != 1050 || w.Len() != n {
			t.Errorf("Now is %d and Len is %d, want 1050 and %d", w.Now(), w.Len(), n)
		}
		for _, step := range []struct {
			now  Tick
			want []int
		}{{1000, []int{0}}, {1099, nil}, {1100, []int{1}}} {
			var got []int
			for _, v := range w.Advance(step.now) {
				got = append(got, v)
			}
			if !slices.Equal(got, step.want) {
				t.Errorf("Advance(%d) yields %v, want %v", step.now, got, step.want)
			}
		}
		wantSound(t, w)
	}
}

func TestRewindToALaterTickDoesNothing(t *testing.T) {
	w := New[int](100, 0)
	w.Schedule(200, 1)
	for _, now := range []Tick{100, 101, Never} {
		w.Rewind(now)
		if w.Now() != 100 {
			t.Errorf("Now is %d after Rewind(%d), want 100", w.Now(), now)
		}
	}
	var none *Wheel[int]
	none.Rewind(0)
}

// Each Rewind may leave nodes behind, a kilobyte each. Here every entry is armed before the others,
// and the wheel has moved to each of them.
func TestRewindLeavesFewNodesBehind(t *testing.T) {
	const n = 20_000
	for name, step := range map[string]Tick{"near": 3, "far": 1 << 35} {
		t.Run(name, func(t *testing.T) {
			w := New[int](1<<60, 0)
			for i := range n {
				arm(w, 1<<60-Tick(i)*step, i)
				arm(w, 1<<60-Tick(i)*step+1, i)
				if _, at, ok := first(w); !ok || at != 1<<60-Tick(i)*step {
					t.Fatalf("the first entry is at %d, %t", at, ok)
				}
			}
			wantSound(t, w)
			if used := len(w.nodes) - len(w.freeNodes); used > 2*n/mergeLimit {
				t.Errorf("%d nodes for %d entries", used, 2*n)
			}
		})
	}
}
