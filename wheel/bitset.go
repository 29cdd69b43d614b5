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
	widen(&b.words, n>>6)
	widen(&b.groups, n>>12)
	widen(&b.top, n>>18)
}

// widen makes s long enough for index i.
func widen(s *[]uint64, i uint32) {
	if more := int(i) + 1 - len(*s); more > 0 {
		*s = append(*s, make([]uint64, more)...)
	}
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
