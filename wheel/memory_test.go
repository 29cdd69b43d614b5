package wheel_test

import (
	"math"
	"runtime"
	"testing"
	"weak"

	"github.com/foliot-go/foliot/wheel"
)

// A payload is large enough not to share its memory with another.
type payload struct {
	_ [64]byte
	n int
}

// held schedules fresh payloads by pointer, lets end take them out of the wheel, and reports how many are still there.
func held(w *wheel.Wheel[*payload], n int, end func(w *wheel.Wheel[*payload], handles []wheel.Handle)) int {
	refs := fill(w, n, end)
	runtime.GC()
	alive := 0
	for _, r := range refs {
		if r.Value() != nil {
			alive++
		}
	}
	runtime.KeepAlive(w)
	return alive
}

// fill has a frame of its own, so that nothing of it is left on the stack when held looks.
//
//go:noinline
func fill(w *wheel.Wheel[*payload], n int, end func(w *wheel.Wheel[*payload], handles []wheel.Handle)) []weak.Pointer[payload] {
	var refs []weak.Pointer[payload]
	var handles []wheel.Handle
	for i := range n {
		p := &payload{n: i}
		refs = append(refs, weak.Make(p))
		handles = append(handles, w.Schedule(w.Now()+1+wheel.Tick(i%7)*100, p))
	}
	end(w, handles)
	return refs
}

func TestPayloadIsLetGoOnCancelAndFire(t *testing.T) {
	const n = 1000
	for _, c := range []struct {
		name string
		end  func(w *wheel.Wheel[*payload], handles []wheel.Handle)
		want int
	}{
		{"armed", func(*wheel.Wheel[*payload], []wheel.Handle) {}, n},
		{"cancelled", func(w *wheel.Wheel[*payload], handles []wheel.Handle) {
			for _, h := range handles {
				w.Cancel(h)
			}
		}, 0},
		{"half cancelled", func(w *wheel.Wheel[*payload], handles []wheel.Handle) {
			for _, h := range handles[n/2:] {
				w.Cancel(h)
			}
		}, n / 2},
		{"fired", func(w *wheel.Wheel[*payload], _ []wheel.Handle) {
			for range w.Advance(w.Now() + 1000) {
			}
		}, 0},
		{"fired after reschedules", func(w *wheel.Wheel[*payload], handles []wheel.Handle) {
			for i, h := range handles {
				w.Reschedule(h, w.Now()+1<<(i%40))
			}
			for range w.Advance(w.Now() + 1<<40) {
			}
		}, 0},
		{"fired up to a break", func(w *wheel.Wheel[*payload], _ []wheel.Handle) {
			i := 0
			for range w.Advance(w.Now() + 1000) {
				if i++; i == n-10 {
					break
				}
			}
		}, 10},
		{"parked", func(w *wheel.Wheel[*payload], handles []wheel.Handle) {
			for _, h := range handles {
				w.Park(h)
			}
		}, n},
		{"parked, half of them cancelled", func(w *wheel.Wheel[*payload], handles []wheel.Handle) {
			for i, h := range handles {
				w.Park(h)
				if i%2 == 0 {
					w.Cancel(h)
				}
			}
		}, n / 2},
		{"reserved in their place", func(w *wheel.Wheel[*payload], handles []wheel.Handle) {
			for i, h := range handles {
				v, _ := w.Cancel(h)
				if r := w.Reserve(v); i%2 == 0 {
					w.Cancel(r)
				}
			}
		}, n / 2},
		{"popped", func(w *wheel.Wheel[*payload], _ []wheel.Handle) {
			for _, _, ok := w.Pop(w.Now() + 1000); ok; _, _, ok = w.Pop(0) {
			}
		}, n},
		{"popped and cancelled", func(w *wheel.Wheel[*payload], _ []wheel.Handle) {
			for h, _, ok := w.Pop(w.Now() + 1000); ok; h, _, ok = w.Pop(0) {
				w.Cancel(h)
			}
		}, 0},
		{"replaced through Value", func(w *wheel.Wheel[*payload], handles []wheel.Handle) {
			for i, h := range handles {
				if i%2 == 0 {
					w.Park(h)
				}
				*w.Value(h) = nil
			}
		}, 0},
		{"drained", func(w *wheel.Wheel[*payload], _ []wheel.Handle) {
			for range w.Drain() {
			}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := held(new(wheel.Wheel[*payload]), n, c.end); got != c.want {
				t.Errorf("%d of %d payloads are held, want %d", got, n, c.want)
			}
		})
	}
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestPayloadsOfAMillionCancelledEntriesAreCollected(t *testing.T) {
	const n = 1_000_000
	w := wheel.New[*payload](0, 0)
	handles := make([]wheel.Handle, n)
	before := heap()
	for i := range handles {
		handles[i] = w.Schedule(1<<40+wheel.Tick(i), &payload{n: i})
	}
	full := heap()
	for _, h := range handles {
		w.Cancel(h)
	}
	after := heap()
	if full-before < n*64 {
		t.Fatalf("heap went from %d to %d with the payloads: this test measures nothing", before, full)
	}
	if freed := int64(full) - int64(after); freed < n*64 {
		t.Errorf("heap went from %d to %d with %d entries, and to %d after their cancels", before, full, n, after)
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
	before := heap()
	round()
	round()
	first := heap() - before
	for range 10 {
		round()
	}
	if after := heap() - before; after > first+first/4+1<<16 {
		t.Errorf("%d bytes after two rounds, %d after twelve", first, after)
	}
	runtime.KeepAlive(w)
}

func TestTrimGivesMemoryBackAndKeepsWhatIsArmed(t *testing.T) {
	const n, few = 200_000, 1000
	w := wheel.New[uint32](0, 0)
	before := heap()
	handles := make([]wheel.Handle, n)
	before += n * 8
	for i := range handles {
		handles[i] = w.Schedule(1<<30+wheel.Tick(i), uint32(i))
	}
	full := heap() - before
	for _, h := range handles[few:] {
		w.Cancel(h)
	}
	w.Trim(math.MaxInt)
	if after := heap() - before; after > full/10 {
		t.Errorf("%d bytes with %d entries, %d with %d after Trim", full, n, after, few)
	}
	checkInvariants(t, w)
	for i, h := range handles[:few] {
		if at, v, ok := w.Lookup(h); at != 1<<30+wheel.Tick(i) || v != uint32(i) || !ok {
			t.Fatalf("Lookup of %d after Trim is %d, %d, %t", i, at, v, ok)
		}
	}
	for range n { // in places that had entries before
		w.Schedule(1<<30, 0)
	}
	for i, h := range handles[few:] {
		if _, _, ok := w.Lookup(h); ok {
			t.Fatalf("the handle of %d, cancelled before Trim, names an entry made after it", few+i)
		}
	}
	checkInvariants(t, w)
}

func TestCompactAndTrimGiveBackWhatDeadWordsTook(t *testing.T) {
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
	full, stale := heap(), w.Stale()
	removed := w.Compact(math.MaxInt)
	w.Trim(math.MaxInt)
	// A word is four bytes. Slots stay where they are: every other is in use.
	if freed := int64(full) - int64(heap()); removed < stale*9/10 || freed < int64(removed)*4*9/10 {
		t.Errorf("of %d dead words %d went away, and %d bytes with them", stale, removed, freed)
	}
	checkInvariants(t, w)
	want := uint32(1)
	for _, v := range w.Advance(math.MaxUint64) {
		if v != want {
			t.Fatalf("got %d, want %d", v, want)
		}
		want += 2
	}
	runtime.KeepAlive(handles)
}

// Of a wheel that has had a hundred slabs ten are left, here and there.
func TestTrimDoesNotCountSlabsThatAreGone(t *testing.T) {
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
		t.Errorf("Trim has looked at as many slabs as there are, and of an empty wheel Cap is %d", c)
	}
	checkInvariants(t, w)
}

func TestTrimMayBeCalledAnyTimeWithAnyNumber(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 0, 1, math.MaxInt} {
		if freed := (*wheel.Wheel[int])(nil).Trim(n); freed != 0 {
			t.Errorf("Trim(%d) of a nil wheel is %d", n, freed)
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
		checkInvariants(t, w)
		if want != 2010 || w.Len() != 990 {
			t.Errorf("Trim(%d) in the body: %d fired, %d left", n, want, w.Len())
		}
	}
}
