package wheel_test

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	impl "github.com/foliot-go/foliot/internal/wheel"
	"github.com/foliot-go/foliot/wheel"
)

type pair struct {
	at wheel.Tick
	v  int
}

func collect(seq iter.Seq2[wheel.Tick, int], limit int) (got []pair) {
	for at, v := range seq {
		got = append(got, pair{at, v})
		if len(got) == limit {
			break
		}
	}
	return got
}

// The implementation has its own tests. This one checks that each method of the public Wheel does
// what the method of that name does there: both run the same program.
func TestTheWheelDoesWhatItsImplementationDoes(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		start := wheel.Tick(rng.Uint64() >> rng.UintN(64))
		w, want := wheel.New[int](start, 10), impl.New[int](start, 10)
		if w.Cap() != want.Cap() {
			t.Fatalf("Cap is %d, want %d", w.Cap(), want.Cap())
		}
		type handles struct{ got, want wheel.Handle }
		var all []handles
		equal := func(what string, got, want any) {
			t.Helper()
			if got != want {
				t.Fatalf("seed %d: %s is %v, want %v", seed, what, got, want)
			}
		}
		for i := range 2000 {
			at := w.Now() + wheel.Tick(rng.Uint64()>>(rng.UintN(44)+20))
			var h handles
			if len(all) > 0 {
				h = all[rng.IntN(len(all))]
			}
			switch rng.IntN(12) {
			case 0, 1, 2:
				all = append(all, handles{w.Schedule(at, i), want.Schedule(at, i)})
			case 3:
				all = append(all, handles{w.Reserve(i), want.Reserve(i)})
			case 4:
				equal("Reschedule", w.Reschedule(h.got, at), want.Reschedule(h.want, at))
			case 5:
				v, ok := w.Cancel(h.got)
				wantV, wantOK := want.Cancel(h.want)
				equal("Cancel", ok, wantOK)
				equal("the value of Cancel", v, wantV)
			case 6:
				equal("Park", w.Park(h.got), want.Park(h.want))
			case 7:
				to, limit := w.Now()+(at-w.Now())/8, rng.IntN(4)
				if got, want := collect(w.Advance(to), limit), collect(want.Advance(to), limit); !slices.Equal(got, want) {
					t.Fatalf("seed %d: Advance yields %v, want %v", seed, got, want)
				}
			case 8:
				to := w.Now() - min(w.Now(), 100)
				w.Rewind(to)
				want.Rewind(to)
			case 9:
				n := rng.IntN(3)
				equal("Trim", w.Trim(n), want.Trim(n))
			case 10:
				if rng.IntN(20) == 0 {
					if got, want := collect(w.Drain(), 3), collect(want.Drain(), 3); !slices.Equal(got, want) {
						t.Fatalf("seed %d: Drain yields %v, want %v", seed, got, want)
					}
				}
			case 11:
				got := w.Horizon(w.Now())
				spans := impl.Horizon(want.Spans(nil, want.Now()), want.Now())
				equal("the number of spans", len(got), len(spans))
				for i, s := range got {
					equal("a span", impl.Span(s), spans[i])
				}
			}
			at, v, ok := w.Lookup(h.got)
			wantAt, wantV, wantOK := want.Lookup(h.want)
			equal("Lookup", [3]any{at, v, ok}, [3]any{wantAt, wantV, wantOK})
			if p := w.Value(h.got); (p != nil) != ok || ok && *p != v {
				t.Fatalf("seed %d: Value is %v, want a pointer to %d", seed, p, v)
			}
			next, armed := w.Next()
			wantNext, wantArmed := want.Next()
			equal("Next", [2]any{next, armed}, [2]any{wantNext, wantArmed})
			equal("Now and Len", [2]any{w.Now(), w.Len()}, [2]any{want.Now(), want.Len()})
		}
		if got, want := slices.Sorted(maps.Values(maps.Collect(w.All()))), slices.Sorted(maps.Values(maps.Collect(want.All()))); !slices.Equal(got, want) {
			t.Fatalf("seed %d: All yields %v, want %v", seed, got, want)
		}
	}
}

func TestANilWheelIsEmpty(t *testing.T) {
	var w *wheel.Wheel[int]
	if _, ok := w.Next(); ok || w.Len() != 0 || w.Now() != 0 || w.Cap() != 0 || w.Trim(1) != 0 || w.Value(1) != nil || w.Horizon(0) != nil {
		t.Error("a nil wheel is not empty")
	}
	w.Rewind(1)
	_, ok := w.Cancel(1)
	_, _, found := w.Lookup(1)
	if ok || found || w.Park(1) || w.Reschedule(1, 1) || len(collect(w.Advance(9), 1)) != 0 || len(collect(w.Drain(), 1)) != 0 {
		t.Error("a nil wheel has an entry")
	}
	for range w.All() {
		t.Error("a nil wheel yields an entry")
	}
	defer func() {
		if recover() == nil {
			t.Error("Schedule on a nil wheel does not panic")
		}
	}()
	w.Schedule(1, 1)
}

func TestTheWheelDoesNotAllocateOnceThereIsRoom(t *testing.T) {
	w := wheel.New[int](0, 1000)
	n := 0
	if allocs := testing.AllocsPerRun(1000, func() {
		h := w.Schedule(w.Now()+70, 1)
		w.Reschedule(h, w.Now()+5000)
		w.Park(h)
		w.Reschedule(h, w.Now()+1)
		w.Lookup(h)
		*w.Value(h) = 2
		w.Next()
		for _, v := range w.Advance(w.Now() + 1) {
			n += v
		}
		w.Cancel(w.Reserve(1))
	}); allocs != 0 || n < 2000 {
		t.Errorf("%v allocations, want none; %d values were yielded", allocs, n/2)
	}
}
