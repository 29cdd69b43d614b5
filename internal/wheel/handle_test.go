package wheel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/internal/wheel"
)

func TestTheZeroHandleIsStale(t *testing.T) {
	var w wheel.Wheel[string]
	wantStale(t, &w, 0)
	if h := w.Schedule(1, "a"); h == 0 {
		t.Fatal("Schedule returned the zero Handle")
	}
	wantStale(t, &w, 0)
}

func TestLookupReturnsTickAndValue(t *testing.T) {
	w := wheel.New[string](100, 0)
	for _, at := range []wheel.Tick{100, 101, 1 << 20, math.MaxUint64} {
		h := w.Schedule(at, "x")
		if got, v, ok := w.Lookup(h); got != at || v != "x" || !ok {
			t.Fatalf("Lookup is %d, %q, %t", got, v, ok)
		}
		for range w.Advance(at - 1) { // moves the entry down level by level
		}
		if got, v, ok := w.Lookup(h); at > 100 && (got != at || v != "x" || !ok) {
			t.Fatalf("Lookup a tick early is %d, %q, %t", got, v, ok)
		}
	}
}

func TestRescheduleKeepsTheHandle(t *testing.T) {
	var w wheel.Wheel[string]
	h := w.Schedule(10, "x")
	for _, at := range append(distances(), 5) {
		if !w.Reschedule(h, at) {
			t.Fatalf("Reschedule to %d returns false, want true", at)
		}
		if got, v, ok := w.Lookup(h); got != at || v != "x" || !ok || w.Len() != 1 {
			t.Fatalf("Lookup is %d, %q, %t, Len is %d", got, v, ok, w.Len())
		}
	}
	if got := advance(&w, 5); !slices.Equal(got, []item[string]{{5, "x"}}) {
		t.Fatalf("got %v, want %v", got, []item[string]{{5, "x"}})
	}
	wantStale(t, &w, h)
}

func TestAHandleIsStaleAfterCancelAdvanceAndDrain(t *testing.T) {
	removals := map[string]func(w *wheel.Wheel[string], h wheel.Handle){
		"cancel":  func(w *wheel.Wheel[string], h wheel.Handle) { w.Cancel(h) },
		"advance": func(w *wheel.Wheel[string], _ wheel.Handle) { advance(w, 10) },
		"drain": func(w *wheel.Wheel[string], _ wheel.Handle) {
			for range w.Drain() {
			}
		},
		"park and cancel": func(w *wheel.Wheel[string], h wheel.Handle) { w.Park(h); w.Cancel(h) },
		"pop and cancel":  func(w *wheel.Wheel[string], h wheel.Handle) { w.Pop(10); w.Cancel(h) },
		"park, arm and advance": func(w *wheel.Wheel[string], h wheel.Handle) {
			w.Park(h)
			w.Reschedule(h, 12)
			advance(w, 12)
		},
	}
	for name, remove := range removals {
		t.Run(name, func(t *testing.T) {
			w := wheel.New[string](0, 0)
			h := w.Schedule(10, "old")
			remove(w, h)
			wantStale(t, w, h)
			other := w.Schedule(20, "new") // may use the slot of the old one
			wantStale(t, w, h)
			if at, v, ok := w.Lookup(other); at != 20 || v != "new" || !ok {
				t.Fatalf("Lookup of the new entry is %d, %q, %t", at, v, ok)
			}
		})
	}
}

func TestHandlesStayStaleAfterMillionsOfReuses(t *testing.T) {
	testkit.SkipIfShort(t)
	const reuses = 17_000_000 // more than 2^24, after which a generation of 24 bits would repeat
	w := wheel.New[uint32](0, 0)
	keep := w.Schedule(1<<40, 7)
	first := w.Schedule(1, 0)
	w.Cancel(first)
	old := []wheel.Handle{first} // and those of reuse 1, 2, 4, 8, …
	for i := range reuses {
		h := w.Schedule(wheel.Tick(i&1023), 1)
		if h == first {
			t.Fatalf("reuse %d has the handle of the first entry", i)
		}
		if i&(i-1) == 0 {
			for _, o := range old {
				wantStale(t, w, o)
			}
			old = append(old, h)
		}
		if _, ok := w.Cancel(h); !ok {
			t.Fatalf("reuse %d: Cancel returns false, want true", i)
		}
	}
	w.Schedule(1, 2)
	for _, o := range old {
		wantStale(t, w, o)
	}
	if at, v, ok := w.Lookup(keep); at != 1<<40 || v != 7 || !ok {
		t.Fatalf("Lookup of an entry is %d, %d, %t", at, v, ok)
	}
}

func TestNoTwoEntriesEverShareAHandle(t *testing.T) {
	var w wheel.Wheel[uint32]
	rng := rand.New(rand.NewPCG(2, 2))
	seen := make(map[wheel.Handle]bool)
	var live []wheel.Handle
	for i := range 100_000 {
		h := w.Schedule(w.Now()+wheel.Tick(rng.IntN(2000)), uint32(i))
		if seen[h] {
			t.Fatalf("entry %d has a handle that was used before, %#x", i, h)
		}
		seen[h] = true
		if live = append(live, h); len(live) > 50 {
			w.Cancel(live[rng.IntN(len(live))])
			live = live[1:]
		}
		if i%100 == 0 {
			for range w.Advance(w.Now() + 50) {
			}
		}
	}
}

// The entries are recent, in buckets, and parked.
func TestCancelNumberedRemovesTheEntriesWithTheNumbers(t *testing.T) {
	for n := range 100 {
		w := wheel.New[int](0, 0)
		var numbers []uint32
		for i := range n {
			h := w.Schedule(wheel.Tick(100+i%7), i)
			if i%5 == 4 {
				w.Park(h)
			}
			if i%3 != 0 {
				numbers = append(numbers, wheel.Number(h))
			}
		}
		if got := w.CancelNumbered(append(numbers, 0, 1<<20)); got != len(numbers) {
			t.Fatalf("with %d entries: CancelNumbered is %d, want %d", n, got, len(numbers))
		}
		if got := w.CancelNumbered(numbers); got != 0 || w.Len() != n-len(numbers) {
			t.Fatalf("with %d entries: %d entries are removed the second time, and %d are left, want 0 and %d",
				n, got, w.Len(), n-len(numbers))
		}
		if err := wheel.CheckForTest(w); err != nil {
			t.Fatal(err)
		}
		for _, v := range w.Advance(1000) {
			if v%3 != 0 {
				t.Fatalf("with %d entries: entry %d is yielded", n, v)
			}
		}
	}
}

func TestNumberedReturnsTheCurrentEntryOfANumber(t *testing.T) {
	w := wheel.New[string](0, 0)
	if h, at, v := w.Numbered(1); h != 0 || at != 0 || v != nil {
		t.Errorf("in an empty wheel, entry number 1 is %#x, due at %d", h, at)
	}
	first := w.Schedule(7, "first")
	n := wheel.Number(first)
	if h, at, v := w.Numbered(n); h != first || at != 7 || *v != "first" {
		t.Errorf("entry number %d is %#x, %d, %q", n, h, at, *v)
	}
	w.Park(first)
	if h, at, v := w.Numbered(n); h != first || at != wheel.Never || *v != "first" {
		t.Errorf("the parked entry number %d is %#x, %d, %q", n, h, at, *v)
	}
	w.Cancel(first)
	if h, _, v := w.Numbered(n); h != 0 || v != nil {
		t.Errorf("no entry has number %d, but Numbered returns %#x", n, h)
	}
	second := w.Schedule(9, "second")
	if wheel.Number(second) != n {
		t.Fatal("the number is not used again, so the test checks nothing")
	}
	if h, at, v := w.Numbered(n); h != second || h == first || at != 9 || *v != "second" {
		t.Errorf("entry number %d is %#x, %d, %q", n, h, at, *v)
	}
	for _, n := range []uint32{0, n + 1, math.MaxUint32} {
		if h, _, v := w.Numbered(n); h != 0 || v != nil {
			t.Errorf("no entry has number %d, but Numbered returns %#x", n, h)
		}
	}
}

func TestForgedHandlesAreRejected(t *testing.T) {
	w := wheel.New[uint32](0, 0)
	live := make(map[wheel.Handle]bool)
	for i := range uint32(1000) {
		h := w.Schedule(wheel.Tick(i*i), i+1)
		if i%3 == 0 {
			w.Cancel(h) // so that there are free slots
			continue
		}
		live[h] = true
	}
	try := func(h wheel.Handle) {
		if !live[h] {
			wantStale(t, w, h)
		}
	}
	rng := rand.New(rand.NewPCG(6, 6))
	for h := range live {
		for bit := range 64 {
			try(h ^ 1<<bit)
			try(h & (1<<bit - 1))
			try(h >> bit << bit)
		}
		try(^h)
		try(-h)
		try(h + 1)
		try(h - 1)
		try(wheel.Handle(rng.Uint64()))
	}
	for i := range wheel.Handle(5000) {
		try(i)
		try(i << 32)
		try(math.MaxUint64 - i)
		try(i<<32 | 1)
	}
	for h := range live {
		if _, _, ok := w.Lookup(h); !ok {
			t.Fatalf("Lookup(%#x) of an entry returns false", h)
		}
	}
	wantSound(t, w)
}

func TestAHandleOfAnotherWheelIsRejected(t *testing.T) {
	a, b := wheel.New[uint32](0, 0), new(wheel.Wheel[uint32])
	for i := range uint32(200) { // both wheels use the same slots
		a.Schedule(wheel.Tick(i), i+1)
		b.Schedule(wheel.Tick(i), i+1)
	}
	for h := range a.All() {
		wantStale(t, b, h)
	}
	for h := range b.All() {
		wantStale(t, a, h)
	}
}

func TestANilWheelBehavesLikeAnEmptyOne(t *testing.T) {
	var w *wheel.Wheel[string]
	if next, ok := w.Next(); w.Len() != 0 || w.Now() != 0 || next != 0 || ok {
		t.Errorf("Len is %d, Now is %d, Next is %d, %t", w.Len(), w.Now(), next, ok)
	}
	other := wheel.New[string](0, 0).Schedule(1, "a")
	for _, h := range []wheel.Handle{0, 1, other} {
		wantStale(t, w, h)
	}
	for range w.Advance(100) {
		t.Error("Advance yields an entry")
	}
	for range w.Drain() {
		t.Error("Drain yields an entry")
	}
	for range w.All() {
		t.Error("All yields an entry")
	}
	if at, ok := w.Soonest(100); at != 0 || ok {
		t.Errorf("Soonest is %d, %t", at, ok)
	}
	if h, at, ok := w.Pop(100); h != 0 || at != 0 || ok {
		t.Errorf("Pop is %#x, %d, %t", h, at, ok)
	}
	if h, at, ok := w.Peek(100); h != 0 || at != 0 || ok {
		t.Errorf("Peek is %#x, %d, %t", h, at, ok)
	}
	if h, at, v := w.Numbered(1); h != 0 || at != 0 || v != nil {
		t.Errorf("Numbered is %#x, %d, %v", h, at, v)
	}
	if n := w.CancelNumbered([]uint32{0, 1}); n != 0 {
		t.Errorf("CancelNumbered is %d", n)
	}
	if stale, removed := w.Stale(), w.Compact(math.MaxInt); stale != 0 || removed != 0 {
		t.Errorf("Stale is %d, Compact is %d", stale, removed)
	}
	wantPanic(t, func() { w.Schedule(1, "a") })
	wantPanic(t, func() { w.Reserve("a") })
}
