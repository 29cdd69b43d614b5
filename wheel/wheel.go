package wheel

import "iter"

// A Tick is a point in time, in units of the caller's choice.
type Tick uint64

// A Handle names one entry of one wheel for ever. The zero Handle names none.
//
// It holds the number of the entry's slot and the generation of that slot, so that
// it goes stale with its entry and stays stale when the slot is used again. The
// generation is mixed with a number that each wheel draws at random: a handle of
// another wheel is as good as a forged one and answers false, but for one chance in
// 2^32.
type Handle uint64

// Number returns the half of the handle that tells apart the entries which are in a wheel at
// one time. When an entry is gone, another may get its number.
func (h Handle) Number() uint32 { return uint32(h) }

// A Wheel holds entries, each a payload of type V due at a tick, and yields them
// in the order of their ticks, those of one tick in the order in which they were
// armed. Scheduling, rescheduling and cancelling are the same few steps whatever else
// the wheel holds.
//
// The zero Wheel is empty, at tick 0, and ready to use. A Wheel must not be copied
// after first use, and is not safe for concurrent use: it has one owner, the
// goroutine that holds the lock beside it. A nil *Wheel reads as an empty wheel at
// tick 0; Schedule on it panics.
type Wheel[V any] struct {
	now    Tick // the latest tick that Advance was called with
	cursor Tick // how far the trie has been worked off; cursor <= now

	// path is the open way from the root of the trie to the cursor: path[k] is the
	// node of level k whose range contains the cursor, nil if it was never needed.
	// Its length lets a level index it without a bounds check.
	path  [16]*node
	nodes []*node  // every node by its id; nil where one was given back
	spare []uint32 // ids of nodes not in use

	slots  arena[slot[V]]
	chunks arena[chunk]
	marks  []mark   // by chunk
	born   []uint32 // by slab of slots: the generation its slots begin with
	seed   uint32   // mixed into the generation of handles; drawn with the first slot
	count  int

	pass    passKind
	fence   uint32 // while Advance runs: the first chunk of entries made due by its body
	moved   uint32 // goes up whenever words of a chain are moved or its chunks freed
	compact int    // the bucket that Compact looks at next: index of the node and digit
	touch   uint32 // where ahead and Ahead leave what they read, so that it is not optimised away
}

// passKind says which iterator is under way.
type passKind uint8

const (
	noPass passKind = iota
	advancing
	draining
)

// A slot is the home of one entry, for as long as the entry lives.
type slot[V any] struct {
	at  Tick
	gen uint32 // goes up each time the slot is freed
	pos uint32 // the word that names this slot; 0: the slot is free; parked: in no bucket
	v   V
}

// Schedule arms a new entry and returns its handle. An entry with at <= Now() is
// armed for Now(): it is due at the next Advance, behind all that is due already.
// Schedule panics if the wheel is nil, or full, which takes 17 GB of buckets or 2^31
// entries.
func (w *Wheel[V]) Schedule(at Tick, v V) Handle {
	if w == nil {
		panic("wheel: Schedule on a nil *Wheel; use new(Wheel) or New")
	}
	i := w.slots.alloc()
	if i == 0 {
		i = w.slots.allocSlow(w.growSlots)
	}
	s := w.slots.get(i)
	s.v = v
	w.file(i, s, at)
	w.count++
	return w.handle(i, s.gen)
}

// Reschedule moves an entry, armed or parked, to another tick and tells whether there
// was one to move. The handle stays good. It counts as arming anew: among the entries of its
// tick the entry is now the last.
func (w *Wheel[V]) Reschedule(h Handle, at Tick) bool {
	s := w.lookup(h)
	if s == nil {
		return false
	}
	if s.pos != parked && w.detach(s.pos) {
		w.tidy(s.pos, s.at)
	}
	w.file(uint32(h), s, at)
	return true
}

// Cancel removes an entry and returns its payload. It answers false, and the zero
// V, if h names no entry: because it has fired or been cancelled, or never was.
func (w *Wheel[V]) Cancel(h Handle) (V, bool) {
	s := w.lookup(h)
	if s == nil {
		var zero V
		return zero, false
	}
	v := s.v
	pos := s.pos
	untidy := pos != parked && w.detach(pos)
	w.release(uint32(h), s)
	w.count--
	if untidy {
		w.tidy(pos, s.at)
	}
	return v, true
}

// Lookup returns the tick and the payload of an entry. The tick is the one that it
// was armed for, or the Now() of that moment if this was later; [Never] if it is
// parked.
func (w *Wheel[V]) Lookup(h Handle) (Tick, V, bool) {
	s := w.lookup(h)
	if s == nil {
		var zero V
		return 0, zero, false
	}
	if s.pos == parked {
		return Never, s.v, true
	}
	return s.at, s.v, true
}

// All ranges over every entry, in no particular order. Its body may use every
// method of the wheel: an entry that is removed before its turn is not yielded, one
// that is armed on the way may be or may not. All takes time in proportion to the most
// entries that the wheel has ever held since Trim.
func (w *Wheel[V]) All() iter.Seq2[Handle, V] {
	return func(yield func(Handle, V) bool) {
		if w == nil {
			return
		}
		for b := 0; b < len(w.slots.slabs); b++ {
			for k := 0; k < len(w.slots.slabs[b]); k++ {
				if k&63 == 0 && w.slots.free.words[(b<<slabBits+k)>>6] == ^uint64(0) {
					k += 63 // a word of free slots
					continue
				}
				s := &w.slots.slabs[b][k]
				if s.pos != 0 && !yield(w.handle(uint32(b<<slabBits+k), s.gen), s.v) {
					return
				}
			}
		}
	}
}

// Now returns the latest tick that Advance, Pop or Peek was called with, at first the one
// given to New.
func (w *Wheel[V]) Now() Tick {
	if w == nil {
		return 0
	}
	return w.now
}

// Len returns the number of entries.
func (w *Wheel[V]) Len() int {
	if w == nil {
		return 0
	}
	return w.count
}

func (w *Wheel[V]) handle(i, gen uint32) Handle {
	return Handle(gen^w.seed)<<32 | Handle(i)
}

// lookup returns the slot that h names, or nil if h is stale, forged or zero.
func (w *Wheel[V]) lookup(h Handle) *slot[V] {
	if w != nil {
		s := w.slots.find(uint32(h))
		if s != nil && s.gen^w.seed == uint32(h>>32) && s.pos != 0 {
			return s
		}
	}
	return nil
}

// release frees the slot of an entry that has left its bucket. A slot whose
// generations are used up is not handed out again.
func (w *Wheel[V]) release(i uint32, s *slot[V]) {
	var zero V
	s.v = zero
	s.pos = 0
	s.gen++
	if s.gen != 0 {
		w.slots.free.add(i)
	}
}
