// Package stripe has a counter that many goroutines can change at once without getting
// in each other's way, and the hash of the stack address that makes it so.
package stripe

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// line is the distance at which two variables do not slow each other down. Cache lines
// have 64 bytes on amd64, but the prefetcher of Intel's processors fetches them in
// aligned pairs, so that a neighbour 64 bytes away is still dragged to and fro; on
// Apple's arm64 a line has 128 bytes.
const line = 128

const (
	// maxStripes bounds what a Sum has to read and what a Counter takes: 128 KiB.
	maxStripes = 1024
	// stripesPerP makes it improbable that two of the goroutines that run at the same
	// time share a stripe: see multiplier.
	stripesPerP = 4
)

// A Counter is a 64-bit number that any goroutine may add to at any time. It is kept as
// the sum of several, the stripes, each in cache lines of its own. An Add changes the
// stripe at which its goroutine is at home, and so mostly finds it in the cache of its
// processor; with one atomic variable the line would travel with every Add. A Sum reads
// them all: a Counter is for numbers that change often and are read now and then.
//
// The zero Counter is ready to use and has one stripe, which lies in the Counter itself.
// New makes one with more. A Counter must not be copied after first use.
//
// Arithmetic is modulo 2^64, in a stripe and in a sum. What one stripe holds has no
// meaning by itself: +1 and -1 from two goroutines, or from one whose stack has moved,
// may be in two of them.
type Counter struct {
	head
	_ [line - unsafe.Sizeof(head{})]byte
}

// head is what an Add has to read. It does not change after New, but for one in a zero
// Counter, and it is padded like a stripe: beside something that is written all the time
// it would have to be fetched for every Add.
type head struct {
	one     atomic.Int64 // the only stripe of a zero Counter, else not in use
	stripes []stripe     // 2^k of them, or none in a zero Counter
	shift   uint8        // 32 - k: leaves the k high bits of a hint
}

// A stripe fills its cache lines. The allocator aligns an array of 2^k of them to its
// size or to a page, so that those at the ends have no strangers in their lines either.
type stripe struct {
	n atomic.Int64
	_ [line - unsafe.Sizeof(atomic.Int64{})]byte
}

// New returns a Counter at zero with the given number of stripes, rounded up to a power
// of two, at most 1024. With 0 or less there are four or more for each P: GOMAXPROCS as
// it is now, since the stripes of a Counter stay as they are.
func New(stripes int) *Counter {
	if stripes <= 0 {
		stripes = stripesPerP * runtime.GOMAXPROCS(0)
	}
	k := bits.Len(uint(min(stripes, maxStripes) - 1))
	return &Counter{head: head{stripes: make([]stripe, 1<<k), shift: uint8(32 - k)}}
}

// Add adds delta, which may be negative. It never blocks and does not allocate.
func (c *Counter) Add(delta int64) {
	// In a zero Counter no index is in range, whatever the hint.
	if i := uint64(Hint()) >> (c.shift & 63); i < uint64(len(c.stripes)) {
		c.stripes[i].n.Add(delta)
		return
	}
	c.one.Add(delta)
}

// Sum returns the sum of what has been added, less what Reset has taken. It is exact if
// no Add or Reset is under way.
//
// Otherwise it is no snapshot, as the stripes are read one after the other: every Add
// that returned before Sum was called is counted, none that is called after Sum has
// returned, and each of those under way at some time in between is counted or not,
// independently of the others and of their order. So if all of these are increments, the
// result is at least what the counter was when Sum was called, and at most what it is when
// Sum returns; if all are decrements, it is the other way round. If there are both, the
// result may be a number that the counter never was, off by at most the sum of those
// increments or of those decrements. A counter that never was negative can then show a
// negative sum: of +1 and the -1 that follows it, only the latter was counted. A Reset
// counts as one Add for each stripe.
func (c *Counter) Sum() int64 {
	sum := c.one.Load()
	for i := range c.stripes {
		sum += c.stripes[i].n.Load()
	}
	return sum
}

// Reset sets the counter to zero, stripe by stripe, and returns what it took. Every Add is
// taken once or still there: the results of all Resets and a Sum when all is quiet make
// up the sum of all Adds, whatever runs at the same time. An Add that is under way may be
// taken or left, independently of others, as described at Sum.
func (c *Counter) Reset() int64 {
	taken := c.one.Swap(0)
	for i := range c.stripes {
		taken += c.stripes[i].n.Swap(0)
	}
	return taken
}
