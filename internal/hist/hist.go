// Package hist has a histogram of durations that is small, always on and never wrong by
// more than a sixteenth.
package hist

import (
	"iter"
	"math"
	"math/bits"
)

const (
	subBits = 4            // an octave has 2^subBits buckets
	subs    = 1 << subBits // so a bound exceeds a value in its bucket by less than 1/subs

	// buckets is enough for every int64: 2*subs buckets of one value each, then subs for
	// each octave from 2*subs to 2^63. A lateness of hours, after a suspend, is counted
	// like any other, and there is no last bucket with rules of its own.
	buckets = (63 - subBits + 1) * subs
)

// A Hist counts non-negative numbers, by intention nanoseconds, in buckets that are
// exact up to 31 and at most a sixteenth as wide as the numbers in them from there on:
//
//	bucket      numbers         width
//	  0 …  31   0 … 31          1
//	 32 …  47   32 … 63         2
//	 48 …  63   64 … 127        4
//	        …   …               …
//	944 … 959   2^62 … 2^63-1   2^58
//
// The zero Hist is empty and ready to use. It takes 7.5 KiB and holds no pointers.
//
// A Hist has one owner, who alone may call its methods, the reading ones included: its
// counters are plain, as an atomic one would cost more than all the rest of Record. To
// see what several owners have recorded, Merge each, under the lock of its owner, into
// one that nobody else has.
type Hist struct {
	counts [buckets]uint64 // a billion a second take 584 years to fill one
	count  uint64          // the sum of counts
	max    int64           // the largest number, exactly; no bucket beyond its own is in use

	// hi and lo are the sum of all numbers in 128 bits. A million timers a second, each a
	// millisecond late, fill an int64 in 106 days, and the mean would sink from then on.
	hi, lo uint64
}

// index returns the bucket of v: the five highest bits of v, and how far they stand from
// the right. v is below 2^63.
func index(v uint64) int {
	shift := bits.Len64(v|subs) - (subBits + 1)
	return shift<<subBits + int(v>>(shift&63))
}

// upper returns the largest number that belongs into bucket i. For the last one the
// shift gives 2^63, which wraps, and wraps back.
func upper(i int) int64 {
	shift := max(i>>subBits-1, 0)
	return int64(i-shift<<subBits+1)<<shift - 1
}

// Record counts v, and counts it as 0 if it is negative.
func (h *Hist) Record(v int64) {
	v = max(v, 0)
	h.counts[index(uint64(v))]++
	h.count++
	h.max = max(h.max, v)
	var carry uint64
	h.lo, carry = bits.Add64(h.lo, uint64(v), 0)
	h.hi += carry
}

// Merge adds all that o has recorded, as if h had recorded it too. o stays as it is, unless
// it is h, which then has everything twice.
func (h *Hist) Merge(o *Hist) {
	if o.count == 0 {
		return
	}
	last := index(uint64(o.max))
	for i, n := range o.counts[:last+1] {
		h.counts[i] += n
	}
	h.count += o.count
	h.max = max(h.max, o.max)
	var carry uint64
	h.lo, carry = bits.Add64(h.lo, o.lo, 0)
	h.hi += o.hi + carry
}

// Quantile returns a bound for the q-quantile, which is the smallest number recorded that
// a share q of all do not exceed: the one of rank ⌈q·Count⌉ in order of size, the product
// being one of float64s. The result is that number or more, by less than a sixteenth of
// it, and never more than Max. With q <= 0 it is the bound for the smallest number, with
// q >= 1 it is Max, with NaN or in an empty Hist it is 0.
func (h *Hist) Quantile(q float64) int64 {
	switch {
	case h.count == 0 || math.IsNaN(q):
		return 0
	case q >= 1:
		return h.max
	}
	// As q < 1, the product is below 2^64, and a uint64 can hold it. What is not in the
	// buckets below that of max is in that one, and max is the best bound for it.
	rank := max(uint64(math.Ceil(max(q, 0)*float64(h.count))), 1)
	var below uint64
	for i := range h.counts[:index(uint64(h.max))] {
		if below += h.counts[i]; below >= rank {
			return upper(i)
		}
	}
	return h.max
}

// Count returns how many numbers have been recorded.
func (h *Hist) Count() uint64 { return h.count }

// Max returns the largest number recorded, exactly, or 0 if there is none.
func (h *Hist) Max() int64 { return h.max }

// Sum returns the sum of all numbers recorded, exactly, or the largest int64 if it is more
// than that.
func (h *Hist) Sum() int64 {
	if h.hi != 0 || h.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(h.lo)
}

// Mean returns the mean of all numbers recorded, exactly but for the fraction, which is cut
// off, or 0 if there is none. It is right also when Sum is not.
func (h *Hist) Mean() int64 {
	if h.count == 0 {
		return 0
	}
	// The mean is below 2^63, so hi is below count, as Div64 requires.
	mean, _ := bits.Div64(h.hi, h.lo, h.count)
	return int64(mean)
}

// All yields the buckets that are not empty, in order: the largest number that belongs
// into each, and how many are in it. The bounds are the same in every Hist, so the last one
// may be more than Max. h must not be changed meanwhile.
func (h *Hist) All() iter.Seq2[int64, uint64] {
	return func(yield func(upper int64, count uint64) bool) {
		for i, left := 0, h.count; left > 0; i++ {
			n := h.counts[i]
			if n == 0 {
				continue
			}
			if left -= n; !yield(upper(i), n) {
				return
			}
		}
	}
}
