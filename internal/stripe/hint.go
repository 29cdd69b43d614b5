package stripe

import "unsafe"

// granule is the logarithm of the size of the smallest goroutine stack. Two
// goroutines never have the same granule of memory, and one that calls at similar
// depths is mostly in one granule of its own. A larger granule would give one home to
// neighbours with small stacks, which costs more (they contend for it) than the two
// homes of a goroutine that calls from both sides of a boundary (it has both to
// itself).
const granule = 11

// multiplier spreads the granules over 32 bits. Stacks of one size lie side by side, so
// what matters is that small multiples of 2^k granules are far apart for every k: with
// this multiplier the first granules of 2, 4, 8 or 16 neighbouring stacks of any one size
// from 2 KiB to 128 KiB fall into different homes if there are four homes for each. The
// golden ratio, the usual choice, lacks this: it gives most pairs of neighbouring
// stacks of 16 KiB one of four homes to share.
const multiplier = 0xc9c33fd4902391cb

// Hint returns a number that says where the calling goroutine is at home: a hash of the
// address of its stack. A goroutine gets the same number again and again from similar
// depths of calls; goroutines that run at the same time get different ones, mostly. It
// takes about a nanosecond, and the high bits are the good ones: Pick makes an index of
// it.
//
// It is for the choice between copies of a thing of which any will do, so that
// goroutines on different processors write to different copies. A random choice would
// spread the load as well, and be far worse: every processor would write to every copy,
// and each write would fetch the cache line from the processor that wrote to it last. The
// number of the processor would be better, but cannot be had without go:linkname.
//
// Nothing may depend on the number but speed. A stack moves when it has to grow, and when
// the garbage collector shrinks it; a goroutine may call from another depth, and two
// goroutines may share a number. What was left at one home has to be found by other means.
func Hint() uint32 {
	var here byte
	// An address as a number keeps nothing alive, so here stays on the stack.
	return hash(uintptr(unsafe.Pointer(&here)))
}

// Pick returns the home of the calling goroutine among n: an index from 0 to n-1, by
// Hint. n may be anything up to 2^31, a power of two or not; if it is not positive, Pick
// returns 0.
func Pick(n int) int {
	return scale(Hint(), n)
}

func hash(addr uintptr) uint32 {
	return uint32(uint64(addr>>granule) * multiplier >> 32)
}

// scale maps [0, 2^32) onto [0, n) in order, so that it is the high bits that count.
func scale(h uint32, n int) int {
	return int(uint64(h) * uint64(max(n, 0)) >> 32)
}
