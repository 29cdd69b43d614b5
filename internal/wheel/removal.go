package wheel

import "math/bits"

// A removal is a ref that is still in its bucket although its entry has left it, because the entry
// was canceled, parked or moved. The caller of Cancel needs only the slot. Removing the ref touches
// the chunkMeta, the bucket and the free set, which are in other cache lines. The wheel therefore
// defers that until it can remove a few refs together, so that their cache misses overlap and no
// caller waits for them.
//
// Until then the bucket counts the ref as live, but no slot has its position. Everything that reads
// a bucket or moves refs must finish the removals first.
type removal struct {
	at   Tick   // the tick of the entry
	pos  refPos // the position of the ref
	slot uint32 // the slot to be added to the free set; 0: none
}

// removalMax is the number of removals that the wheel defers. It limits the work of a single call,
// because in the worst case each removal compacts a bucket.
const removalMax = 16

// remove removes an armed entry, which keeps its slot, from its bucket or from the recent entries.
// The caller then changes s.pos.
func (w *Wheel[V]) remove(s *slot[V]) {
	if s.pos < posBucket {
		w.removeRecent(s.pos)
		return
	}
	w.removeLater(s, 0)
}

// removeLater defers the removal of an entry's ref from its bucket. The slot with the given number
// is then added to the free set, unless the number is 0. The caller changes s.pos.
func (w *Wheel[V]) removeLater(s *slot[V], slot uint32) {
	r := &w.removals[w.removalCount&(removalMax-1)]
	r.at, r.pos, r.slot = s.at, s.pos, slot
	w.removalCount++
	if w.removalCount == removalMax {
		w.finishRemovals()
	}
}

// finishRemovals removes the refs of all removals, newest first, because the last ref of a bucket
// can be removed without a trace. It cleans up only when all of them are out, because a compaction
// must not meet a ref whose slot has another position.
//
//go:noinline
func (w *Wheel[V]) finishRemovals() {
	sum := uint32(0)
	for k := range w.removalCount {
		sum += w.touchRef(w.removals[k&(removalMax-1)].pos)
	}
	w.prefetchSink = sum
	untidy := uint32(0)
	for k := int(w.removalCount) - 1; k >= 0; k-- {
		r := &w.removals[k&(removalMax-1)]
		if r.slot != 0 {
			w.slots.free.add(r.slot)
		}
		if w.removeRef(r.pos) {
			untidy |= 1 << k
		}
	}
	w.removalCount = 0
	for ; untidy != 0; untidy &= untidy - 1 {
		r := &w.removals[bits.TrailingZeros32(untidy)&(removalMax-1)]
		w.cleanUp(r.pos, r.at)
	}
}

// cancelMax is the number of entries that CancelNumbered removes together: as many as untidy in
// cancelTogether has bits. That is more than the cache misses that a CPU can have in flight.
const cancelMax = 32

// cancelTogether removes the entries with the given numbers, at most cancelMax of them. It reads
// all slots before it changes the first one, so that their cache misses overlap. Then it proceeds
// as finishRemovals does, for the same reasons.
func (w *Wheel[V]) cancelTogether(numbers []uint32) (removed int) {
	var slots [cancelMax]*slot[V]
	var refs [cancelMax]refPos
	sum := uint32(0)
	for k, i := range numbers {
		if s := w.slots.find(i); s != nil {
			slots[k&(cancelMax-1)] = s
			sum += s.gen
		}
	}
	for k := range numbers {
		if s := slots[k&(cancelMax-1)]; s != nil && s.pos >= posBucket {
			sum += w.touchRef(s.pos)
		}
	}
	w.prefetchSink = sum
	if w.removalCount != 0 {
		w.finishRemovals()
	}
	untidy := uint32(0)
	for k := len(numbers) - 1; k >= 0; k-- {
		s := slots[k&(cancelMax-1)]
		if s == nil || s.pos == posFree {
			continue
		}
		removed++
		switch pos := s.pos; {
		case pos >= posBucket:
			if w.removeRef(pos) {
				untidy |= 1 << (k & (cancelMax - 1))
				refs[k&(cancelMax-1)] = pos
			}
		case pos != posParked:
			w.removeRecent(pos)
		}
		w.freeSlot(numbers[k], s)
	}
	w.count -= removed
	for ; untidy != 0; untidy &= untidy - 1 {
		k := bits.TrailingZeros32(untidy) & (cancelMax - 1)
		w.cleanUp(refs[k], slots[k].at)
	}
	return removed
}
