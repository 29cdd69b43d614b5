package wheel

import (
	"math"
	"reflect"
	"runtime"
	"testing"
	"unsafe"
)

// A handleLog is a wheel and every handle that it ever returned.
type handleLog struct {
	*testing.T
	w    *Wheel[uint32]
	live map[Handle]bool // false: the handle is stale

	byNumber bool // cancel calls CancelNumbered
}

func newHandleLog(t *testing.T) *handleLog {
	return &handleLog{T: t, w: New[uint32](0, 0), live: map[Handle]bool{}}
}

func (l *handleLog) arm(n int) (handles []Handle) {
	for range n {
		h := l.w.Schedule(100, 1)
		if _, seen := l.live[h]; seen {
			l.Fatalf("the handle %#x was returned before", h)
		}
		l.live[h] = true
		handles = append(handles, h)
	}
	return handles
}

func (l *handleLog) cancel(handles []Handle) {
	if l.byNumber {
		var numbers []uint32
		for _, h := range handles {
			numbers = append(numbers, Number(h))
			l.live[h] = false
		}
		if n := l.w.CancelNumbered(numbers); n != len(numbers) {
			l.Fatalf("CancelNumbered of %d entries is %d", len(numbers), n)
		}
		return
	}
	for _, h := range handles {
		if _, ok := l.w.Cancel(h); !ok {
			l.Fatalf("Cancel(%#x) of an entry returns false", h)
		}
		l.live[h] = false
	}
}

// check checks every handle, and that the wheel is sound.
func (l *handleLog) check() {
	l.Helper()
	for h, want := range l.live {
		if _, _, ok := l.w.Lookup(h); ok != want {
			l.Fatalf("Lookup(%#x) is %t", h, ok)
		}
	}
	wantSound(l, l.w)
}

// slot returns the slot of h, also after its entry was removed.
func (l *handleLog) slot(h Handle) *slot[uint32] { return l.w.slots.get(uint32(h)) }

func TestASlotThatHasUsedUpItsGenerationsIsNeverUsedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		others   int
		byNumber bool
	}{
		"in the first slab":           {5, false},
		"in a later slab":             {3*slabSize + 5, false},
		"in the first slab, numbered": {5, true},
		"in a later slab, numbered":   {3*slabSize + 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHandleLog(t)
			l.byNumber = c.byNumber
			others := l.arm(c.others)
			first := l.arm(1)
			last := uint32(first[0])
			l.cancel(first)
			l.slot(first[0]).gen = math.MaxUint32 - 2
			for uses := range 3 {
				h := l.arm(1)
				if uint32(h[0]) != last {
					t.Fatalf("use %d is of slot %d, not of %d, so the test checks nothing",
						uses, uint32(h[0]), last)
				}
				l.check()
				// An entry of the last generation can be parked too.
				if uses == 2 && !l.w.Park(h[0]) {
					t.Fatal("Park of an entry returns false")
				}
				l.check()
				l.cancel(h)
			}
			l.check() // the generation of the slot is that of its first handle again
			l.cancel(others)
			l.w.Trim(math.MaxInt)
			if l.w.slots.slabs[last>>slabBits] == nil {
				t.Error("Trim released the slab, which records that the slot must not be used")
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

func TestASlabThatIsMadeAgainStartsWithNewGenerations(t *testing.T) {
	const n = 4 * slabSize
	l := newHandleLog(t)
	for round := range 5 {
		handles := l.arm(n)
		for k := range round { // some slots are used more often than others
			l.cancel(handles[k*100 : k*100+100])
			copy(handles[k*100:], l.arm(100))
		}
		l.check()
		l.cancel(handles)
		if released := l.w.Trim(math.MaxInt); released < 3 || len(l.w.slots.released) < 3 {
			t.Fatalf("Trim released %d slabs, %d of slots, so the test checks nothing",
				released, len(l.w.slots.released))
		}
		l.check()
	}
}

func TestAReleasedSlabWithASlotInItsLastGenerationIsUsedOnceMore(t *testing.T) {
	l := newHandleLog(t)
	handles := l.arm(2 * slabSize)
	last := handles[slabSize+7]
	l.cancel(handles)
	l.slot(last).gen = math.MaxUint32
	l.w.Trim(math.MaxInt)
	if s := uint32(last) >> slabBits; l.w.slots.slabs[s] != nil {
		t.Fatalf("slab %d was not released, so the test checks nothing", s)
	}
	for range 2 {
		handles = l.arm(3 * slabSize)
		l.check()
		l.cancel(handles)
		l.check()
	}
	if gen := l.slot(last).gen; gen != 0 {
		t.Errorf("the slot is in generation %d", gen)
	}
}

func TestTheFirstSlabGrowsWithoutLosingEntries(t *testing.T) {
	w := New[uint32](0, 0)
	type armed struct {
		h  Handle
		at Tick
	}
	var want []armed
	// Lengths of the first slabs: positive for slots, negative for chunks.
	sizes := map[int]bool{}
	for i := range uint32(10 * (fanOut - 1)) { // each in another bucket, after a dead ref
		at := Tick(1+i%(fanOut-1)) << (i / (fanOut - 1) * digitBits)
		gone := w.Schedule(at, 0)
		want = append(want, armed{w.Schedule(at, i), at})
		w.settle()
		w.Cancel(gone)
		slots, chunks := len(w.slots.slabs[0]), len(w.chunks.slabs[0])
		if sizes[slots] && sizes[-chunks] {
			continue
		}
		sizes[slots], sizes[-chunks] = true, true
		for i, e := range want {
			if at, v, ok := w.Lookup(e.h); at != e.at || v != uint32(i) || !ok {
				t.Fatalf("with %d slots and %d chunks Lookup of entry %d is %d, %d, %t",
					slots, chunks, i, at, v, ok)
			}
		}
		wantSound(t, w)
	}
	for _, n := range []int{slabInitial, 2 * slabInitial, slabSize, -slabInitial, -2 * slabInitial, -slabSize} {
		if !sizes[n] {
			t.Errorf("no first slab ever had %d elements (negative: chunks)", n)
		}
	}
}

// bytesPerWheel returns how much memory a wheel that f makes takes.
func bytesPerWheel(f func() *Wheel[uint32]) uint64 {
	var wheels [256]*Wheel[uint32]
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // the first does not free objects with finalizers or in pools
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
		{"ten entries on ten levels", with(10, func(i int) Tick { return 1 << (i * digitBits) }), 16 << 10},
		{"an entry on each level, one of them yielded", func() *Wheel[uint32] {
			w := with(levelCount, func(i int) Tick { return 1 << (i * digitBits) })()
			for range w.Advance(1) {
			}
			return w
		}, 17 << 10},
	} {
		got := bytesPerWheel(c.make)
		if least := uint64(unsafe.Sizeof(Wheel[uint32]{})); got < least || got > c.max {
			t.Errorf("%s: %d bytes, want %d to %d", c.name, got, least, c.max)
		}
		t.Logf("%s: %d bytes", c.name, got)
	}
}

// holdsPointers reports whether the garbage collector must scan values of a type.
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

func TestSlabsAndNodesAreNotScannedByTheCollector(t *testing.T) {
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
		t.Errorf("%v holds pointers, but holdsPointers is false", typ)
	}
}
