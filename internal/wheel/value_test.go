package wheel_test

import (
	"math"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

func TestAValueWrittenThroughThePointerIsReadBack(t *testing.T) {
	reads := map[string]func(w *wheel.Wheel[string], h wheel.Handle) string{
		"Lookup": func(w *wheel.Wheel[string], h wheel.Handle) string { _, v, _ := w.Lookup(h); return v },
		"Value":  func(w *wheel.Wheel[string], h wheel.Handle) string { return *w.Value(h) },
		"Cancel": func(w *wheel.Wheel[string], h wheel.Handle) string { v, _ := w.Cancel(h); return v },
		"Advance": func(w *wheel.Wheel[string], h wheel.Handle) string {
			w.Reschedule(h, 10)
			return advanceValues(w, 10)[0]
		},
		"Pop": func(w *wheel.Wheel[string], h wheel.Handle) string {
			w.Reschedule(h, 10)
			h, _, _ = w.Pop(10)
			return *w.Value(h)
		},
		"Drain": func(w *wheel.Wheel[string], h wheel.Handle) (v string) {
			w.Reschedule(h, 10)
			for _, v = range w.Drain() {
			}
			return v
		},
		"All": func(w *wheel.Wheel[string], _ wheel.Handle) (v string) {
			for _, v = range w.All() {
			}
			return v
		},
	}
	for name, read := range reads {
		for _, park := range []bool{false, true} {
			var w wheel.Wheel[string]
			h := w.Schedule(10, "old")
			if park {
				w.Park(h)
			}
			if p := w.Value(h); p == nil || *p != "old" {
				t.Fatalf("%s, parked %t: Value does not point to the value", name, park)
			}
			*w.Value(h) = "new"
			if got := read(&w, h); got != "new" {
				t.Errorf("%s, parked %t: got %q", name, park, got)
			}
		}
	}
}

func TestInTheBodyValuesOfOtherEntriesMayBeWritten(t *testing.T) {
	w, handles := newTenWheel()
	var got []int
	for _, v := range w.Advance(30) {
		if got = append(got, v); w.Value(handles[v%1000]) != nil {
			t.Fatalf("Value of the yielded entry %d is not nil", v)
		}
		for i, h := range handles {
			if p := w.Value(h); p != nil {
				*p = i + 1000*len(got)
			}
		}
	}
	if want := []int{1, 1002, 2003}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// The pointer is valid until the next call that makes, arms or removes an entry. No other call
// may make it invalid.
func TestThePointerOfValueStaysValidDuringOtherCalls(t *testing.T) {
	w := wheel.New[int](0, 0)
	var handles []wheel.Handle
	for i := range 6000 {
		handles = append(handles, w.Schedule(1000+wheel.Tick(i), i))
	}
	for i, h := range handles {
		if i%3 > 0 {
			w.Cancel(h)
		}
	}
	p, q := w.Value(handles[0]), w.Value(handles[3000])
	others := map[string]func(){
		"Lookup, Next, Now, Len, Stale": func() { w.Lookup(handles[0]); w.Next(); w.Now(); w.Len(); w.Stale() },
		"All": func() {
			for range w.All() {
			}
		},
		"Advance with nothing due": func() { advance(w, w.Now()+1) },
		"Peek":                     func() { w.Peek(1000) },
		"Pop":                      func() { w.Pop(1000) },
		"Park":                     func() { w.Park(handles[3000]); w.Park(handles[300]) },
		"Compact":                  func() { w.Compact(math.MaxInt) },
		"Trim":                     func() { w.Trim(math.MaxInt) },
	}
	n := 10_000
	for name, f := range others {
		f()
		n++
		*p, *q = n, -n
		if _, v, _ := w.Lookup(handles[0]); v != n {
			t.Errorf("after %s: the value is %d, want %d", name, v, n)
		}
		if _, v, _ := w.Lookup(handles[3000]); v != -n {
			t.Errorf("after %s: the value is %d, want %d", name, v, -n)
		}
	}
	wantSound(t, w)
}
