package wheel

import "math/bits"

// Ahead appends to dst pointers to the payloads of the entries that Pop will return next,
// as far as there is room in dst without growing and as far as they can be told: those that
// are due and in the block of 64 ticks that the wheel has come to. It moves nothing.
// The pointers are good until the next call that makes, arms or removes an entry.
//
// The entries that are due at a time lie anywhere in memory, and one that is popped, used
// and armed again before the next is popped costs its cache misses by itself. Whoever
// looks at all that Ahead returns first, and then pops them, has them overlap. Ahead itself
// reads the slots.
func (w *Wheel[V]) Ahead(dst []*V) []*V {
	if w == nil || w.path[0] == nil {
		return dst
	}
	n := w.path[0]
	due := n.occupied
	if w.now^w.cursor < fanOut {
		due &= 2<<(w.now&digitMask) - 1
	}
	sum := uint32(0)
	for ; due != 0; due &= due - 1 {
		b := &n.branch[bits.TrailingZeros64(due)]
		c := b.head
		for range b.size {
			words := w.chunks.get(c)
			for live := w.alive(b, c); live != 0; live &= live - 1 {
				if len(dst) == cap(dst) {
					w.touch = sum
					return dst
				}
				s := w.slots.get(words[bits.TrailingZeros32(live)&31])
				sum += s.gen
				dst = append(dst, &s.v)
			}
			c = words[chunkNext]
		}
	}
	w.touch = sum
	return dst
}
