package wheel

import (
	"math/bits"
	"math/rand/v2"
)

// maxSlotSlabs bounds the entries of one wheel to 2^31.
const maxSlotSlabs = 1 << (31 - slabBits)

// New returns an empty wheel at the given tick with memory for capacity entries.
// A negative capacity counts as 0; a wheel grows as needed in any case.
func New[V any](now Tick, capacity int) *Wheel[V] {
	w := &Wheel[V]{now: now, cursor: now}
	capacity = min(capacity, (maxSlotSlabs-1)<<slabBits)
	for capacity > 0 && w.slots.capacity() < capacity {
		w.growSlots()
	}
	for capacity > 0 && w.chunks.capacity()*chunkWords < capacity {
		w.growChunks()
	}
	return w
}

// Cap returns the number of entries that the wheel has memory for.
func (w *Wheel[V]) Cap() int {
	if w == nil {
		return 0
	}
	return w.slots.capacity()
}

// Trim gives memory that the wheel no longer needs back to the garbage collector.
// It looks at the next n slabs of 1,024 entries, taking turns from call to call, and
// returns how many it gave back; with n = math.MaxInt it looks at all of them. A
// slab with an entry in it stays where it is. If n slabs would hold all entries, Trim
// also packs what else there is, which takes about as long as to arm the entries anew.
//
// A wheel never trims itself, so that one that runs empty and full again does not
// allocate.
func (w *Wheel[V]) Trim(n int) (freed int) {
	if w == nil {
		return 0
	}
	if w.pass == noPass && w.count>>slabBits < n {
		w.repack()
	}
	freed = w.slots.trim(n, func(s int) {
		for k := range w.slots.slabs[s] {
			w.born[s] = max(w.born[s], w.slots.slabs[s][k].gen)
		}
	})
	return freed + w.chunks.trim(n, func(int) {})
}

// repack moves all words into the lowest chunks there are, undoes divisions that are no
// longer called for, and lets go of spare nodes. It takes time in proportion to the
// entries, and must not be used while there is a fence.
func (w *Wheel[V]) repack() {
	w.chunks.pickFreeWord()
	for level, n := range w.path[:levels] {
		if n != nil {
			w.repackNode(n, uint(level*digitBits))
		}
	}
	for _, id := range w.spare {
		w.nodes[id] = nil
	}
}

// repackNode returns the number of entries below n, and whether any branch is open.
func (w *Wheel[V]) repackNode(n *node, shift uint) (entries uint32, open bool) {
	for left := n.occupied; left != 0; left &= left - 1 {
		d := bits.TrailingZeros64(left)
		old := n.branch[d]
		if n.open>>d&1 == 0 {
			entries += old.live
			n.branch[d] = bucket{}
			w.spread(old, n, shift)
			continue
		}
		child := w.nodes[old.head]
		below, nested := w.repackNode(child, shift-digitBits)
		entries += below
		if nested || below > bucketMax/4 {
			open = true
			continue
		}
		n.branch[d] = bucket{}
		n.open &^= 1 << d
		for ; child.occupied != 0; child.occupied &= child.occupied - 1 {
			e := bits.TrailingZeros64(child.occupied)
			w.spread(child.branch[e], n, shift)
			child.branch[e] = bucket{}
		}
		w.freeNode(child)
	}
	return entries, open
}

// growSlots adds slots. Those of a slab that was given back begin with a generation
// that none of its handles has.
func (w *Wheel[V]) growSlots() {
	if len(w.slots.slabs) == 0 {
		w.seed = rand.Uint32()
	}
	s := w.slots.grow(maxSlotSlabs)
	if s == len(w.born) {
		w.born = append(w.born, 0)
	}
	if w.born[s] != 0 {
		for k := range w.slots.slabs[s] {
			w.slots.slabs[s][k].gen = w.born[s]
		}
	}
}

// growChunks adds chunks, and room for their marks.
func (w *Wheel[V]) growChunks() {
	s := w.chunks.grow(maxChunkSlabs)
	w.marks = growTo(w.marks, s<<slabBits+len(w.chunks.slabs[s]))
}
