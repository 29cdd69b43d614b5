// Package stripe spreads goroutines over several copies of a thing, by a hash of the address of
// their stacks, so that they do not contend for one of them. Its Counter uses that.
package stripe

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// line is the distance at which two variables do not slow each other down. A cache line has 64
// bytes on amd64. But the prefetcher of Intel processors fetches lines in aligned pairs, so a
// variable 64 bytes away would still move between processors. On arm64 processors of Apple a
// cache line has 128 bytes.
const line = 128

const (
	// maxStripes bounds the memory of a Counter, to 128 KiB, and the work of Sum.
	maxStripes = 1024
	// stripesPerP is the number of stripes for each P. It makes it unlikely that two goroutines
	// that run at the same time share a stripe, see multiplier.
	stripesPerP = 4
)

// A Counter is a 64-bit number that several goroutines may change at the same time. Its value
// is the sum of several numbers, the stripes, which do not share cache lines. Add changes the
// stripe that Hint picks for the calling goroutine. In most cases that stripe is in the cache of
// its processor. With one atomic variable, the cache line would move between processors for
// every Add. Sum reads all stripes. So a Counter is for numbers that change often and are read
// rarely.
//
// The zero Counter is ready to use. It has one stripe, which is part of the Counter. New makes
// a Counter with more. A Counter must not be copied after its first use.
//
// Arithmetic is modulo 2^64, in a stripe and in a sum. The value of one stripe has no meaning
// by itself: +1 and -1 of two goroutines, or of one whose stack has moved, may be in two
// stripes.
type Counter struct {
	head
	_ [line - unsafe.Sizeof(head{})]byte
}

// head is the part of a Counter that Add reads. It does not change after New, except for one in
// a zero Counter. It is padded like a stripe: if a variable in the same cache line were written
// often, every Add would have to fetch the line.
type head struct {
	one     atomic.Int64 // the only stripe of a zero Counter; not used in others
	stripes []stripe     // 2^k stripes; none in a zero Counter
	shift   uint8        // 32 - k: a hint shifted right by it has its k high bits left
}

// A stripe fills its cache lines. The allocator aligns an array of 2^k stripes to its size or
// to a page, so the first and the last stripe do not share a cache line with other objects.
type stripe struct {
	n atomic.Int64
	_ [line - unsafe.Sizeof(atomic.Int64{})]byte
}

// New returns a Counter that is zero. It has the given number of stripes, rounded up to a power
// of two, and at most 1024. If the number is 0 or less, there are at least four stripes for each
// P, within that limit. Their number does not follow later changes of GOMAXPROCS.
func New(stripes int) *Counter {
	if stripes <= 0 {
		stripes = stripesPerP * runtime.GOMAXPROCS(0)
	}
	k := bits.Len(uint(min(stripes, maxStripes) - 1))
	return &Counter{head: head{stripes: make([]stripe, 1<<k), shift: uint8(32 - k)}}
}

// Add adds delta, which may be negative. It never blocks and does not allocate.
func (c *Counter) Add(delta int64) {
	// In a zero Counter no index is in range.
	if i := uint64(Hint()) >> (c.shift & 63); i < uint64(len(c.stripes)) {
		c.stripes[i].n.Add(delta)
		return
	}
	c.one.Add(delta)
}

// Sum returns the value of the counter: all that was added, less what Reset has taken. It is
// exact if no Add or Reset runs at the same time.
//
// Otherwise it is not a snapshot, because the stripes are read one after the other. An Add that
// has returned before the call of Sum is counted. An Add that is called after Sum has returned
// is not counted. Each Add that runs concurrently with Sum is counted or not, independently of
// the others and of their order. It follows:
//
//   - If the concurrent Adds are all increments, the result is at least the value at the call of
//     Sum, and at most the value when Sum returns. If all are decrements, it is the other way
//     round.
//   - If there are both, the counter may never have had the value that Sum returns. The error is
//     at most the sum of the increments, or of the decrements. So Sum may be negative although
//     the counter never was: of a +1 and the -1 after it, only the -1 was counted.
//
// A Reset counts as one Add for each stripe.
func (c *Counter) Sum() int64 {
	sum := c.one.Load()
	for i := range c.stripes {
		sum += c.stripes[i].n.Load()
	}
	return sum
}

// Reset sets the counter to zero, stripe by stripe, and returns the sum of what it has taken
// from the stripes. Each Add is taken by exactly one Reset, or is still in the counter. So the
// results of all Resets, plus a Sum at the end, are the sum of all Adds. An Add that runs
// concurrently with Reset is taken or not, independently of the others, as described at Sum.
func (c *Counter) Reset() int64 {
	taken := c.one.Swap(0)
	for i := range c.stripes {
		taken += c.stripes[i].n.Swap(0)
	}
	return taken
}
