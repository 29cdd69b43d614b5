package wheel_test

import (
	"math"
	"runtime"
	"testing"
	"weak"

	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/foliot-go/foliot/internal/wheel"
)

// An object is large enough not to share its memory with another one.
type object struct {
	_ [64]byte
	n int
}

// countReachable schedules n pointers to new objects and calls then. It returns how many of the
// objects are reachable after that.
func countReachable(w *wheel.Wheel[*object], n int, then func(w *wheel.Wheel[*object], handles []wheel.Handle)) int {
	objects := fill(w, n, then)
	runtime.GC()
	alive := 0
	for _, o := range objects {
		if o.Value() != nil {
			alive++
		}
	}
	runtime.KeepAlive(w)
	return alive
}

// fill is not inlined, so that no pointer to an object is left on the stack of countReachable.
//
//go:noinline
func fill(w *wheel.Wheel[*object], n int, then func(w *wheel.Wheel[*object], handles []wheel.Handle)) []weak.Pointer[object] {
	var objects []weak.Pointer[object]
	var handles []wheel.Handle
	for i := range n {
		p := &object{n: i}
		objects = append(objects, weak.Make(p))
		handles = append(handles, w.Schedule(w.Now()+1+wheel.Tick(i%7)*100, p))
	}
	then(w, handles)
	return objects
}

func TestTheWheelDropsAValueWhenItsEntryIsRemoved(t *testing.T) {
	const n = 1000
	for _, c := range []struct {
		name string
		then func(w *wheel.Wheel[*object], handles []wheel.Handle)
		want int
	}{
		{"armed", func(*wheel.Wheel[*object], []wheel.Handle) {}, n},
		{"cancelled", func(w *wheel.Wheel[*object], handles []wheel.Handle) {
			for _, h := range handles {
				w.Cancel(h)
			}
		}, 0},
		{"half cancelled", func(w *wheel.Wheel[*object], handles []wheel.Handle) {
			for _, h := range handles[n/2:] {
				w.Cancel(h)
			}
		}, n / 2},
		{"yielded", func(w *wheel.Wheel[*object], _ []wheel.Handle) {
			for range w.Advance(w.Now() + 1000) {
			}
		}, 0},
		{"yielded after Reschedule", func(w *wheel.Wheel[*object], handles []wheel.Handle) {
			for i, h := range handles {
				w.Reschedule(h, w.Now()+1<<(i%40))
			}
			for range w.Advance(w.Now() + 1<<40) {
			}
		}, 0},
		{"yielded up to a break", func(w *wheel.Wheel[*object], _ []wheel.Handle) {
			i := 0
			for range w.Advance(w.Now() + 1000) {
				if i++; i == n-10 {
					break
				}
			}
		}, 10},
		{"parked", func(w *wheel.Wheel[*object], handles []wheel.Handle) {
			for _, h := range handles {
				w.Park(h)
			}
		}, n},
		{"parked, half of them cancelled", func(w *wheel.Wheel[*object], handles []wheel.Handle) {
			for i, h := range handles {
				w.Park(h)
				if i%2 == 0 {
					w.Cancel(h)
				}
			}
		}, n / 2},
		{"cancelled and reserved", func(w *wheel.Wheel[*object], handles []wheel.Handle) {
			for i, h := range handles {
				v, _ := w.Cancel(h)
				if r := w.Reserve(v); i%2 == 0 {
					w.Cancel(r)
				}
			}
		}, n / 2},
		{"popped", func(w *wheel.Wheel[*object], _ []wheel.Handle) {
			for _, _, ok := w.Pop(w.Now() + 1000); ok; _, _, ok = w.Pop(0) {
			}
		}, n},
		{"popped and cancelled", func(w *wheel.Wheel[*object], _ []wheel.Handle) {
			for h, _, ok := w.Pop(w.Now() + 1000); ok; h, _, ok = w.Pop(0) {
				w.Cancel(h)
			}
		}, 0},
		{"replaced through Value", func(w *wheel.Wheel[*object], handles []wheel.Handle) {
			for i, h := range handles {
				if i%2 == 0 {
					w.Park(h)
				}
				*w.Value(h) = nil
			}
		}, 0},
		{"drained", func(w *wheel.Wheel[*object], _ []wheel.Handle) {
			for range w.Drain() {
			}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := countReachable(new(wheel.Wheel[*object]), n, c.then); got != c.want {
				t.Errorf("%d of %d objects are reachable, want %d", got, n, c.want)
			}
		})
	}
}

func TestValuesOfAMillionCancelledEntriesAreCollected(t *testing.T) {
	testkit.SkipIfShort(t)
	const n = 1_000_000
	w := wheel.New[*object](0, 0)
	handles := make([]wheel.Handle, n)
	before := testkit.HeapInUse()
	for i := range handles {
		handles[i] = w.Schedule(1<<40+wheel.Tick(i), &object{n: i})
	}
	full := testkit.HeapInUse()
	for _, h := range handles {
		w.Cancel(h)
	}
	after := testkit.HeapInUse()
	if full-before < n*64 {
		t.Fatalf("the heap grew from %d to %d bytes with the objects, so the test checks nothing",
			before, full)
	}
	if freed := int64(full) - int64(after); freed < n*64 {
		t.Errorf("the heap has %d bytes, %d with %d entries, and %d after their Cancel",
			before, full, n, after)
	}
	runtime.KeepAlive(w)
}

func TestFreedMemoryIsReused(t *testing.T) {
	const n = 100_000
	w := wheel.New[uint32](0, 0)
	handles := make([]wheel.Handle, n)
	round := func() {
		for i := range handles {
			handles[i] = w.Schedule(w.Now()+wheel.Tick(i%5000)*13, uint32(i))
		}
		for i, h := range handles {
			if i%2 == 0 {
				w.Cancel(h)
			}
		}
		for range w.Advance(w.Now() + 100_000) {
		}
	}
	before := testkit.HeapInUse()
	round()
	round()
	first := testkit.HeapInUse() - before
	for range 10 {
		round()
	}
	if after := testkit.HeapInUse() - before; after > first+first/4+1<<16 {
		t.Errorf("%d bytes in use after two rounds, %d after twelve", first, after)
	}
	runtime.KeepAlive(w)
}

func TestTrimReleasesMemoryAndKeepsEntries(t *testing.T) {
	const n, few = 200_000, 1000
	w := wheel.New[uint32](0, 0)
	before := testkit.HeapInUse()
	handles := make([]wheel.Handle, n)
	before += n * 8
	for i := range handles {
		handles[i] = w.Schedule(1<<30+wheel.Tick(i), uint32(i))
	}
	full := testkit.HeapInUse() - before
	for _, h := range handles[few:] {
		w.Cancel(h)
	}
	w.Trim(math.MaxInt)
	if after := testkit.HeapInUse() - before; after > full/10 {
		t.Errorf("%d bytes with %d entries, %d with %d after Trim", full, n, after, few)
	}
	wantSound(t, w)
	for i, h := range handles[:few] {
		if at, v, ok := w.Lookup(h); at != 1<<30+wheel.Tick(i) || v != uint32(i) || !ok {
			t.Fatalf("Lookup of %d after Trim is %d, %d, %t", i, at, v, ok)
		}
	}
	for range n { // in slots that had entries before
		w.Schedule(1<<30, 0)
	}
	for i, h := range handles[few:] {
		if _, _, ok := w.Lookup(h); ok {
			t.Fatalf("the handle of %d, which was cancelled before Trim, names a new entry", few+i)
		}
	}
	wantSound(t, w)
}

func TestCompactAndTrimReleaseTheMemoryOfDeadRefs(t *testing.T) {
	const n = 1_000_000
	w := wheel.New[uint32](0, n)
	handles := make([]wheel.Handle, n)
	for i := range handles {
		handles[i] = w.Schedule(1<<40+wheel.Tick(i), uint32(i))
	}
	for i, h := range handles {
		if i%2 == 0 {
			w.Cancel(h)
		}
	}
	full, stale := testkit.HeapInUse(), w.Stale()
	removed := w.Compact(math.MaxInt)
	w.Trim(math.MaxInt)
	// A ref is four bytes. No slab of slots is released, because every other slot is in use.
	if freed := int64(full) - int64(testkit.HeapInUse()); removed < stale*9/10 || freed < int64(removed)*4*9/10 {
		t.Errorf("of %d dead refs %d were removed, and %d bytes released", stale, removed, freed)
	}
	wantSound(t, w)
	want := uint32(1)
	for _, v := range w.Advance(math.MaxUint64) {
		if v != want {
			t.Fatalf("got %d, want %d", v, want)
		}
		want += 2
	}
	runtime.KeepAlive(handles)
}

// After the first Trim only ten of a hundred slabs are left.
func TestTrimDoesNotCountReleasedSlabs(t *testing.T) {
	const slab, slabs, every = 1024, 100, 10
	w := wheel.New[uint32](0, 0)
	handles := make([]wheel.Handle, 0, slab*slabs)
	for i := range slab * slabs {
		handles = append(handles, w.Schedule(wheel.Tick(i), uint32(i)))
	}
	for i, h := range handles {
		if i%(slab*every) != slab*every/2 {
			w.Cancel(h)
		}
	}
	w.Trim(math.MaxInt)
	if c := w.Cap(); c > slab*(slabs/every+1) {
		t.Fatalf("with an entry in each of %d slabs Cap is %d", slabs/every, c)
	}
	for _, h := range handles {
		w.Cancel(h)
	}
	for range w.Cap()/slab + 1 {
		w.Trim(1)
	}
	if c := w.Cap(); c >= slab {
		t.Errorf("Cap is %d although Trim has looked at every slab of the empty wheel", c)
	}
	wantSound(t, w)
}

func TestTrimMayBeCalledAtAnyTimeWithAnyNumber(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, 1, math.MaxInt} {
		if released := (*wheel.Wheel[int])(nil).Trim(n); released != 0 {
			t.Errorf("Trim(%d) of a nil wheel is %d, want 0", n, released)
		}
		w := new(wheel.Wheel[int])
		w.Trim(n)
		for i := range 3000 {
			w.Schedule(wheel.Tick(i/10), i)
		}
		want := 0
		for _, v := range w.Advance(200) {
			w.Trim(n)
			if v != want {
				t.Fatalf("Trim(%d) in the body: got %d, want %d", n, v, want)
			}
			want++
		}
		wantSound(t, w)
		if want != 2010 || w.Len() != 990 {
			t.Errorf("Trim(%d) in the body: %d entries were yielded, %d are left", n, want, w.Len())
		}
	}
}
