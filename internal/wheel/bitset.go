package wheel

import "math/bits"

// A bitset is a set of small numbers. It finds its lowest nonzero word in a few steps, because it
// has three levels: a bit of words stands for a number, a bit of groups for a word, and a bit of
// top for an element of groups.
//
//	top     …01                     one word per 262,144 numbers
//	groups  …0110     …00           one word per 4,096 numbers
//	words   00 30 01 00 …           one word per 64 numbers
//
// If a word is not zero, its bit in groups is set. If an element of groups is not zero, its
// bit in top is set. The converse need not hold: code that clears the last bit of a word
// leaves the bits above it set, and the next lowestWord that they mislead clears them.
type bitset struct {
	words  []uint64
	groups []uint64
	top    []uint64
}

// reserve makes room for the numbers below n.
func (b *bitset) reserve(n uint32) {
	b.words = growTo(b.words, int(n>>6)+1)
	b.groups = growTo(b.groups, int(n>>12)+1)
	b.top = growTo(b.top, int(n>>18)+1)
}

// growTo returns s with at least n elements. It doubles the capacity, where append adds only a
// quarter to a large slice, because copying a large slice takes long: half a millisecond for a
// megabyte on the way to ten million entries.
func growTo[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	if n > cap(s) {
		grown := make([]T, len(s), max(n, 2*cap(s)))
		copy(grown, s)
		s = grown
	}
	return s[:n]
}

// add adds i, which must be below the reserved limit.
func (b *bitset) add(i uint32) {
	w := i >> 6
	word := b.words[w]
	b.words[w] = word | 1<<(i&63)
	if word == 0 {
		b.groups[w>>6] |= 1 << (w & 63)
		b.top[w>>12] |= 1 << (w >> 6 & 63)
	}
}

// lowestWord returns the index of the lowest word that is not zero, and false if all are
// zero.
func (b *bitset) lowestWord() (w uint32, ok bool) {
	for t := range b.top {
		for ; b.top[t] != 0; b.top[t] &= b.top[t] - 1 {
			g := t<<6 | bits.TrailingZeros64(b.top[t])
			for ; b.groups[g] != 0; b.groups[g] &= b.groups[g] - 1 {
				w := g<<6 | bits.TrailingZeros64(b.groups[g])
				if b.words[w] != 0 {
					return uint32(w), true
				}
			}
		}
	}
	return 0, false
}
