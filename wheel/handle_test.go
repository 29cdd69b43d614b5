package wheel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/wheel"
)

// wantStale checks that h names nothing in w, whichever way it is asked, and that asking changes nothing.
func wantStale[V comparable](t *testing.T, w *wheel.Wheel[V], h wheel.Handle) {
	t.Helper()
	var zero V
	before := w.Len()
	if at, v, ok := w.Lookup(h); at != 0 || v != zero || ok {
		t.Fatalf("Lookup(%#x) is %d, %v, %t", h, at, v, ok)
	}
	if p := w.Value(h); p != nil {
		t.Fatalf("Value(%#x) points to %v", h, *p)
	}
	if w.Park(h) {
		t.Fatalf("Park(%#x) is true", h)
	}
	if w.Reschedule(h, w.Now()) {
		t.Fatalf("Reschedule(%#x) is true", h)
	}
	if v, ok := w.Cancel(h); v != zero || ok {
		t.Fatalf("Cancel(%#x) is %v, %t", h, v, ok)
	}
	if w.Len() != before {
		t.Fatalf("Len went from %d to %d", before, w.Len())
	}
}

func TestTheZeroHandleNamesNothing(t *testing.T) {
	var w wheel.Wheel[string]
	wantStale(t, &w, 0)
	if h := w.Schedule(1, "a"); h == 0 {
		t.Fatal("Schedule returned the zero Handle")
	}
	wantStale(t, &w, 0)
}

func TestLookupTellsTickAndPayload(t *testing.T) {
	w := wheel.New[string](100, 0)
	for _, at := range []wheel.Tick{100, 101, 1 << 20, math.MaxUint64} {
		h := w.Schedule(at, "x")
		if got, v, ok := w.Lookup(h); got != at || v != "x" || !ok {
			t.Fatalf("Lookup is %d, %q, %t", got, v, ok)
		}
		for range w.Advance(at - 1) { // wherever the wheel has moved it
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
			t.Fatalf("Reschedule to %d is false", at)
		}
		if got, v, ok := w.Lookup(h); got != at || v != "x" || !ok || w.Len() != 1 {
			t.Fatalf("Lookup is %d, %q, %t, Len %d", got, v, ok, w.Len())
		}
	}
	if got := advance(&w, 5); !slices.Equal(got, []firing[string]{{5, "x"}}) {
		t.Fatalf("got %v", got)
	}
	wantStale(t, &w, h)
}

func TestAHandleIsStaleAfterCancelFireAndDrain(t *testing.T) {
	ends := map[string]func(w *wheel.Wheel[string], h wheel.Handle){
		"cancel": func(w *wheel.Wheel[string], h wheel.Handle) { w.Cancel(h) },
		"fire":   func(w *wheel.Wheel[string], _ wheel.Handle) { advance(w, 10) },
		"drain": func(w *wheel.Wheel[string], _ wheel.Handle) {
			for range w.Drain() {
			}
		},
		"park and cancel": func(w *wheel.Wheel[string], h wheel.Handle) { w.Park(h); w.Cancel(h) },
		"pop and cancel":  func(w *wheel.Wheel[string], h wheel.Handle) { w.Pop(10); w.Cancel(h) },
		"park, arm and fire": func(w *wheel.Wheel[string], h wheel.Handle) {
			w.Park(h)
			w.Reschedule(h, 12)
			advance(w, 12)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			w := wheel.New[string](0, 0)
			h := w.Schedule(10, "old")
			end(w, h)
			wantStale(t, w, h)
			other := w.Schedule(20, "new") // may live where the old one did
			wantStale(t, w, h)
			if at, v, ok := w.Lookup(other); at != 20 || v != "new" || !ok {
				t.Fatalf("Lookup of the new entry is %d, %q, %t", at, v, ok)
			}
		})
	}
}

// reuses is above 2^24, where a generation of 24 bits would come round; the race detector has no time for that.
const reuses = 17_000_000 - raceEnabled*15_000_000

func TestStaleHandlesAnswerFalseAfterMillionsOfReuses(t *testing.T) {
	w := wheel.New[uint32](0, 0)
	keep := w.Schedule(1<<40, 7)
	first := w.Schedule(1, 0)
	w.Cancel(first)
	old := []wheel.Handle{first} // of reuse 1, 2, 4, 8, …
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
			t.Fatalf("reuse %d: Cancel is false", i)
		}
	}
	w.Schedule(1, 2)
	for _, o := range old {
		wantStale(t, w, o)
	}
	if at, v, ok := w.Lookup(keep); at != 1<<40 || v != 7 || !ok {
		t.Fatalf("Lookup of a live entry is %d, %d, %t", at, v, ok)
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
			t.Fatalf("entry %d has a handle issued before, %#x", i, h)
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

func TestANumberNamesWhoeverHasItNow(t *testing.T) {
	w := wheel.New[string](0, 0)
	if h, at, v := w.Numbered(1); h != 0 || at != 0 || v != nil {
		t.Errorf("in an empty wheel number 1 is %#x, due at %d", h, at)
	}
	first := w.Schedule(7, "first")
	n := first.Number()
	if h, at, v := w.Numbered(n); h != first || at != 7 || *v != "first" {
		t.Errorf("number %d is %#x, %d, %q", n, h, at, *v)
	}
	w.Park(first)
	if h, at, v := w.Numbered(n); h != first || at != wheel.Never || *v != "first" {
		t.Errorf("parked, number %d is %#x, %d, %q", n, h, at, *v)
	}
	w.Cancel(first)
	if h, _, v := w.Numbered(n); h != 0 || v != nil {
		t.Errorf("nobody has number %d, and it is %#x", n, h)
	}
	second := w.Schedule(9, "second")
	if second.Number() != n {
		t.Fatal("the number is not used again, and the test shows nothing")
	}
	if h, at, v := w.Numbered(n); h != second || h == first || at != 9 || *v != "second" {
		t.Errorf("number %d is %#x, %d, %q", n, h, at, *v)
	}
	for _, n := range []uint32{0, n + 1, math.MaxUint32} {
		if h, _, v := w.Numbered(n); h != 0 || v != nil {
			t.Errorf("nobody has number %d, and it is %#x", n, h)
		}
	}
}

func TestForgedHandlesAnswerFalse(t *testing.T) {
	w := wheel.New[uint32](0, 0)
	live := make(map[wheel.Handle]bool)
	for i := range uint32(1000) {
		h := w.Schedule(wheel.Tick(i*i), i+1)
		if i%3 == 0 {
			w.Cancel(h) // leaves free slots behind
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
			t.Fatalf("Lookup(%#x) of a live entry is false", h)
		}
	}
	checkInvariants(t, w)
}

func TestAHandleOfAnotherWheelAnswersFalse(t *testing.T) {
	a, b := wheel.New[uint32](0, 0), new(wheel.Wheel[uint32])
	for i := range uint32(200) { // the same history: the same slots
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

func TestNilWheelReadsAsEmpty(t *testing.T) {
	var w *wheel.Wheel[string]
	if next, ok := w.Next(); w.Len() != 0 || w.Now() != 0 || next != 0 || ok {
		t.Errorf("Len %d, Now %d, Next %d, %t", w.Len(), w.Now(), next, ok)
	}
	other := wheel.New[string](0, 0).Schedule(1, "a")
	for _, h := range []wheel.Handle{0, 1, other} {
		wantStale(t, w, h)
	}
	for range w.Advance(100) {
		t.Error("Advance yields")
	}
	for range w.Drain() {
		t.Error("Drain yields")
	}
	for range w.All() {
		t.Error("All yields")
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
	if stale, removed := w.Stale(), w.Compact(math.MaxInt); stale != 0 || removed != 0 {
		t.Errorf("Stale %d, Compact %d", stale, removed)
	}
	wantPanic(t, func() { w.Schedule(1, "a") })
	wantPanic(t, func() { w.Reserve("a") })
}
