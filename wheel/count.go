package wheel

import "math/bits"

// CountUntil returns how many entries are due at a tick or before. It looks at buckets, not at
// entries: it takes microseconds, with ten million entries some tens of them. So it counts exactly up
// to the bucket that the tick is in, and estimates the share of that one as if its entries were spread
// evenly over its range. Such a bucket has 4,336 entries at most. If no entry is overdue and the tick is in
// the same block of 64 ticks as Now(), counted from tick 0, the number is exact. In the body of Advance
// and Drain some entries may be missing: those that the pass is about to yield, and those that were just
// armed.
func (w *Wheel[V]) CountUntil(at Tick) int {
	if w == nil {
		return 0
	}
	if w.pass == passNone {
		w.settle()
	}
	total := uint64(0)
	for level, n := range w.path {
		if n == nil {
			continue
		}
		shift := uint(level) * digitBits
		base := w.cursor >> (shift & 63) &^ digitMask << (shift & 63)
		total += w.countBelow(n, base, shift, at)
	}
	return int(total)
}

// countBelow counts the entries below a node that are due at a tick or before. The node divides a
// range that begins at base, and its level has the given shift.
func (w *Wheel[V]) countBelow(n *node, base Tick, shift uint, at Tick) (total uint64) {
	for rest := n.occupied; rest != 0; rest &= rest - 1 {
		d := uint(bits.TrailingZeros64(rest))
		first := base + Tick(d)<<(shift&63)
		if first > at {
			break
		}
		last := first + 1<<(shift&63) - 1
		switch {
		case n.isSplit(d):
			total += w.countBelow(w.nodes[n.branch[d].head], first, shift-digitBits, at)
		case last <= at:
			total += uint64(n.branch[d].live)
		default:
			hi, lo := bits.Mul64(uint64(n.branch[d].live), uint64(at-first)+1)
			share, _ := bits.Div64(hi, lo, uint64(last-first)+1)
			total += share
		}
	}
	return total
}
