package wheel_test

import (
	"iter"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

func TestInTheBodyTheYieldedEntryIsRemoved(t *testing.T) {
	w, handles := newTenWheel()
	left := w.Len()
	for _, v := range w.Advance(500) {
		left--
		if w.Len() != left {
			t.Fatalf("Len is %d, want %d", w.Len(), left)
		}
		if _, _, ok := w.Lookup(handles[v]); ok {
			t.Fatalf("Lookup of the yielded entry %d returns true", v)
		}
		if got, ok := w.Cancel(handles[v]); got != 0 || ok {
			t.Fatalf("Cancel of %d returns %d, %t, want false", v, got, ok)
		}
		if w.Reschedule(handles[v], 2000) {
			t.Fatalf("Reschedule of %d returns true", v)
		}
		for h := range w.All() {
			if h == handles[v] {
				t.Fatalf("All yields %d, which was removed", v)
			}
		}
	}
	if left != 1 {
		t.Fatalf("%d entries are left, want 1", left)
	}
}

func TestInTheBodyNowIsTheTarget(t *testing.T) {
	w, _ := newTenWheel()
	for range w.Advance(500) {
		if w.Now() != 500 {
			t.Fatalf("Now is %d, want 500", w.Now())
		}
	}
}

func TestAnEntryThatTheBodyMakesDueWaitsForTheNextAdvance(t *testing.T) {
	w, handles := newTenWheel()
	for at, v := range w.Advance(500) {
		switch v {
		case 1:
			w.Schedule(0, 11)            // in the past
			w.Schedule(at+1, 12)         // between this entry and the target
			w.Schedule(500, 13)          // at the target
			w.Reschedule(handles[5], 20) // was due in this pass
		case 2:
			w.Schedule(w.Now(), 14)
		case 5:
			t.Fatal("an entry that the body armed again was yielded in the same pass")
		}
		if v > 10 {
			t.Fatalf("%d, armed in the body, was yielded in the same pass", v)
		}
		if next, ok := w.Next(); !ok || next > w.Now() {
			t.Fatalf("Next is %d, %t while an entry is due at %d", next, ok, w.Now())
		}
	}
	wantSound(t, w)
	want := []item[int]{{500, 11}, {500, 12}, {500, 13}, {500, 5}, {500, 14}}
	if got := advance(w, 0); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestAnEntryThatArmsItselfForNowIsYieldedOncePerAdvance(t *testing.T) {
	w := wheel.New[int](7, 0)
	w.Schedule(7, 0)
	for pass := range 100 {
		n := 0
		for at, v := range w.Advance(7) {
			n++
			w.Schedule(at, v+1)
			if v != pass {
				t.Fatalf("pass %d: got %d", pass, v)
			}
		}
		if n != 1 {
			t.Fatalf("pass %d: %d entries", pass, n)
		}
	}
}

func TestTheBodyMayCancelOrPostponeDueEntries(t *testing.T) {
	w, handles := newTenWheel()
	var got []int
	for _, v := range w.Advance(100) {
		got = append(got, v)
		if v == 2 {
			if x, ok := w.Cancel(handles[3]); x != 3 || !ok {
				t.Fatalf("Cancel returns %d, %t", x, ok)
			}
			if !w.Reschedule(handles[4], 101) || !w.Reschedule(handles[10], 101) {
				t.Fatal("Reschedule returns false, want true")
			}
		}
	}
	if want := []int{1, 2, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	wantSound(t, w)
	if got := advanceValues(w, 101); !slices.Equal(got, []int{4, 10}) {
		t.Fatalf("got %v, want %v", got, []int{4, 10})
	}
}

func TestTheBodyMayEmptyTheWheel(t *testing.T) {
	w, _ := newTenWheel()
	for _, v := range w.Advance(500) {
		if v != 1 {
			t.Fatalf("%d was yielded after its Cancel", v)
		}
		for h := range w.All() {
			w.Cancel(h)
		}
		if next, ok := w.Next(); ok || w.Len() != 0 {
			t.Fatalf("Len is %d, Next is %d, %t", w.Len(), next, ok)
		}
	}
	wantSound(t, w)
}

// An exitFunc ranges over Advance(to) and leaves the loop early, in the body for entry n.
type exitFunc func(w *wheel.Wheel[int], to wheel.Tick, n int)

var exits = map[string]exitFunc{
	"break": func(w *wheel.Wheel[int], to wheel.Tick, n int) {
		for range w.Advance(to) {
			if n--; n == 0 {
				break
			}
		}
	},
	"panic": func(w *wheel.Wheel[int], to wheel.Tick, n int) {
		defer func() { _ = recover() }()
		for range w.Advance(to) {
			if n--; n == 0 {
				panic("enough")
			}
		}
	},
	"Goexit": func(w *wheel.Wheel[int], to wheel.Tick, n int) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range w.Advance(to) {
				if n--; n == 0 {
					runtime.Goexit()
				}
			}
		}()
		<-done
	},
	"stop of a pull iterator": func(w *wheel.Wheel[int], to wheel.Tick, n int) {
		next, stop := iter.Pull2(w.Advance(to))
		for range n {
			next()
		}
		stop()
	},
}

// forEachExit runs f as a subtest for each way to leave the loop.
func forEachExit(t *testing.T, f func(t *testing.T, exit exitFunc)) {
	for name, exit := range exits {
		t.Run(name, func(t *testing.T) { f(t, exit) })
	}
}

func TestBreakPanicAndGoexitLeaveTheWheelSound(t *testing.T) {
	forEachExit(t, func(t *testing.T, exit exitFunc) {
		for n := 1; n <= 10; n++ {
			w, handles := newTenWheel()
			exit(w, 100, n)
			wantSound(t, w)
			if w.Now() != 100 || w.Len() != 11-n {
				t.Fatalf("after %d: Now is %d, Len is %d", n, w.Now(), w.Len())
			}
			for i := 1; i <= 10; i++ {
				if at, v, ok := w.Lookup(handles[i]); ok != (i > n) || ok && (at != wheel.Tick(10*i) || v != i) {
					t.Fatalf("after %d: Lookup of %d is %d, %d, %t", n, i, at, v, ok)
				}
			}
			if next, ok := w.Next(); !ok || n < 10 && next > 100 {
				t.Fatalf("after %d: Next is %d, %t", n, next, ok)
			}
		}
	})
}

func TestAfterBreakTheNextAdvanceWithAnyArgumentYieldsTheRest(t *testing.T) {
	forEachExit(t, func(t *testing.T, exit exitFunc) {
		for _, to := range []wheel.Tick{0, 1, 45, 100, 101, 999} {
			w, handles := newTenWheel()
			exit(w, 100, 3)
			w.Schedule(50, 11) // in the past: counts as 100, after the entry armed for it
			w.Schedule(100, 12)
			w.Cancel(handles[6])
			w.Reschedule(handles[7], 0)
			want := []item[int]{{40, 4}, {50, 5}, {80, 8}, {90, 9}, {100, 10}, {100, 11}, {100, 12}, {100, 7}}
			if got := advance(w, to); !slices.Equal(got, want) {
				t.Fatalf("Advance(%d): got %v, want %v", to, got, want)
			}
			if w.Now() != max(to, 100) {
				t.Fatalf("Now is %d", w.Now())
			}
		}
		w, _ := newTenWheel()
		exit(w, 100, 9)
		if got := advanceValues(w, math.MaxUint64); !slices.Equal(got, []int{10, 1000}) {
			t.Fatalf("got %v, want %v", got, []int{10, 1000})
		}
	})
}

func TestBreakAmongManyCancelledEntriesLeavesTheWheelSound(t *testing.T) {
	const n, kept, yielded = 9000, 3000, 2990
	var w wheel.Wheel[int]
	handles := make([]wheel.Handle, n)
	for i := range handles {
		handles[i] = w.Schedule(5, i)
	}
	for _, h := range handles[kept : n-5] {
		w.Cancel(h)
	}
	got := 0
	for range w.Advance(5) {
		if got++; got == yielded {
			break
		}
	}
	wantSound(t, &w) // few remaining entries must not keep many chunks
	want := []int{2990, 2991, 2992, 2993, 2994, 2995, 2996, 2997, 2998, 2999, 8995, 8996, 8997, 8998, 8999}
	if got := advanceValues(&w, 5); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestPassesOfOneEntryYieldTheSameAsOnePass(t *testing.T) {
	const n = 2000
	var w wheel.Wheel[int]
	handles := make([]wheel.Handle, n)
	for i := range handles {
		handles[i] = w.Schedule(wheel.Tick(i/3*97), i) // three per tick
	}
	got := 0
	for pass := range 3 * n {
		to := w.Now()
		if pass%2 == 0 {
			to = wheel.Tick(pass * 90)
		}
		for at, v := range w.Advance(to) {
			if v != got || at != wheel.Tick(v/3*97) {
				t.Fatalf("pass %d: got %d at %d, want %d", pass, v, at, got)
			}
			got++
			break
		}
		if w.Len() != n-got {
			t.Fatalf("pass %d: Len is %d, want %d", pass, w.Len(), n-got)
		}
		if next, ok := w.Next(); ok && wheel.Tick(got/3*97) <= w.Now() && next > w.Now() {
			t.Fatalf("pass %d: Next is %d while an entry is due at %d", pass, next, w.Now())
		}
	}
	if got != n {
		t.Fatalf("%d of %d entries were yielded", got, n)
	}
}

// passes are the two iterators that remove entries.
var passes = map[string]func(w *wheel.Wheel[int], now wheel.Tick) iter.Seq2[wheel.Tick, int]{
	"Advance": func(w *wheel.Wheel[int], now wheel.Tick) iter.Seq2[wheel.Tick, int] { return w.Advance(now) },
	"Drain":   func(w *wheel.Wheel[int], _ wheel.Tick) iter.Seq2[wheel.Tick, int] { return w.Drain() },
}

func TestNestedAdvanceAndDrainPanicAndLeaveTheWheelSound(t *testing.T) {
	for outer, outerPass := range passes {
		for inner, innerPass := range passes {
			t.Run(inner+" in "+outer, func(t *testing.T) {
				w, _ := newTenWheel()
				var got []int
				for _, v := range outerPass(w, 500) {
					got = append(got, v)
					wantPanic(t, func() {
						for range innerPass(w, 500) {
							t.Fatal("the nested pass yields an entry")
						}
					})
				}
				want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
				if outer == "Drain" {
					slices.Sort(got)
					want = append(want, 1000)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("got %v, want %v", got, want)
				}
				wantSound(t, w)
				w.Schedule(500, 7) // the next pass works normally
				if got := advanceValues(w, 500); !slices.Equal(got, []int{7}) {
					t.Fatalf("got %v, want %v", got, []int{7})
				}
			})
		}
	}
}
