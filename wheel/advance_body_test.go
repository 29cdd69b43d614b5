package wheel_test

import (
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/wheel"
)

// ten is a wheel with the entries 1 to 10 at the ticks 10 to 100, and one more at 1000.
func ten() (*wheel.Wheel[int], []wheel.Handle) {
	w := wheel.New[int](0, 0)
	handles := make([]wheel.Handle, 11)
	for i := 1; i <= 10; i++ {
		handles[i] = w.Schedule(wheel.Tick(10*i), i)
	}
	w.Schedule(1000, 1000)
	return w, handles
}

func TestInTheBodyTheYieldedEntryIsGone(t *testing.T) {
	w, handles := ten()
	left := w.Len()
	for _, v := range w.Advance(500) {
		left--
		if w.Len() != left {
			t.Fatalf("Len is %d, want %d", w.Len(), left)
		}
		if _, _, ok := w.Lookup(handles[v]); ok {
			t.Fatalf("Lookup finds %d", v)
		}
		if got, ok := w.Cancel(handles[v]); got != 0 || ok {
			t.Fatalf("Cancel of %d is %d, %t", v, got, ok)
		}
		if w.Reschedule(handles[v], 2000) {
			t.Fatalf("Reschedule of %d is true", v)
		}
		for h := range w.All() {
			if h == handles[v] {
				t.Fatalf("All yields %d", v)
			}
		}
	}
	if left != 1 {
		t.Fatalf("%d left, want 1", left)
	}
}

func TestInTheBodyNowIsTheTarget(t *testing.T) {
	w, _ := ten()
	for range w.Advance(500) {
		if w.Now() != 500 {
			t.Fatalf("Now is %d, want 500", w.Now())
		}
	}
}

func TestWhatTheBodyMakesDueWaitsForTheNextAdvance(t *testing.T) {
	w, handles := ten()
	for at, v := range w.Advance(500) {
		switch v {
		case 1:
			w.Schedule(0, 11)            // past
			w.Schedule(at+1, 12)         // between here and the target
			w.Schedule(500, 13)          // the target
			w.Reschedule(handles[5], 20) // was due in this pass
		case 2:
			w.Schedule(w.Now(), 14)
		case 5:
			t.Fatal("an entry armed anew in the body came in the same pass")
		}
		if v > 10 {
			t.Fatalf("%d, armed in the body, came in the same pass", v)
		}
		if next, ok := w.Next(); !ok || next > w.Now() {
			t.Fatalf("Next is %d, %t while something is due at %d", next, ok, w.Now())
		}
	}
	checkInvariants(t, w)
	want := []firing[int]{{500, 11}, {500, 12}, {500, 13}, {500, 5}, {500, 14}}
	if got := advance(w, 0); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestAnEntryThatArmsItselfForNowComesOncePerAdvance(t *testing.T) {
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

func TestTheBodyMayCancelOrPostponeWhatIsStillDue(t *testing.T) {
	w, handles := ten()
	var got []int
	for _, v := range w.Advance(100) {
		got = append(got, v)
		if v == 2 {
			if x, ok := w.Cancel(handles[3]); x != 3 || !ok {
				t.Fatalf("Cancel is %d, %t", x, ok)
			}
			if !w.Reschedule(handles[4], 101) || !w.Reschedule(handles[10], 101) {
				t.Fatal("Reschedule is false")
			}
		}
	}
	if want := []int{1, 2, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	checkInvariants(t, w)
	if got := advanceValues(w, 101); !slices.Equal(got, []int{4, 10}) {
		t.Fatalf("got %v", got)
	}
}

func TestTheBodyMayEmptyTheWheel(t *testing.T) {
	w, _ := ten()
	for _, v := range w.Advance(500) {
		if v != 1 {
			t.Fatalf("%d was cancelled", v)
		}
		for h := range w.All() {
			w.Cancel(h)
		}
		if next, ok := w.Next(); ok || w.Len() != 0 {
			t.Fatalf("Len %d, Next %d, %t", w.Len(), next, ok)
		}
	}
	checkInvariants(t, w)
}

// leavings are the ways out of a body before its time.
var leavings = map[string]func(w *wheel.Wheel[int], to wheel.Tick, n int){
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

// eachLeaving runs a subtest per way out; left after n entries of ten()'s, of which the nth is gone.
func eachLeaving(t *testing.T, f func(t *testing.T, leave func(w *wheel.Wheel[int], to wheel.Tick, n int))) {
	for name, leave := range leavings {
		t.Run(name, func(t *testing.T) { f(t, leave) })
	}
}

func TestBreakPanicAndGoexitLeaveTheWheelSound(t *testing.T) {
	eachLeaving(t, func(t *testing.T, leave func(*wheel.Wheel[int], wheel.Tick, int)) {
		for n := 1; n <= 10; n++ {
			w, handles := ten()
			leave(w, 100, n)
			checkInvariants(t, w)
			if w.Now() != 100 || w.Len() != 11-n {
				t.Fatalf("after %d: Now %d, Len %d", n, w.Now(), w.Len())
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

func TestBreakLeavesTheRestForTheNextAdvanceWhateverItsArgument(t *testing.T) {
	eachLeaving(t, func(t *testing.T, leave func(*wheel.Wheel[int], wheel.Tick, int)) {
		for _, to := range []wheel.Tick{0, 1, 45, 100, 101, 999} {
			w, handles := ten()
			leave(w, 100, 3)
			w.Schedule(50, 11) // past: counts as 100, after the entry that was armed for it
			w.Schedule(100, 12)
			w.Cancel(handles[6])
			w.Reschedule(handles[7], 0)
			want := []firing[int]{{40, 4}, {50, 5}, {80, 8}, {90, 9}, {100, 10}, {100, 11}, {100, 12}, {100, 7}}
			if got := advance(w, to); !slices.Equal(got, want) {
				t.Fatalf("Advance(%d): got %v, want %v", to, got, want)
			}
			if w.Now() != max(to, 100) {
				t.Fatalf("Now is %d", w.Now())
			}
		}
		w, _ := ten()
		leave(w, 100, 9)
		if got := advanceValues(w, math.MaxUint64); !slices.Equal(got, []int{10, 1000}) {
			t.Fatalf("got %v", got)
		}
	})
}

func TestBreakAmongManyCancelledLeavesTheWheelSound(t *testing.T) {
	const n, kept, fired = 9000, 3000, 2990
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
		if got++; got == fired {
			break
		}
	}
	checkInvariants(t, &w) // what is left is little, and so is what the wheel keeps for it
	want := []int{2990, 2991, 2992, 2993, 2994, 2995, 2996, 2997, 2998, 2999, 8995, 8996, 8997, 8998, 8999}
	if got := advanceValues(&w, 5); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestABudgetOfOneYieldsTheSameAsOnePass(t *testing.T) {
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
			t.Fatalf("pass %d: Len %d, want %d", pass, w.Len(), n-got)
		}
		if next, ok := w.Next(); ok && wheel.Tick(got/3*97) <= w.Now() && next > w.Now() {
			t.Fatalf("pass %d: Next is %d while something is due at %d", pass, next, w.Now())
		}
	}
	if got != n {
		t.Fatalf("%d of %d came", got, n)
	}
}

func TestNestedAdvanceAndDrainPanicAndLeaveTheWheelSound(t *testing.T) {
	calls := map[string]func(w *wheel.Wheel[int]) iter.Seq2[wheel.Tick, int]{
		"Advance": func(w *wheel.Wheel[int]) iter.Seq2[wheel.Tick, int] { return w.Advance(500) },
		"Drain":   func(w *wheel.Wheel[int]) iter.Seq2[wheel.Tick, int] { return w.Drain() },
	}
	for outer, ranged := range calls {
		for inner, nested := range calls {
			t.Run(inner+" in "+outer, func(t *testing.T) {
				w, _ := ten()
				var got []int
				for _, v := range ranged(w) {
					got = append(got, v)
					wantPanic(t, func() {
						for range nested(w) {
							t.Fatal("yielded")
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
				checkInvariants(t, w)
				w.Schedule(500, 7) // the next pass is one as ever
				if got := advanceValues(w, 500); !slices.Equal(got, []int{7}) {
					t.Fatalf("got %v", got)
				}
			})
		}
	}
}

// wantPanic checks that f panics with a text that says where it comes from.
func wantPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "wheel:") {
			t.Fatalf("panic %v, want one that begins with wheel:", p)
		}
	}()
	f()
}
