package wheel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

func TestParkReportsWhetherTheEntryWasArmed(t *testing.T) {
	w := wheel.New[string](100, 0)
	for _, at := range append(distances(), 0, 100) { // at every distance, and already due
		h := w.Schedule(at, "x")
		if !w.Park(h) {
			t.Fatalf("Park of an entry armed for %d returns false", at)
		}
		wantParked(t, w, h, "x")
		if w.Park(h) {
			t.Fatal("Park of a parked entry returns true")
		}
		wantParked(t, w, h, "x")
		w.Reschedule(h, at)
		if !w.Park(h) {
			t.Fatalf("Park of an entry armed again for %d returns false", at)
		}
		wantSound(t, w)
	}
}

func TestReserveMakesAParkedEntry(t *testing.T) {
	w := wheel.New[string](100, 0)
	w.Cancel(w.Schedule(200, "gone")) // Reserve probably uses its slot
	h := w.Reserve("x")
	if wantParked(t, w, h, "x"); h == 0 || w.Len() != 1 {
		t.Fatalf("Reserve is %#x, Len is %d", h, w.Len())
	}
	if next, ok := w.Next(); ok || w.Park(h) {
		t.Fatalf("the reserved entry is armed for %d", next)
	}
	if got := advance(w, 300); got != nil {
		t.Fatalf("got %v", got)
	}
	wantSound(t, w)
	if !w.Reschedule(h, 400) {
		t.Fatal("Reschedule returns false, want true")
	}
	if got := advance(w, 400); !slices.Equal(got, []item[string]{{400, "x"}}) {
		t.Fatalf("got %v, want %v", got, []item[string]{{400, "x"}})
	}
	wantStale(t, w, h)
	if v, ok := w.Cancel(w.Reserve("y")); v != "y" || !ok || w.Len() != 0 {
		t.Fatalf("Cancel is %q, %t, Len is %d", v, ok, w.Len())
	}
	wantSound(t, w)
}

func TestAWheelOfOnlyReservedEntriesIsSound(t *testing.T) {
	const n = 3000
	var w wheel.Wheel[int]
	handles := make([]wheel.Handle, n)
	for i := range handles {
		handles[i] = w.Reserve(i)
	}
	wantSound(t, &w)
	w.Trim(math.MaxInt)
	w.Compact(math.MaxInt)
	for i, h := range handles {
		wantParked(t, &w, h, i)
	}
	for i, h := range handles {
		w.Reschedule(h, wheel.Tick(n-i))
	}
	last := n
	for h, _, ok := w.Pop(n); ok; h, _, ok = w.Pop(n) {
		if last--; h != handles[last] {
			t.Fatalf("got %d, want %d", *w.Value(h), last)
		}
	}
	if last != 0 {
		t.Fatalf("%d entries were not popped", last)
	}
}

func TestAParkedEntryIsNotDueAtAnyTick(t *testing.T) {
	for _, now := range starts {
		w := wheel.New[int](now, 0)
		var handles []wheel.Handle
		for i, d := range distances() {
			handles = append(handles, w.Schedule(addTick(now, d), i))
		}
		for _, h := range handles {
			w.Park(h)
		}
		if next, ok := w.Next(); next != 0 || ok {
			t.Fatalf("Next is %d, %t with only parked entries", next, ok)
		}
		for _, to := range []wheel.Tick{now, addTick(now, 1), addTick(now, 1<<40), math.MaxUint64} {
			if got := advance(w, to); got != nil {
				t.Fatalf("Advance(%d) yields %v", to, got)
			}
			if h, at, ok := w.Pop(to); h != 0 || at != 0 || ok {
				t.Fatalf("Pop(%d) is %#x, %d, %t", to, h, at, ok)
			}
		}
		for range w.Drain() {
			t.Fatal("Drain yields a parked entry")
		}
		for i, h := range handles {
			wantParked(t, w, h, i)
		}
		wantSound(t, w)
	}
}

func TestLenCountsParkedEntriesAndAllRangesOverThem(t *testing.T) {
	var w wheel.Wheel[int]
	want := map[wheel.Handle]int{}
	for i := range 2000 {
		h := w.Schedule(wheel.Tick(i*i), i)
		if want[h] = i; i%3 == 0 {
			w.Park(h)
		}
	}
	wantAll(t, &w, want)
}

func TestParkedEntriesDoNotChangeTheOrderOfOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	w, same := wheel.New[int](0, 0), wheel.New[int](0, 0)
	var parked []wheel.Handle
	for i := range 20_000 {
		at := wheel.Tick(rng.IntN(100) << rng.IntN(20))
		h := w.Schedule(at, i)
		if rng.IntN(3) > 0 {
			same.Schedule(at, i)
			continue
		}
		parked = append(parked, h)
		if i%2 == 0 {
			w.Park(h)
		}
	}
	for _, h := range parked {
		w.Park(h) // those that were not parked right after Schedule
	}
	wantSound(t, w)
	if got, want := advance(w, math.MaxUint64), advance(same, math.MaxUint64); !slices.Equal(got, want) {
		t.Fatal("the armed entries are yielded in another order")
	}
	if w.Len() != len(parked) {
		t.Fatalf("Len is %d, want %d", w.Len(), len(parked))
	}
}

func TestDrainLeavesParkedEntriesParked(t *testing.T) {
	w := newMixedWheel(1000)
	want := map[wheel.Handle]int{}
	for h, v := range w.All() {
		if v%4 == 0 {
			w.Park(h)
			want[h] = v
		}
	}
	for _, v := range w.Drain() {
		if v%4 == 0 {
			t.Fatalf("Drain yields %d, which is parked", v)
		}
	}
	if w.Len() != len(want) {
		t.Fatalf("Len is %d, want %d", w.Len(), len(want))
	}
	for h, v := range want {
		wantParked(t, w, h, v)
	}
	wantSound(t, w)
}

func TestRescheduleArmsAParkedEntryAsTheLastOfItsTick(t *testing.T) {
	w := wheel.New[string](50, 0)
	a := w.Schedule(1000, "a")
	w.Park(a)
	w.Schedule(1000, "b")
	c := w.Schedule(60, "c")
	w.Park(c)
	if !w.Reschedule(a, 1000) || !w.Reschedule(c, 7) { // c for the past, which counts as now
		t.Fatal("Reschedule of a parked entry returns false")
	}
	w.Schedule(1000, "d")
	for h, want := range map[wheel.Handle]wheel.Tick{a: 1000, c: 50} {
		if at, _, ok := w.Lookup(h); at != want || !ok {
			t.Fatalf("Lookup is %d, %t, want %d", at, ok, want)
		}
	}
	want := []item[string]{{50, "c"}, {1000, "b"}, {1000, "a"}, {1000, "d"}}
	if got := advance(w, 1000); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	wantStale(t, w, a)
	wantStale(t, w, c)
}

func TestCancelRemovesAParkedEntry(t *testing.T) {
	var w wheel.Wheel[string]
	other := w.Schedule(10, "armed")
	h := w.Schedule(10, "parked")
	w.Park(h)
	if v, ok := w.Cancel(h); v != "parked" || !ok || w.Len() != 1 {
		t.Fatalf("Cancel of a parked entry is %q, %t, Len is %d", v, ok, w.Len())
	}
	wantStale(t, &w, h)
	w.Schedule(10, "new") // may use the slot of the parked one
	wantStale(t, &w, h)
	if _, v, ok := w.Lookup(other); v != "armed" || !ok {
		t.Fatalf("Lookup of another entry is %q, %t", v, ok)
	}
	wantSound(t, &w)
}

// Lookup returns Never for a parked entry. But Never is also the last tick, and an entry can be
// armed for it.
func TestAnEntryArmedForTheLastTickIsArmed(t *testing.T) {
	if wheel.Never != math.MaxUint64 {
		t.Fatalf("Never is %d", wheel.Never)
	}
	var w wheel.Wheel[int]
	armed, parked := w.Schedule(wheel.Never, 1), w.Schedule(wheel.Never, 2)
	w.Park(parked)
	if got := advance(&w, wheel.Never-1); got != nil {
		t.Fatalf("got %v a tick early", got)
	}
	if got := advance(&w, wheel.Never); !slices.Equal(got, []item[int]{{math.MaxUint64, 1}}) {
		t.Fatalf("got %v, want the entry for the last tick", got)
	}
	wantStale(t, &w, armed)
	wantParked(t, &w, parked, 2)
	w.Reschedule(parked, 0)
	if got := advance(&w, 0); !slices.Equal(got, []item[int]{{math.MaxUint64, 2}}) {
		t.Fatalf("got %v, want %v", got, []item[int]{{math.MaxUint64, 2}})
	}
}

func TestInTheBodyDueEntriesMayBeParked(t *testing.T) {
	w, handles := newTenWheel()
	var got []int
	for _, v := range w.Advance(100) {
		got = append(got, v)
		if w.Park(handles[v]) {
			t.Fatalf("Park of %d, which is being yielded, returns true", v)
		}
		if v == 2 {
			for _, i := range []int{3, 4, 10} {
				if !w.Park(handles[i]) {
					t.Fatalf("Park of %d returns false", i)
				}
			}
			w.Reschedule(handles[4], 40) // due at once, so it waits for the next Advance
		}
		wantSound(t, w)
	}
	if want := []int{1, 2, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	wantParked(t, w, handles[3], 3)
	wantParked(t, w, handles[10], 10)
	if got := advance(w, 0); !slices.Equal(got, []item[int]{{100, 4}}) {
		t.Fatalf("got %v, want %v", got, []item[int]{{100, 4}})
	}
}

func TestInTheBodyAllOtherEntriesMayBeParked(t *testing.T) {
	for name, pass := range passes {
		// The sizes are for one chunk, a few chunks, and a bucket below split branches.
		for _, n := range []int{2, 40, 5000} {
			w := wheel.New[int](0, 0)
			for i := range n {
				w.Schedule(5, i)
			}
			yields := 0
			for range pass(w, 5) {
				yields++
				for h := range w.All() {
					w.Park(h)
				}
				if next, ok := w.Next(); ok || w.Len() != n-1 {
					t.Fatalf("%s of %d: Next is %d, %t, Len is %d", name, n, next, ok, w.Len())
				}
				wantSound(t, w)
			}
			if yields != 1 || w.Len() != n-1 || w.Stale() != 0 {
				t.Fatalf("%s of %d: %d yields, Len is %d, Stale is %d",
					name, n, yields, w.Len(), w.Stale())
			}
		}
	}
}

func TestInTheBodyOfAllEntriesMayBeParked(t *testing.T) {
	w := newMixedWheel(3000)
	seen := map[wheel.Handle]bool{}
	for h := range w.All() {
		if seen[h] {
			t.Fatalf("All yields %#x twice", h)
		}
		seen[h] = true
		if w.Park(h); len(seen)%2 == 0 {
			w.Reschedule(h, 5000)
		}
	}
	if len(seen) != 3000 || w.Len() != 3000 {
		t.Fatalf("All yields %d entries, Len is %d", len(seen), w.Len())
	}
	wantSound(t, w)
	if got := advance(w, math.MaxUint64); len(got) != 1500 {
		t.Fatalf("%d entries are yielded, want the 1500 that were armed again", len(got))
	}
}

func TestTrimKeepsParkedEntries(t *testing.T) {
	const n = 20_000
	w := wheel.New[int](0, 0)
	handles := make([]wheel.Handle, n)
	for i := range handles {
		handles[i] = w.Schedule(1<<30+wheel.Tick(i), i)
	}
	for i, h := range handles {
		if w.Park(h); i%2000 > 0 {
			w.Cancel(h)
		}
	}
	if released := w.Trim(math.MaxInt); released == 0 {
		t.Fatal("Trim releases nothing, so the test checks nothing")
	}
	wantSound(t, w)
	for i := 0; i < n; i += 2000 {
		wantParked(t, w, handles[i], i)
		w.Reschedule(handles[i], wheel.Tick(n-i))
	}
	last := n
	for at, v := range w.Advance(n) {
		if v >= last || at != wheel.Tick(n-v) {
			t.Fatalf("got %d at %d after %d", v, at, last)
		}
		last = v
	}
	if last != 0 || w.Len() != 0 {
		t.Fatalf("the last entry was %d, Len is %d", last, w.Len())
	}
}
