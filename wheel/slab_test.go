package wheel

import (
	"math"
	"reflect"
	"runtime"
	"testing"
	"unsafe"
)

// A ledger is a wheel and every handle that it ever gave out.
type ledger struct {
	*testing.T
	w    *Wheel[uint32]
	live map[Handle]bool // false: the handle is stale
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t, New[uint32](0, 0), map[Handle]bool{}}
}

func (l *ledger) arm(n int) (handles []Handle) {
	for range n {
		h := l.w.Schedule(100, 1)
		if _, seen := l.live[h]; seen {
			l.Fatalf("handle %#x was given out before", h)
		}
		l.live[h] = true
		handles = append(handles, h)
	}
	return handles
}

func (l *ledger) cancel(handles []Handle) {
	for _, h := range handles {
		if _, ok := l.w.Cancel(h); !ok {
			l.Fatalf("Cancel(%#x) of an entry is false", h)
		}
		l.live[h] = false
	}
}

// check asks for every handle, and for the state of the wheel.
func (l *ledger) check() {
	l.Helper()
	for h, want := range l.live {
		if _, _, ok := l.w.Lookup(h); ok != want {
			l.Fatalf("Lookup(%#x) is %t", h, ok)
		}
	}
	if err := check(l.w); err != nil {
		l.Fatal(err)
	}
}

// slot returns the slot of an entry, which keeps its place when the entry is gone.
func (l *ledger) slot(h Handle) *slot[uint32] {
	return &l.w.slots.slabs[uint32(h)>>slabBits][uint32(h)&slabMask]
}

func TestASlotWithoutGenerationsIsNeverUsedAgain(t *testing.T) {
	for name, others := range map[string]int{"in the first slab": 5, "in a later slab": 3*slabSize + 5} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(t)
			others := l.arm(others)
			first := l.arm(1)
			last := uint32(first[0])
			l.cancel(first)
			l.slot(first[0]).gen = math.MaxUint32 - 2
			for uses := range 3 {
				h := l.arm(1)
				if uint32(h[0]) != last {
					t.Fatalf("use %d is of slot %d, not of %d: this test shows nothing", uses, uint32(h[0]), last)
				}
				l.check()
				if uses == 2 && !l.w.Park(h[0]) { // an entry in the last generation can be parked like any other
					t.Fatal("Park of an entry is false")
				}
				l.check()
				l.cancel(h)
			}
			l.check() // the slot is in the generation of its first handle again
			l.cancel(others)
			l.w.Trim(math.MaxInt)
			if l.w.slots.slabs[last>>slabBits] == nil {
				t.Error("Trim gave back the slab, which forgets that the slot is not to be used")
			}
			for _, h := range l.arm(4 * slabSize) {
				if uint32(h) == last {
					t.Fatalf("slot %d is in use again", last)
				}
			}
			l.check()
		})
	}
}

func TestASlabMadeAnewGoesOnWithGenerationsUnseen(t *testing.T) {
	const n = 4 * slabSize
	l := newLedger(t)
	for round := range 5 {
		handles := l.arm(n)
		for k := range round { // some slots are used more often than others
			l.cancel(handles[k*100 : k*100+100])
			copy(handles[k*100:], l.arm(100))
		}
		l.check()
		l.cancel(handles)
		if freed := l.w.Trim(math.MaxInt); freed < 3 || len(l.w.slots.released) < 3 {
			t.Fatalf("Trim gave back %d slabs, %d of slots: this test shows nothing", freed, len(l.w.slots.released))
		}
		l.check()
	}
}

func TestASlabGivenBackWithASlotInItsLastGenerationIsUsedOnceMore(t *testing.T) {
	l := newLedger(t)
	handles := l.arm(2 * slabSize)
	tired := handles[slabSize+7]
	l.cancel(handles)
	l.slot(tired).gen = math.MaxUint32
	l.w.Trim(math.MaxInt)
	if s := uint32(tired) >> slabBits; l.w.slots.slabs[s] != nil {
		t.Fatalf("slab %d is still there: this test shows nothing", s)
	}
	for range 2 {
		handles = l.arm(3 * slabSize)
		l.check()
		l.cancel(handles)
		l.check()
	}
	if gen := l.slot(tired).gen; gen != 0 {
		t.Errorf("the slot is in generation %d", gen)
	}
}

func TestTheFirstSlabsGrowWithoutLosingEntries(t *testing.T) {
	w := New[uint32](0, 0)
	type armed struct {
		h  Handle
		at Tick
	}
	var want []armed
	sizes := map[int]bool{}
	for i := range uint32(10 * (fanOut - 1)) { // each in a bucket of its own, behind a dead word
		at := Tick(1+i%(fanOut-1)) << (i / (fanOut - 1) * digitBits)
		gone := w.Schedule(at, 0)
		want = append(want, armed{w.Schedule(at, i), at})
		w.Cancel(gone)
		slots, chunks := len(w.slots.slabs[0]), len(w.chunks.slabs[0])
		if sizes[slots] && sizes[-chunks] {
			continue
		}
		sizes[slots], sizes[-chunks] = true, true
		for i, e := range want {
			if at, v, ok := w.Lookup(e.h); at != e.at || v != uint32(i) || !ok {
				t.Fatalf("with %d slots and %d chunks Lookup of entry %d is %d, %d, %t", slots, chunks, i, at, v, ok)
			}
		}
		if err := check(w); err != nil {
			t.Fatalf("with %d slots and %d chunks: %v", slots, chunks, err)
		}
	}
	for _, n := range []int{slabInitial, 2 * slabInitial, slabSize, -slabInitial, -2 * slabInitial, -slabSize} {
		if !sizes[n] {
			t.Errorf("the first slabs never had %d places (chunks below zero)", n)
		}
	}
}

// bytesOf returns how much memory is taken by a wheel that f makes.
func bytesOf(f func() *Wheel[uint32]) uint64 {
	var wheels [256]*Wheel[uint32]
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // the first leaves behind what has a finalizer or is in a pool
	runtime.ReadMemStats(&before)
	for i := range wheels {
		wheels[i] = f()
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(&wheels)
	return (after.HeapAlloc - before.HeapAlloc) / uint64(len(wheels))
}

func TestASmallWheelTakesLittleMemory(t *testing.T) {
	with := func(entries int, at func(i int) Tick) func() *Wheel[uint32] {
		return func() *Wheel[uint32] {
			w := New[uint32](0, 0)
			for i := range entries {
				w.Schedule(at(i), 1)
			}
			return w
		}
	}
	for _, c := range []struct {
		name string
		make func() *Wheel[uint32]
		max  uint64
	}{
		{"empty", with(0, nil), 4 << 10},
		{"ten entries at a tick", with(10, func(int) Tick { return 1000 }), 16 << 10},
		{"ten entries on a level", with(10, func(i int) Tick { return Tick(i) }), 16 << 10},
		{"ten entries on ten levelCount", with(10, func(i int) Tick { return 1 << (i * digitBits) }), 16 << 10},
		{"ten entries left of one on every level", func() *Wheel[uint32] {
			w := with(levelCount, func(i int) Tick { return 1 << (i * digitBits) })()
			for range w.Advance(1) {
			}
			return w
		}, 16 << 10},
	} {
		got := bytesOf(c.make)
		if least := uint64(unsafe.Sizeof(Wheel[uint32]{})); got < least || got > c.max {
			t.Errorf("%s: %d bytes, want %d to %d", c.name, got, least, c.max)
		}
		t.Logf("%s: %d bytes", c.name, got)
	}
}

// holdsPointers tells whether the garbage collector has to look into values of a type.
func holdsPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() > 0 && holdsPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	default:
		return t.Kind() > reflect.Complex128 // the kinds up to there are numbers
	}
}

func TestTheCollectorNeedNotLookIntoSlabsAndNodes(t *testing.T) {
	var w Wheel[uint32]
	for _, typ := range []reflect.Type{
		reflect.TypeOf(w.slots.slabs).Elem().Elem(), reflect.TypeOf(w.chunks.slabs).Elem().Elem(),
		reflect.TypeOf(w.nodes).Elem().Elem(), reflect.TypeOf(w.meta).Elem(),
	} {
		if holdsPointers(typ) {
			t.Errorf("%v holds pointers", typ)
		}
	}
	var p Wheel[*int]
	if typ := reflect.TypeOf(p.slots.slabs).Elem().Elem(); !holdsPointers(typ) {
		t.Errorf("%v holds pointers, and this test does not see it", typ)
	}
}
