package wheel

import "math/bits"

// A bitset is a set of small numbers that finds its lowest word of members in a few
// steps: it has a bit per number, a bit per word of those, and a bit per word of
// these in turn.
//
//	top     …01                     one word per 262,144 numbers
//	groups  …0110     …00
//	words   00 30 01 00 …
//
// A word that is not zero has its bit in groups, and a group that is not zero its
// bit in top. The converse need not hold: whoever empties a word leaves those bits
// to be cleared by the next search that they mislead.
type bitset struct {
	words  []uint64
	groups []uint64
	top    []uint64
}

// reserve makes room for the numbers below n.
func (b *bitset) reserve(n uint32) {
	b.words = widen(b.words, int(n>>6)+1)
	b.groups = widen(b.groups, int(n>>12)+1)
	b.top = widen(b.top, int(n>>18)+1)
}

// widen makes a table at least n long. It doubles, where append would add a quarter to
// a large one, for to copy that takes long: on the way to ten million entries, half a
// millisecond for a megabyte.
func widen[T any](s []T, n int) []T {
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

func (b *bitset) add(i uint32) {
	w := i >> 6
	if b.words[w] == 0 {
		b.groups[w>>6] |= 1 << (w & 63)
		b.top[w>>12] |= 1 << (w >> 6 & 63)
	}
	b.words[w] |= 1 << (i & 63)
}

// lowestWord returns the lowest word that is not zero.
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
