package wheel_test

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

func TestPopParksTheFirstDueEntryAndReturnsItsHandleAndTick(t *testing.T) {
	w, handles := newTenWheel()
	for i := 1; i <= 5; i++ {
		h, at, ok := w.Pop(50)
		if h != handles[i] || at != wheel.Tick(10*i) || !ok {
			t.Fatalf("Pop is %#x, %d, %t, want %#x, %d, true", h, at, ok, handles[i], 10*i)
		}
		wantParked(t, w, h, i)
		if w.Now() != 50 || w.Len() != 11 {
			t.Fatalf("Now is %d, Len is %d", w.Now(), w.Len())
		}
		wantSound(t, w)
	}
	if h, at, ok := w.Pop(50); h != 0 || at != 0 || ok {
		t.Fatalf("Pop with nothing due is %#x, %d, %t", h, at, ok)
	}
	if next, ok := w.Next(); next <= 50 || next > 60 || !ok {
		t.Fatalf("Next is %d, %t", next, ok)
	}
}

func TestPopMovesNowLikeAdvance(t *testing.T) {
	w := wheel.New[int](10, 0)
	w.Schedule(1<<40, 1)
	for _, now := range []wheel.Tick{11, 64, 65, 1 << 39, 1<<40 - 1} {
		if _, _, ok := w.Pop(now); ok || w.Now() != now {
			t.Fatalf("Pop(%d) is %t, Now is %d", now, ok, w.Now())
		}
		w.Schedule(0, 2)
		if got := popAll(w, 3); !slices.Equal(got, []item[int]{{now, 2}}) || w.Now() != now {
			t.Fatalf("Pop with an earlier tick: got %v, Now is %d, want the entry that is due at %d",
				got, w.Now(), now)
		}
	}
	if got := popAll(w, math.MaxUint64); !slices.Equal(got, []item[int]{{1 << 40, 1}}) || w.Now() != math.MaxUint64 {
		t.Fatalf("got %v, Now is %d", got, w.Now())
	}
}

func TestNextIsExactInTheBlockOfNowAfterAdvanceAndPop(t *testing.T) {
	moves := map[string]func(w *wheel.Wheel[int], now wheel.Tick){
		"Advance": func(w *wheel.Wheel[int], now wheel.Tick) { advance(w, now) },
		"Pop":     func(w *wheel.Wheel[int], now wheel.Tick) { popAll(w, now) },
	}
	for name, move := range moves {
		for _, d := range distances() {
			w := wheel.New[int](0, 0)
			w.Schedule(math.MaxUint64, 1) // the wheel is not empty
			now := d &^ 63
			w.Schedule(now/2, 2)
			move(w, now)
			for at := addTick(now, 63); at > now; at-- {
				w.Schedule(at, 3)
				if next, ok := w.Next(); next != at || !ok {
					t.Fatalf("%s to %d: Next is %d, %t, want %d", name, now, next, ok, at)
				}
			}
		}
	}
}

func TestPopReturnsTheEntriesOfAdvanceInTheSameOrder(t *testing.T) {
	for _, n := range []int{1, 100, 20_000} {
		popped, advanced := newMixedWheel(n), newMixedWheel(n)
		for _, w := range []*wheel.Wheel[int]{popped, advanced} {
			for h, v := range w.All() { // leaves dead refs
				if v%5 == 0 {
					w.Park(h)
				}
			}
		}
		rng := rand.New(rand.NewPCG(16, uint64(n)))
		for now := popped.Now(); ; now = addTick(now, wheel.Tick(rng.Uint64()>>rng.IntN(64))) {
			got, want := popAll(popped, now), advance(advanced, now)
			if !slices.Equal(got, want) {
				t.Fatalf("of %d, at %d: %d popped, %d yielded by Advance, or in another order",
					n, now, len(got), len(want))
			}
			if now == math.MaxUint64 {
				break
			}
		}
		wantSound(t, popped)
		if popped.Len() != n || popped.Stale() != 0 {
			t.Fatalf("Len is %d of %d, Stale is %d", popped.Len(), n, popped.Stale())
		}
	}
}

func TestPopIsExactToTheTick(t *testing.T) {
	for now, at := range startsAndTargets() {
		w := wheel.New[int](now, 0)
		h := w.Schedule(at, 1)
		if _, got, ok := w.Pop(at - 1); ok {
			t.Fatalf("armed at %d for %d: popped a tick early, for %d", now, at, got)
		}
		if got, gotAt, ok := w.Pop(at); got != h || gotAt != at || !ok {
			t.Fatalf("armed at %d for %d: Pop is %#x, %d, %t", now, at, got, gotAt, ok)
		}
		wantSound(t, w)
	}
}

func TestAnEntryMadeDueBetweenTwoPopsIsPopped(t *testing.T) {
	w, handles := newTenWheel()
	w.Pop(30)                    // returns entry 1, at 10
	w.Reschedule(handles[1], 5)  // in the past: counts as 30, after 2 and 3
	a := w.Schedule(0, 11)       // likewise, after 1
	w.Reschedule(handles[9], 30) // after those
	w.Reschedule(handles[2], 31)
	want := []item[int]{{30, 3}, {30, 1}, {30, 11}, {30, 9}}
	for i, f := range want {
		h, at, ok := w.Pop(30)
		if !ok || at != f.at || *w.Value(h) != f.v {
			t.Fatalf("pop %d is %#x, %d, %t, want %v", i, h, at, ok, f)
		}
		if f.v == 3 { // due again at once: after all of them
			w.Reschedule(h, 30)
		}
	}
	if h, at, ok := w.Pop(30); h != handles[3] || at != 30 || !ok {
		t.Fatalf("Pop is %#x, %d, %t, want the entry that was armed for now", h, at, ok)
	}
	if _, _, ok := w.Pop(30); ok {
		t.Fatal("Pop returns an entry when none should be due")
	}
	wantParked(t, w, a, 11)
	if got := popAll(w, 31); !slices.Equal(got, []item[int]{{31, 2}}) {
		t.Fatalf("got %v, want %v", got, []item[int]{{31, 2}})
	}
}

func TestAnEntryArmedForNowManyTimesIsPoppedEachTime(t *testing.T) {
	w := wheel.New[int](7, 0)
	h := w.Schedule(7, 1)
	for i := range 10_000 { // its dead refs do not accumulate
		if got, at, ok := w.Pop(7); got != h || at != 7 || !ok {
			t.Fatalf("Pop %d is %#x, %d, %t", i, got, at, ok)
		}
		w.Reschedule(h, 7)
		if stale := w.Stale(); stale > 1000 {
			t.Fatalf("Stale is %d after %d rounds with one entry", stale, i)
		}
	}
	wantSound(t, w)
}

// Pop removes the full chunks at the front. The chain that remains, in which most refs are dead,
// must be compacted.
func TestPopAmongManyCancelledEntriesLeavesTheWheelSound(t *testing.T) {
	const full, sparse = 100 * 30, 700 * 30
	var w wheel.Wheel[int]
	var handles []wheel.Handle
	for i := range full + sparse {
		handles = append(handles, w.Schedule(5, i))
	}
	var rest []int
	for i := full; i < full+sparse; i++ {
		if i%30 > 0 {
			w.Cancel(handles[i])
			continue
		}
		rest = append(rest, i)
	}
	for i := range full {
		h, _, ok := w.Pop(5)
		if v, _ := w.Cancel(h); v != i || !ok {
			t.Fatalf("Pop %d is %d, %t", i, v, ok)
		}
	}
	wantSound(t, &w) // few remaining entries must not keep many chunks
	if got := advanceValues(&w, 5); !slices.Equal(got, rest) {
		t.Fatalf("%d of %d are left, or in another order", len(got), len(rest))
	}
}

func TestPeekReturnsTheNextEntryOfPopAndKeepsItArmed(t *testing.T) {
	for _, n := range []int{1, 100, 10_000} {
		w := newMixedWheel(n)
		for h, v := range w.All() { // leaves dead refs
			if v%3 == 0 {
				w.Park(h)
			}
		}
		for _, now := range []wheel.Tick{0, 1500, 2000, 3 << 20, 1 << 40, math.MaxUint64} {
			for {
				h, at, ok := w.Peek(now)
				if w.Now() != max(now, 1000) {
					t.Fatalf("Peek(%d): Now is %d", now, w.Now())
				}
				if again, atAgain, okAgain := w.Peek(0); again != h || atAgain != at || okAgain != ok {
					t.Fatalf("Peek is %#x, %d, %t, and the second time %#x, %d, %t",
						h, at, ok, again, atAgain, okAgain)
				}
				if armed, _, _ := w.Lookup(h); ok && armed != at {
					t.Fatalf("after Peek the entry is armed for %d, want %d", armed, at)
				}
				popped, atPopped, okPopped := w.Pop(now)
				if popped != h || atPopped != at || okPopped != ok {
					t.Fatalf("Peek is %#x, %d, %t, Pop is %#x, %d, %t",
						h, at, ok, popped, atPopped, okPopped)
				}
				if !ok {
					break
				}
			}
			wantSound(t, w)
		}
		if h, at, ok := w.Peek(0); h != 0 || at != 0 || ok || w.Len() != n {
			t.Fatalf("Peek with nothing due is %#x, %d, %t, Len is %d", h, at, ok, w.Len())
		}
	}
}

func TestAfterPeekTheEntryMayBeMovedParkedOrCancelled(t *testing.T) {
	w, handles := newTenWheel()
	for i, change := range []func(h wheel.Handle){
		func(h wheel.Handle) { w.Cancel(h) },
		func(h wheel.Handle) { w.Park(h) },
		func(h wheel.Handle) { w.Reschedule(h, 2000) },
		func(h wheel.Handle) { w.Reschedule(h, 0) }, // after everything that is due
	} {
		if h, at, ok := w.Peek(100); h != handles[i+1] || at != wheel.Tick(10*i+10) || !ok {
			t.Fatalf("Peek is %#x, %d, %t, want entry %d", h, at, ok, i+1)
		}
		change(handles[i+1])
		wantSound(t, w)
	}
	want := []item[int]{{50, 5}, {60, 6}, {70, 7}, {80, 8}, {90, 9}, {100, 10}, {100, 4}}
	if got := advance(w, 0); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestPopInTheBodyPanicsAndLeavesTheWheelSound(t *testing.T) {
	for name, pass := range passes {
		t.Run(name, func(t *testing.T) {
			w, _ := newTenWheel()
			n, now := 0, w.Now()
			if name == "Advance" {
				now = 100
			}
			for range pass(w, 100) {
				n++
				wantPanic(t, func() { w.Pop(500) })
				wantPanic(t, func() { w.Peek(500) })
				if w.Now() != now || w.Len() != 11-n {
					t.Fatalf("Now is %d, Len is %d after %d entries", w.Now(), w.Len(), n)
				}
				wantSound(t, w)
			}
			if want := map[string]int{"Advance": 10, "Drain": 11}[name]; n != want {
				t.Fatalf("%d entries were yielded, want %d", n, want)
			}
			h := w.Schedule(0, 7) // after the pass, Pop works normally
			if got, _, ok := w.Pop(now); got != h || !ok {
				t.Fatalf("Pop is %#x, %t", got, ok)
			}
		})
	}
	t.Run("a pull iterator that is not stopped", func(t *testing.T) {
		w, handles := newTenWheel()
		next, stop := iter.Pull2(w.Advance(100))
		next()
		wantPanic(t, func() { w.Pop(100) })
		stop()
		if h, _, ok := w.Pop(100); h != handles[2] || !ok {
			t.Fatalf("Pop is %#x, %t", h, ok)
		}
	})
}

// BenchmarkRepeat compares two ways to arm an entry again and again: Advance, which yields a
// value that must be scheduled again, and Pop, which keeps the entry.
func BenchmarkRepeat(b *testing.B) {
	for _, entries := range []int{100, 1_000_000} {
		filled := func() *wheel.Wheel[uint32] {
			w := wheel.New[uint32](0, entries)
			rng := rand.New(rand.NewPCG(18, 18))
			for i := range entries {
				w.Schedule(1+wheel.Tick(rng.IntN(3_600_000)), uint32(i))
			}
			return w
		}
		b.Run(fmt.Sprint("Advance, ", entries), func(b *testing.B) {
			w, left := filled(), b.N
			b.ResetTimer()
			for left > 0 {
				next, _ := w.Next()
				for at, v := range w.Advance(next) {
					w.Schedule(at+3_600_000, v)
					if left--; left == 0 {
						break
					}
				}
			}
		})
		b.Run(fmt.Sprint("Pop, ", entries), func(b *testing.B) {
			w, left := filled(), b.N
			b.ResetTimer()
			for left > 0 {
				next, _ := w.Next()
				for h, at, ok := w.Pop(next); ok && left > 0; h, at, ok = w.Pop(next) {
					w.Reschedule(h, at+3_600_000)
					left--
				}
			}
		})
	}
}

func TestPoppedReturnsTheTickOfAPoppedEntry(t *testing.T) {
	w := wheel.New[int](0, 0)
	h := w.Schedule(7, 1)
	w.Pop(10)
	for _, now := range []wheel.Tick{10, 1 << 40, math.MaxUint64} {
		w.Pop(now)
		if at := w.Popped(h); at != 7 {
			t.Fatalf("Popped at %d is %d, want 7", now, at)
		}
	}
	w.Cancel(h)
	if at := w.Popped(h); at != wheel.Never {
		t.Fatalf("Popped of a handle that names nothing is %d, want Never", at)
	}
}
