// Package stackhash spreads goroutines over several copies of a thing, by a hash of their stack
// addresses, so that they do not contend for one copy.
package stackhash

import "unsafe"

// granule is the binary logarithm of the smallest goroutine stack's size. The hash of an address
// depends only on its granule, the aligned block of that size that the address is in. Two
// goroutines are never in the same granule, and a goroutine that calls Hint at similar depths is
// mostly in the same one. With larger granules, goroutines with small stacks side by side would get
// the same hash and contend for one copy. That costs more than a goroutine that calls from both
// sides of a granule boundary, which uses two copies but shares neither.
const granule = 11

// multiplier spreads the granules over 32 bits. Stacks of one size lie side by side, so small
// multiples of 2^k granules must be far apart for every k. With this multiplier, the first granules
// of 2, 4, 8 or 16 neighboring stacks of one size, from 2 KiB to 128 KiB, get different indices if
// there are four times as many indices as stacks. The golden ratio, the usual choice, fails here:
// of four indices, most pairs of neighboring 16 KiB stacks would share one.
const multiplier = 0xc9c33fd4902391cb

// Hint returns a hash of the calling goroutine's stack address. A goroutine that calls it at
// similar call depths mostly gets the same number, and goroutines that run at the same time mostly
// get different ones. Hint takes about a nanosecond. The high bits of the hash are the best ones;
// Pick turns them into an index.
//
// Hint is meant for choosing between equivalent copies of a thing, so that goroutines on different
// CPUs write to different copies. A random choice would spread the load just as evenly but be much
// slower: every CPU would write to every copy, and each write would fetch the cache line from the
// CPU that wrote to it last. The CPU's number would be better than Hint, but is not available
// without go:linkname.
//
// Only speed may depend on the number. It changes when the stack moves, because it grows or the
// garbage collector shrinks it, and when the goroutine calls from another depth. Two goroutines may
// also get the same one. Hint therefore cannot be used to find the copy that a goroutine used last.
func Hint() uint32 {
	var here byte
	// The address is converted to a number right away, so here does not escape to the heap.
	return hash(uintptr(unsafe.Pointer(&here)))
}

// Pick uses Hint to pick an index from 0 to n-1 for the calling goroutine. n may be any number up
// to 2^31 and need not be a power of two. If n is not positive, Pick returns 0.
func Pick(n int) int {
	return scale(Hint(), n)
}

func hash(addr uintptr) uint32 {
	return uint32(uint64(addr>>granule) * multiplier >> 32)
}

// scale maps [0, 2^32) onto [0, n) in order, so that the high bits decide.
func scale(h uint32, n int) int {
	return int(uint64(h) * uint64(max(n, 0)) >> 32)
}
