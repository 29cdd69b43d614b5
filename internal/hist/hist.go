// Package hist provides a histogram of durations that is small, cheap enough to be always on, and
// accurate to a sixteenth.
package hist

import (
	"iter"
	"math"
	"math/bits"
)

const (
	subBits = 4            // an octave is divided into 2^subBits buckets
	subs    = 1 << subBits // so a bucket's upper bound exceeds its values by less than 1/subs of them

	// buckets is enough for every non-negative int64: 2*subs buckets of one value each, then subs
	// buckets for each octave from 2*subs to 2^63. A lateness of hours, after the machine was
	// suspended, is therefore counted like any other, and the last bucket is not special.
	buckets = (63 - subBits + 1) * subs
)

// A Hist counts non-negative numbers, usually nanoseconds, in buckets. Each number up to 31 has its
// own bucket. From there on, a bucket is at most a sixteenth as wide as the numbers in it:
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
// A Hist has one owner at a time. Only the owner may call its methods, even those that only read:
// the counters are not atomic, because an atomic counter would cost more than the rest of Record.
// To read the histograms of several owners, Merge each of them into a private one, under its
// owner's lock.
type Hist struct {
	counts [buckets]uint64 // a billion numbers per second would take 584 years to overflow one
	count  uint64          // the sum of counts
	max    int64           // the largest number, see Max; the buckets after its own are empty

	// hi and lo are the 128-bit sum of all numbers. A million timers per second, each a millisecond
	// late, would overflow an int64 in 106 days.
	hi, lo uint64
}

// index returns the bucket of v, which is below 2^63. It combines the five highest bits of v with
// the number of bits below them.
func index(v uint64) int {
	shift := bits.Len64(v|subs) - (subBits + 1)
	return shift<<subBits + int(v>>(shift&63))
}

// upper returns the largest number in bucket i. For the last bucket the shift overflows to -2^63,
// and subtracting 1 gives 2^63-1.
func upper(i int) int64 {
	shift := max(i>>subBits-1, 0)
	return int64(i-shift<<subBits+1)<<shift - 1
}

// Record counts v. A negative v counts as 0.
func (h *Hist) Record(v int64) {
	v = max(v, 0)
	h.counts[index(uint64(v))]++
	h.count++
	h.max = max(h.max, v)
	var carry uint64
	h.lo, carry = bits.Add64(h.lo, uint64(v), 0)
	h.hi += carry
}

// RecordN counts v n times.
func (h *Hist) RecordN(v int64, n uint64) {
	if n == 0 {
		return
	}
	v = max(v, 0)
	h.counts[index(uint64(v))] += n
	h.count += n
	h.max = max(h.max, v)
	high, low := bits.Mul64(uint64(v), n)
	var carry uint64
	h.lo, carry = bits.Add64(h.lo, low, 0)
	h.hi += high + carry
}

// Merge adds everything that o has recorded to h, and does not change o. If o is h, everything
// counts twice.
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

// Sub removes from h everything that is in earlier, an earlier snapshot of h, and leaves what was
// recorded since. It knows the largest of these numbers only by its bucket, so Max may be too large
// by less than a sixteenth. If earlier cannot be a snapshot of h, Sub only returns false.
func (h *Hist) Sub(earlier *Hist) bool {
	var d Hist
	for i, n := range h.counts {
		before := earlier.counts[i]
		if n < before {
			return false
		}
		if n -= before; n > 0 {
			d.counts[i] = n
			d.count += n
			d.max = min(upper(i), h.max)
		}
	}
	var borrow uint64
	d.lo, borrow = bits.Sub64(h.lo, earlier.lo, 0)
	d.hi, borrow = bits.Sub64(h.hi, earlier.hi, borrow)
	// The mean is at most max, unless the two hold different numbers in the same buckets.
	hi, lo := bits.Mul64(d.count, uint64(d.max))
	if borrow != 0 || d.hi > hi || d.hi == hi && d.lo > lo {
		return false
	}
	*h = d
	return true
}

// Quantile returns an upper bound for the q-quantile, which is the recorded number whose rank in
// ascending order is ⌈q·Count⌉, with the product computed in float64. The bound is at least that
// number, exceeds it by less than a sixteenth of it, and is never more than Max. For q <= 0 it is
// the bound for the smallest number, for q >= 1 it is Max, and for NaN or an empty Hist it is 0.
func (h *Hist) Quantile(q float64) int64 {
	switch {
	case h.count == 0 || math.IsNaN(q):
		return 0
	case q >= 1:
		return h.max
	}
	// Since q < 1, the product is below 2^64 and fits into a uint64. A number that is in none of
	// the buckets before max's is in max's own, for which max is the best bound.
	rank := max(uint64(math.Ceil(max(q, 0)*float64(h.count))), 1)
	var below uint64
	for i := range h.counts[:index(uint64(h.max))] {
		if below += h.counts[i]; below >= rank {
			return upper(i)
		}
	}
	return h.max
}

// Count returns the number of recorded numbers.
func (h *Hist) Count() uint64 { return h.count }

// Max returns the largest recorded number, or 0 if there is none. It is exact, except after Sub.
func (h *Hist) Max() int64 { return h.max }

// Sum returns the exact sum of all recorded numbers, or the largest int64 if the sum is larger.
func (h *Hist) Sum() int64 {
	if h.hi != 0 || h.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(h.lo)
}

// Mean returns the mean of all recorded numbers, rounded down, or 0 if there is none. It is correct
// even if the sum does not fit into an int64.
func (h *Hist) Mean() int64 {
	if h.count == 0 {
		return 0
	}
	// The mean is below 2^63, so hi is below count, as Div64 requires.
	mean, _ := bits.Div64(h.hi, h.lo, h.count)
	return int64(mean)
}

// All yields the non-empty buckets in ascending order: the upper bound of each, and the count of
// the numbers in it. The bounds are the same in every Hist, so the last one may be more than Max. h
// must not change during the iteration.
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
