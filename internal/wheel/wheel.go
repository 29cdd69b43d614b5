package wheel

import "iter"

// A Tick is a point in time, in a unit of the caller's choice.
type Tick uint64

// Never is the last tick. Entries can be armed for it as for any other tick. It is also what
// [Wheel.Lookup] returns for a parked entry, which is not due at any tick.
const Never Tick = 1<<64 - 1

// A Handle names one entry of one wheel. The zero Handle names no entry.
//
// A handle is valid until its entry is yielded or canceled. From then on it is stale, and stays
// stale however often the entry's memory is reused. Methods return false for a stale handle, and
// for a number that the wheel never returned as a handle. They also return false for another
// wheel's handle, except with a probability of 1 in 2^32.
type Handle uint64

// A handle consists of a slot's number, in the low 32 bits, and the slot's generation. The
// generation goes up when the slot is freed, which makes the handle stale. It is xored with a
// random number of the wheel, so that other wheels' handles do not match.

// A Wheel holds entries. An entry is a value of type V and the tick at which it is due. The wheel
// yields entries in tick order, and entries with the same tick in the order in which they were armed.
// Arming, moving or canceling an entry takes the same few steps however many entries the wheel holds.
//
// The zero Wheel is empty, at tick 0, and ready to use. A Wheel must not be copied after first use.
// It is not safe for concurrent use: a program that shares a Wheel between goroutines must protect
// it with a lock. A nil *Wheel behaves like an empty wheel at tick 0, but Schedule and Reserve
// panic on it.
type Wheel[V any] struct {
	now    Tick // the latest tick that Advance, Pop or Peek was called with since the last Rewind
	cursor Tick // nothing is armed for a tick before this one; cursor <= now

	// path holds the nodes between the root of the trie and the cursor: path[k] is the node of
	// level k whose range contains the cursor, or nil if it was never needed. Only the first
	// levelCount elements are used; 16 saves the bounds check of path[level&15].
	path      [16]*node
	nodes     []*node  // by id; nil where a free node was released to the garbage collector
	freeNodes []uint32 // ids of nodes that are not in use

	slots    arena[slot[V]]
	chunks   arena[chunk]
	meta     []chunkMeta // by chunk
	firstGen []uint32    // by slab of slots: the generation that its slots start with
	seed     uint32      // xored into the generation in handles; random, set with the first slot
	count    int         // entries, armed and parked

	recent      chunk  // refs of recent entries; 0 where an entry has left
	recentCount uint32 // refs in recent, zeros included
	recentMin   Tick   // no recent entry is due before this tick. Undefined if there is none

	removals     [removalMax]removal
	removalCount uint32 // removals that are not finished
	hasTidied    bool   // settleAll already split or compacted a bucket, and should not do more

	pass         passKind
	deferred     uint32 // during Advance: the first chunk of entries that its body made due; 0: none
	chainVersion uint32 // goes up whenever refs in a chain are moved or its chunks are freed
	compactNext  int    // the next bucket for Compact to examine, numbered like a bucketID
	prefetchSink uint32 // a sum over slots read ahead, so that the reads are not optimized away
}

// passKind is the kind of iterator that is currently running.
type passKind uint8

const (
	passNone passKind = iota
	passAdvance
	passDrain
)

// A slot stores one entry for as long as it exists. With a value of four bytes it takes 24 bytes.
type slot[V any] struct {
	at    Tick
	gen   uint32 // generation: goes up each time the slot is freed
	pos   refPos // the ref that names this slot, or posFree or posParked
	value V
}

// tick returns the tick at which the entry in s is due, or Never if it is parked.
func (s *slot[V]) tick() Tick {
	if s.pos == posParked {
		return Never
	}
	return s.at
}

// New returns an empty wheel at the given tick, with memory for capacity entries. A negative
// capacity counts as 0. The wheel grows when it needs more.
func New[V any](now Tick, capacity int) *Wheel[V] {
	w := &Wheel[V]{now: now, cursor: now}
	capacity = min(capacity, (maxSlotSlabs-1)<<slabBits)
	for capacity > 0 && w.slots.capacity() < capacity {
		w.growSlots()
	}
	for capacity > 0 && w.chunks.capacity()*chunkRefs < capacity {
		w.growChunks()
	}
	return w
}

// Schedule arms a new entry for a tick and returns its handle. If at <= Now(), the entry is
// armed for Now(): the next Advance yields it, after everything that is already due.
//
// Schedule panics if the wheel is nil. It also panics if the wheel is full, which takes 2^31
// entries or 17 GB of buckets.
func (w *Wheel[V]) Schedule(at Tick, v V) Handle {
	if w == nil {
		panic("wheel: Schedule on a nil *Wheel; use new(Wheel) or New")
	}
	i := w.slots.alloc()
	if i == 0 {
		i = w.allocSlot()
	}
	s := w.slots.get(i)
	s.value = v
	w.arm(i, s, at)
	w.count++
	return w.handle(i, s.gen)
}

// Reschedule arms an entry, armed or parked, for another tick. It returns false if h names no
// entry. The handle stays valid. The entry counts as newly armed: it comes after the other entries
// with its tick.
func (w *Wheel[V]) Reschedule(h Handle, at Tick) bool {
	s := w.lookup(h)
	if s == nil {
		return false
	}
	if s.pos != posParked {
		w.remove(s)
	}
	w.arm(uint32(h), s, at)
	return true
}

// Cancel removes an entry, armed or parked, and returns its value. It returns the zero V and false
// if h names no entry: it was yielded or canceled before, or it never existed.
func (w *Wheel[V]) Cancel(h Handle) (V, bool) {
	s := w.lookup(h)
	if s == nil {
		var zero V
		return zero, false
	}
	v := s.value
	w.count--
	i := uint32(h)
	if s.pos >= posBucket {
		if s.gen == lastGen {
			i = 0
		}
		w.removeLater(s, i)
		s.clear()
		return v, true
	}
	if s.pos != posParked {
		w.removeRecent(s.pos)
	}
	w.freeSlot(i, s)
	return v, true
}

// Lookup returns the tick and the value of an entry, and false if h names no entry. The tick
// is the one that the entry was armed for, or Now() at that moment if that was later. It is
// [Never] if the entry is parked.
func (w *Wheel[V]) Lookup(h Handle) (Tick, V, bool) {
	s := w.lookup(h)
	if s == nil {
		var zero V
		return 0, zero, false
	}
	return s.tick(), s.value, true
}

// All ranges over every entry, armed and parked, in no particular order. The loop body may call
// every method of the wheel. An entry that it removes is not yielded afterwards. An entry that it
// arms may or may not be yielded. All takes time in proportion to the largest number of entries
// that the wheel has held since Trim.
func (w *Wheel[V]) All() iter.Seq2[Handle, V] {
	return func(yield func(Handle, V) bool) {
		if w == nil {
			return
		}
		for b := 0; b < len(w.slots.slabs); b++ {
			for k := 0; k < len(w.slots.slabs[b]); k++ {
				if k&63 == 0 && w.slots.free.words[(b<<slabBits+k)>>6] == ^uint64(0) {
					k += 63 // 64 free slots
					continue
				}
				s := &w.slots.slabs[b][k]
				if s.pos != posFree && !yield(w.handle(uint32(b<<slabBits+k), s.gen), s.value) {
					return
				}
			}
		}
	}
}

// Now returns the latest tick that Advance, Pop or Peek was called with, or the tick of a later
// Rewind. Before the first such call it returns the tick that was given to New.
func (w *Wheel[V]) Now() Tick {
	if w == nil {
		return 0
	}
	return w.now
}

// Len returns the number of entries, armed and parked.
func (w *Wheel[V]) Len() int {
	if w == nil {
		return 0
	}
	return w.count
}

func (w *Wheel[V]) handle(i, gen uint32) Handle {
	return Handle(gen^w.seed)<<32 | Handle(i)
}

// lookup returns the slot that h names, or nil if h names no entry.
func (w *Wheel[V]) lookup(h Handle) *slot[V] {
	if w != nil {
		s := w.slots.find(uint32(h))
		if s != nil && s.gen^w.seed == uint32(h>>32) && s.pos != posFree {
			return s
		}
	}
	return nil
}

// lastGen is a slot's last generation. A slot that has used up its generations is not added to the
// free set, and is thus never used again.
const lastGen = 1<<32 - 1

// freeSlot frees slot i, whose entry has left its bucket.
func (w *Wheel[V]) freeSlot(i uint32, s *slot[V]) {
	if s.gen != lastGen {
		w.slots.free.add(i)
	}
	s.clear()
}

// clear marks a slot as free. The caller adds it to the free set, now or later.
func (s *slot[V]) clear() {
	var zero V
	s.value = zero
	s.pos = posFree
	s.gen++
}
