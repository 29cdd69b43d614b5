package wheel_test

import (
	"testing"

	"github.com/foliot-go/foliot/internal/wheel"
)

// wantNoAllocs calls f 5000 times to warm up. Another 5000 calls must not allocate. AllocsPerRun
// rounds the average down, so these calls are one run. It counts what the whole process allocates,
// so one of three attempts is enough.
func wantNoAllocs(t *testing.T, name string, f func()) {
	t.Helper()
	n := 0.0
	for range 3 {
		n = testing.AllocsPerRun(1, func() {
			for range 5000 {
				f()
			}
		})
		if n == 0 {
			return
		}
	}
	t.Errorf("%s: %v allocations in 5000 calls, want none", name, n)
}

func TestWarmOperationsDoNotAllocate(t *testing.T) {
	t.Run("uint32", func(t *testing.T) { checkAllocs(t, uint32(7)) })
	t.Run("pointer", func(t *testing.T) { checkAllocs(t, new(int)) })
}

func checkAllocs[V comparable](t *testing.T, v V) {
	w := wheel.New[V](0, 0)
	var handles []wheel.Handle
	for i := range 1000 { // other entries, at all distances
		handles = append(handles, w.Schedule(1<<41+wheel.Tick(i)<<(i%20), v))
	}
	far := func(i int) wheel.Tick { return w.Now() + 1 + wheel.Tick(i%37)<<(i%24) }
	i := 0

	wantNoAllocs(t, "Schedule and Cancel", func() {
		i++
		if _, ok := w.Cancel(w.Schedule(far(i), v)); !ok {
			t.Fatal("Cancel returns false, want true")
		}
	})
	numbers := make([]uint32, 40)
	wantNoAllocs(t, "Schedule and CancelNumbered", func() {
		for k := range numbers {
			numbers[k] = wheel.Number(w.Schedule(far(k), v))
		}
		if n := w.CancelNumbered(numbers); n != len(numbers) {
			t.Fatalf("CancelNumbered is %d, want %d", n, len(numbers))
		}
	})
	wantNoAllocs(t, "Reschedule", func() {
		i++
		if !w.Reschedule(handles[i%1000], 1<<41+far(i)) {
			t.Fatal("Reschedule returns false, want true")
		}
	})
	wantNoAllocs(t, "Park and Reschedule", func() {
		i++
		if h := handles[i%1000]; !w.Park(h) || !w.Reschedule(h, 1<<41+far(i)) {
			t.Fatal("Park or Reschedule returns false, want true")
		}
	})
	wantNoAllocs(t, "Schedule, Park and Cancel", func() {
		i++
		h := w.Schedule(far(i), v)
		w.Park(h)
		if _, ok := w.Cancel(h); !ok {
			t.Fatal("Cancel returns false, want true")
		}
	})
	wantNoAllocs(t, "Reserve, Reschedule and Cancel", func() {
		i++
		h := w.Reserve(v)
		w.Reschedule(h, far(i))
		if _, ok := w.Cancel(h); !ok {
			t.Fatal("Cancel returns false, want true")
		}
	})
	wantNoAllocs(t, "Value", func() {
		i++
		if p := w.Value(handles[i%1000]); p == nil || *p != v {
			t.Fatal("Value is wrong")
		}
	})
	wantNoAllocs(t, "Stale and Compact", func() {
		i++
		w.Reschedule(handles[i%1000], 1<<41)
		if before := w.Stale(); before-w.Compact(10) != w.Stale() {
			t.Fatal("Stale or Compact is wrong")
		}
	})
	wantNoAllocs(t, "Lookup", func() {
		i++
		if _, got, ok := w.Lookup(handles[i%1000]); !ok || got != v {
			t.Fatal("Lookup returns false, want true")
		}
	})
	wantNoAllocs(t, "Next, Soonest, Now and Len", func() {
		if next, ok := w.Next(); !ok || next < w.Now() || w.Len() != 1000 {
			t.Fatal("Next is wrong")
		}
		if at, ok := w.Soonest(1000); !ok || at < w.Now() {
			t.Fatal("Soonest is wrong")
		}
	})
	wantNoAllocs(t, "Schedule and Advance", func() {
		yielded := 0
		for k := range 5 {
			w.Schedule(w.Now()+1+wheel.Tick(k%3), v)
		}
		for at, got := range w.Advance(w.Now() + 3) {
			if yielded++; at > w.Now() || got != v {
				t.Fatalf("got %d, %v", at, got)
			}
		}
		if yielded != 5 {
			t.Fatalf("%d entries were yielded, want 5", yielded)
		}
	})
	wantNoAllocs(t, "Schedule, Peek, Pop, Reschedule, Pop and Cancel", func() {
		i++
		at := w.Now() + 1 + wheel.Tick(i%3)
		first := w.Schedule(at, v)
		w.Schedule(at, v)
		if h, _, ok := w.Peek(at); h != first || !ok {
			t.Fatalf("Peek is %#x, %t", h, ok)
		}
		h, got, ok := w.Pop(at)
		if h != first || got != at || !ok || !w.Reschedule(h, at) {
			t.Fatalf("Pop is %#x, %d, %t", h, got, ok)
		}
		for range 2 {
			h, _, _ := w.Pop(at)
			if _, ok := w.Cancel(h); !ok {
				t.Fatal("Cancel returns false, want true")
			}
		}
		if _, _, ok := w.Pop(at); ok || w.Len() != 1000 {
			t.Fatalf("Pop is %t, Len is %d", ok, w.Len())
		}
	})
	wantNoAllocs(t, "Rewind, Schedule, Peek and Cancel", func() {
		i++
		now := w.Now()
		w.Rewind(now - min(now, far(i)-now))
		h := w.Schedule(w.Now(), v)
		if first, _, ok := w.Peek(now); first != h || !ok {
			t.Fatalf("Peek is %#x, %t", first, ok)
		}
		w.Cancel(h)
	})
	wantNoAllocs(t, "Pop through cascades", func() {
		i++
		w.Schedule(far(i), v)
		for steps := 0; w.Len() > 1000 && steps < maxSteps; steps++ {
			next, _ := w.Next()
			if h, _, ok := w.Pop(next); ok {
				w.Cancel(h)
			}
		}
		if w.Len() != 1000 {
			t.Fatalf("Len is %d, want 1000", w.Len())
		}
	})
	wantNoAllocs(t, "Advance through cascades", func() {
		i++
		at, yielded := far(i), 0
		w.Schedule(at, v)
		for steps := 0; yielded == 0 && steps < maxSteps; steps++ {
			next, _ := w.Next()
			for range w.Advance(next) {
				yielded++
			}
		}
		if yielded != 1 {
			t.Fatalf("%d entries were yielded, want 1", yielded)
		}
	})
	wantNoAllocs(t, "Advance that arms in its body", func() {
		w.Schedule(w.Now(), v)
		for at, got := range w.Advance(w.Now()) {
			w.Cancel(w.Schedule(at+100, got))
			w.Reschedule(handles[i%1000], 1<<41+at)
		}
	})
	wantNoAllocs(t, "Advance and break", func() {
		w.Schedule(0, v)
		w.Schedule(0, v)
		for want := 1001; want >= 1000; want-- {
			for range w.Advance(w.Now()) {
				break
			}
			if w.Len() != want {
				t.Fatalf("Len is %d, want %d", w.Len(), want)
			}
		}
	})
	wantNoAllocs(t, "All", func() {
		n := 0
		for _, got := range w.All() {
			if n++; got != v || n == 20 {
				break
			}
		}
		if n != 20 {
			t.Fatalf("%d entries", n)
		}
	})
	wantNoAllocs(t, "Schedule and Drain", func() {
		i++
		n := w.Len()
		w.Schedule(far(i), v)
		for range w.Drain() {
			n--
		}
		if n != -1 {
			t.Fatalf("Drain did not yield %d entries", n+1)
		}
	})
}
