package wheel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

func TestZeroValueIsReady(t *testing.T) {
	var w wheel.Wheel[string]
	if w.Now() != 0 || w.Len() != 0 {
		t.Fatalf("Now is %d, Len is %d, want 0, 0", w.Now(), w.Len())
	}
	if at, ok := w.Next(); at != 0 || ok {
		t.Fatalf("Next is %d, %t, want 0, false", at, ok)
	}
	for range w.Advance(0) {
		t.Fatal("an empty wheel yields an entry")
	}
	w.Schedule(7, "seven")
	if got := advance(&w, 7); !slices.Equal(got, []item[string]{{7, "seven"}}) {
		t.Fatalf("got %v, want %v", got, []item[string]{{7, "seven"}})
	}
	wantSound(t, &w)
}

func TestNewWheelIsEmptyAtItsTick(t *testing.T) {
	for _, now := range starts {
		w := wheel.New[int](now, 100)
		if _, ok := w.Next(); w.Now() != now || w.Len() != 0 || ok {
			t.Errorf("New(%d): Now is %d, Len is %d, Next is %t", now, w.Now(), w.Len(), ok)
		}
	}
}

func TestNegativeCapacityIsZero(t *testing.T) {
	for _, capacity := range []int{0, -1, math.MinInt} {
		w := wheel.New[int](5, capacity)
		w.Schedule(6, 1)
		if got := advanceValues(w, 6); !slices.Equal(got, []int{1}) {
			t.Errorf("capacity %d: got %v, want %v", capacity, got, []int{1})
		}
	}
}

func TestAnEntryIsYieldedByTheFirstAdvanceThatReachesItsTick(t *testing.T) {
	for now, at := range startsAndTargets() {
		w := wheel.New[int](now, 0)
		w.Schedule(at, 1)
		// Each stop halves the distance, so that the entry moves down level by level.
		for left := at - now; left > 1; left /= 2 {
			if got := advance(w, at-left/2); got != nil {
				t.Fatalf("armed at %d for %d: got %v at %d", now, at, got, at-left/2)
			}
		}
		if got := advance(w, at-1); got != nil {
			t.Fatalf("armed at %d for %d: got %v a tick early", now, at, got)
		}
		if got := advance(w, at); !slices.Equal(got, []item[int]{{at, 1}}) {
			t.Fatalf("armed at %d for %d: got %v, want %v", now, at, got, []item[int]{{at, 1}})
		}
		wantSound(t, w)
	}
}

func TestOneAdvanceYieldsEverythingThatItPasses(t *testing.T) {
	for _, now := range starts {
		w := wheel.New[int](now, 0)
		var want []item[int]
		for i, d := range distances() {
			if d <= math.MaxUint64-now {
				w.Schedule(now+d, i)
				want = append(want, item[int]{now + d, i})
			}
		}
		if got := advance(w, math.MaxUint64); !slices.Equal(got, want) {
			t.Fatalf("from %d: got %v, want %v", now, got, want)
		}
		if w.Now() != math.MaxUint64 || w.Len() != 0 {
			t.Fatalf("Now is %d, Len is %d after Advance to the last tick", w.Now(), w.Len())
		}
		wantSound(t, w)
	}
}

func TestTheWheelWorksAtTheLastTick(t *testing.T) {
	w := wheel.New[int](math.MaxUint64, 0)
	w.Schedule(math.MaxUint64, 1)
	w.Schedule(0, 2)
	for at, v := range w.Advance(0) {
		if v == 1 {
			w.Schedule(math.MaxUint64, 3)
		}
		if at != math.MaxUint64 || v == 3 {
			t.Fatalf("got %d, %d", at, v)
		}
	}
	if got := advanceValues(w, math.MaxUint64); !slices.Equal(got, []int{3}) {
		t.Fatalf("got %v, want %v", got, []int{3})
	}
}

func TestEntriesOfOneTickAreYieldedInArmingOrderAfterCascadesAndCancels(t *testing.T) {
	for _, at := range []wheel.Tick{64, 100, 4096, 1 << 18, 1<<30 + 17, 1<<63 + 5} {
		var w wheel.Wheel[int]
		rng := rand.New(rand.NewPCG(1, uint64(at)))
		handles := map[int]wheel.Handle{}
		var order, others []int // entries for at, in arming order; entries for later ticks
		take := func(from *[]int) int {
			i := rng.IntN(len(*from))
			v := (*from)[i]
			*from = slices.Delete(*from, i, i+1)
			return v
		}
		for n := 0; at-w.Now() > 1; {
			for range 40 {
				n++
				switch {
				case n%4 == 0:
					handles[n] = w.Schedule(at+1+wheel.Tick(rng.IntN(500)), n)
					others = append(others, n)
				case n%5 == 0 && len(others) > 0: // moved to an earlier tick
					v := take(&others)
					w.Reschedule(handles[v], at)
					order = append(order, v)
				case n%7 == 0 && len(order) > 0: // armed again: now the last of its tick
					v := take(&order)
					w.Reschedule(handles[v], at)
					order = append(order, v)
				case n%3 == 0 && len(order) > 0:
					w.Cancel(handles[take(&order)])
				default:
					handles[n] = w.Schedule(at, n)
					order = append(order, n)
				}
			}
			// Closer to at each time, so that entries armed later start on lower levels.
			if got := advance(&w, w.Now()+(at-w.Now())/2); got != nil {
				t.Fatalf("got %v before %d", got, at)
			}
			wantSound(t, &w)
		}
		if got := advanceValues(&w, at); !slices.Equal(got, order) {
			t.Fatalf("at %d: got %v, want %v", at, got, order)
		}
	}
}

func TestAfterRescheduleAnEntryIsTheLastOfItsTick(t *testing.T) {
	var w wheel.Wheel[string]
	a := w.Schedule(1000, "a")
	w.Schedule(1000, "b")
	c := w.Schedule(5, "c")
	w.Schedule(1000, "d")
	if !w.Reschedule(a, 1000) || !w.Reschedule(c, 1000) {
		t.Fatal("Reschedule of an entry returns false")
	}
	if got := advanceValues(&w, 1000); !slices.Equal(got, []string{"b", "d", "a", "c"}) {
		t.Fatalf("got %v, want %v", got, []string{"b", "d", "a", "c"})
	}
}

func TestATickInThePastCountsAsNow(t *testing.T) {
	w := wheel.New[string](1000, 0)
	a := w.Schedule(1000, "now")
	b := w.Schedule(3, "long ago")
	c := w.Schedule(999, "just past")
	d := w.Schedule(5000, "later")
	w.Reschedule(d, 0)
	for _, h := range []wheel.Handle{a, b, c, d} {
		if at, _, ok := w.Lookup(h); at != 1000 || !ok {
			t.Fatalf("Lookup is %d, %t, want 1000, true", at, ok)
		}
	}
	want := []item[string]{{1000, "now"}, {1000, "long ago"}, {1000, "just past"}, {1000, "later"}}
	if got := advance(w, 1000); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestAdvanceToAnEarlierTickYieldsOnlyDueEntries(t *testing.T) {
	w := wheel.New[string](1000, 0)
	w.Schedule(1001, "not yet")
	w.Schedule(7, "due")
	if got := advanceValues(w, 999); !slices.Equal(got, []string{"due"}) {
		t.Fatalf("got %v, want %v", got, []string{"due"})
	}
	if w.Now() != 1000 {
		t.Fatalf("Now is %d after Advance to an earlier tick", w.Now())
	}
	if got := advanceValues(w, 0); got != nil {
		t.Fatalf("got %v", got)
	}
}

func TestAdvanceHasNoEffectBeforeItIsRangedOver(t *testing.T) {
	w := wheel.New[int](10, 0)
	w.Schedule(11, 1)
	seq := w.Advance(20)
	if w.Now() != 10 || w.Len() != 1 {
		t.Fatalf("before the loop: Now is %d, Len is %d", w.Now(), w.Len())
	}
	w.Schedule(12, 2)
	for range 2 { // the second loop is like a second call
		var got []int
		for _, v := range seq {
			got = append(got, v)
		}
		if !slices.Equal(got, []int{1, 2}) {
			t.Fatalf("got %v, want %v", got, []int{1, 2})
		}
		w.Schedule(13, 1)
		w.Schedule(14, 2)
	}
}

func TestAdvanceWithNothingDueMovesNow(t *testing.T) {
	w := wheel.New[int](0, 0)
	w.Schedule(1<<40, 1)
	for _, now := range []wheel.Tick{1, 2, 64, 65, 1 << 39, 1<<40 - 1} {
		if got := advance(w, now); got != nil || w.Now() != now {
			t.Fatalf("Advance(%d): got %v, Now is %d", now, got, w.Now())
		}
	}
}

func TestAdvanceSkipsLongTimesWithoutEntries(t *testing.T) {
	var w wheel.Wheel[int]
	w.Schedule(math.MaxUint64, 1) // the wheel is not empty
	const century = 100 * 365 * 24 * 3600 * 1_000_000_000
	for i := range wheel.Tick(5) { // a wheel that visits each tick would take too long
		w.Schedule((i+1)*century, 2)
		if got := advance(&w, (i+1)*century-1); got != nil {
			t.Fatalf("century %d: got %v a tick early", i, got)
		}
		if got := advance(&w, (i+1)*century); !slices.Equal(got, []item[int]{{(i + 1) * century, 2}}) {
			t.Fatalf("century %d: got %v, want %v", i, got, []item[int]{{(i + 1) * century, 2}})
		}
	}
	if got := advance(&w, math.MaxUint64); !slices.Equal(got, []item[int]{{math.MaxUint64, 1}}) {
		t.Fatalf("got %v, want %v", got, []item[int]{{math.MaxUint64, 1}})
	}
}

func TestManyEntriesOfOneTickAreYieldedInArmingOrder(t *testing.T) {
	const n = 100_000
	for _, at := range []wheel.Tick{1, 50, 3_000, 5_000_000, 1 << 50} {
		var w wheel.Wheel[int32]
		for i := range int32(n) {
			w.Schedule(at, i)
		}
		if got := advance(&w, at-1); got != nil {
			t.Fatalf("%d entries were yielded before %d", len(got), at)
		}
		var i int32
		for got, v := range w.Advance(at) {
			if got != at || v != i {
				t.Fatalf("got entry %d at %d, want entry %d", v, got, i)
			}
			i++
		}
		if i != n || w.Len() != 0 {
			t.Fatalf("%d entries were yielded, %d are left", i, w.Len())
		}
	}
}

func TestAllYieldsEveryEntryOnce(t *testing.T) {
	w := wheel.New[int](100, 0)
	for range w.All() {
		t.Fatal("All of an empty wheel yields an entry")
	}
	want := map[wheel.Handle]int{w.Schedule(0, -1): -1} // due already
	for i, d := range distances() {
		want[w.Schedule(d, i)] = i
	}
	wantAll(t, w, want)
	for range w.All() {
		break
	}
	wantSound(t, w)
}

func TestInTheBodyOfAllEntriesMayBeCancelled(t *testing.T) {
	for _, what := range []string{"itself", "others", "all the rest"} {
		t.Run(what, func(t *testing.T) {
			var w wheel.Wheel[int]
			handles := make([]wheel.Handle, 3000)
			for i := range handles {
				handles[i] = w.Schedule(wheel.Tick(i*i), i)
			}
			gone, seen := make([]bool, len(handles)), make([]bool, len(handles))
			cancel := func(i int) {
				if _, ok := w.Cancel(handles[i]); ok == gone[i] {
					t.Fatalf("Cancel of %d is %t", i, ok)
				}
				gone[i] = true
			}
			for h, v := range w.All() {
				if gone[v] || seen[v] || handles[v] != h {
					t.Fatalf("All yields %d: cancelled %t, seen %t", v, gone[v], seen[v])
				}
				seen[v] = true
				switch what {
				case "itself":
					cancel(v)
				case "others":
					cancel((v + 1) % len(handles))
					cancel((v + 1500) % len(handles))
				case "all the rest":
					for i := range handles {
						cancel(i)
					}
				}
			}
			left := 0
			for i := range handles {
				if !gone[i] {
					left++
				}
				if !gone[i] && !seen[i] {
					t.Fatalf("All does not yield %d", i)
				}
			}
			if w.Len() != left {
				t.Fatalf("Len is %d, want %d", w.Len(), left)
			}
			wantSound(t, &w)
		})
	}
}
