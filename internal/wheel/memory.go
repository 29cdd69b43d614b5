package wheel

import (
	"math/bits"
	"math/rand/v2"
)

// maxSlotSlabs limits a wheel to 2^31 entries.
const maxSlotSlabs = 1 << (31 - slabBits)

// Cap returns the number of entries that the wheel has memory for.
func (w *Wheel[V]) Cap() int {
	if w == nil {
		return 0
	}
	return w.slots.capacity()
}

// Trim releases memory that the wheel no longer needs to the garbage collector. It examines the
// next n slabs of 1,024 entries, or all of them with n = math.MaxInt, and returns how many it
// released. Later calls continue with the others. A slab that holds an entry is not released. If n
// slabs would be enough for all entries, Trim also packs the buckets into as few slabs as possible,
// which takes about as long as arming all entries again.
//
// A wheel never calls Trim itself, so that one that becomes empty and full again does not allocate.
func (w *Wheel[V]) Trim(n int) (released int) {
	if w == nil {
		return 0
	}
	w.settle()
	if w.pass == passNone && w.count>>slabBits < n {
		w.repack()
	}
	released = w.slots.trim(n, func(s int) {
		for k := range w.slots.slabs[s] {
			w.firstGen[s] = max(w.firstGen[s], w.slots.slabs[s][k].gen)
		}
	})
	return released + w.chunks.trim(n, func(int) {})
}

// repack moves all refs to the lowest chunks, undoes splits that are no longer needed, and
// releases the free nodes. It takes time in proportion to the number of entries. It must not be
// called during a pass, because it would mix deferred entries with others.
func (w *Wheel[V]) repack() {
	w.chunks.pickFreeWord()
	for level, n := range w.path[:levelCount] {
		if n != nil {
			w.repackNode(n, uint(level*digitBits))
		}
	}
	for _, id := range w.freeNodes {
		w.nodes[id] = nil
	}
}

// repackNode repacks n and everything below it. It returns the number of entries there, and
// whether any branch of n is still split.
func (w *Wheel[V]) repackNode(n *node, shift uint) (entries uint32, split bool) {
	for left := n.occupied; left != 0; left &= left - 1 {
		d := uint(bits.TrailingZeros64(left))
		old := n.branch[d]
		if !n.isSplit(d) {
			entries += old.live
			n.branch[d] = bucket{}
			w.redistribute(old, n, shift)
			continue
		}
		child := w.nodes[old.head]
		below, nested := w.repackNode(child, shift-digitBits)
		entries += below
		if nested || below > bucketLimit/4 {
			split = true
			continue
		}
		n.branch[d] = bucket{}
		n.split &^= 1 << d
		for ; child.occupied != 0; child.occupied &= child.occupied - 1 {
			e := bits.TrailingZeros64(child.occupied)
			w.redistribute(child.branch[e], n, shift)
			child.branch[e] = bucket{}
		}
		w.freeNode(child)
	}
	return entries, split
}

// allocSlot allocates a slot when the current word of the free set is empty. Freed slots come
// first, including those that are not in the free set yet.
//
//go:noinline
func (w *Wheel[V]) allocSlot() uint32 {
	w.finishRemovals()
	if i := w.slots.alloc(); i != 0 {
		return i
	}
	return w.slots.allocSlow(w.growSlots)
}

// growSlots adds slots. The slots of a slab that was released before start with a generation that
// none of that slab's handles had.
func (w *Wheel[V]) growSlots() {
	if len(w.slots.slabs) == 0 {
		w.seed = rand.Uint32()
	}
	s := w.slots.grow(maxSlotSlabs)
	if s == len(w.firstGen) {
		w.firstGen = append(w.firstGen, 0)
	}
	if w.firstGen[s] != 0 {
		for k := range w.slots.slabs[s] {
			w.slots.slabs[s][k].gen = w.firstGen[s]
		}
	}
}

// growChunks adds chunks and their meta.
func (w *Wheel[V]) growChunks() {
	s := w.chunks.grow(maxChunkSlabs)
	w.meta = growTo(w.meta, s<<slabBits+len(w.chunks.slabs[s]))
}
