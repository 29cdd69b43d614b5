package wheel

import "math/bits"

// A Span is a range of ticks and the number of entries that are due in it.
type Span struct {
	First, Last Tick // the range, Last included
	Count       int
}

// Spans appends to dst a histogram of the armed entries by tick, and returns dst: the ranges of
// ticks for which entries are armed, in order, with the number of entries in each. The ranges after
// the tick at are the branches of the wheel as they would be if Now() were at: single ticks in its
// block of 64 ticks, blocks of 64 ticks after that, and so on, up to 63 of each length. No range
// spans both at and later ticks. Parked entries do not count.
//
// Spans reads buckets rather than entries: it takes microseconds, with ten million entries some tens
// of them. If a bucket has entries on both sides of at, Spans splits it, as Advance would do later.
// Such a bucket has at most 4,336 entries. In the body of Advance and Drain it splits nothing, and
// some entries may be missing: those that the pass is about to yield, and those that were just armed.
func (w *Wheel[V]) Spans(dst []Span, at Tick) []Span {
	if w == nil {
		return dst
	}
	if w.pass == passNone {
		w.settle()
		w.divideAfter(at)
	}
	for level, n := range w.path {
		if n == nil {
			continue
		}
		shift := uint(level) * digitBits
		base := w.cursor >> (shift & 63) &^ digitMask << (shift & 63)
		dst = w.spansBelow(dst, n, base, shift, at)
	}
	return dst
}

// Horizon fills the gaps between the spans of one wheel or of several, so that each span begins one
// tick after the previous one ends. The spans must be sorted and must not overlap, and none may
// span both the tick at and later ones; [Wheel.Spans] returns such spans.
//
// The first span of the result ends with the tick at and holds what is due by then. It is present
// even if it is empty. A stretch without entries between the others is one span with a Count of 0.
// The result is nil if there are no entries.
func Horizon(spans []Span, at Tick) []Span {
	due := Span{First: at, Last: at}
	for len(spans) > 0 && spans[0].Last <= at {
		due.First = min(due.First, spans[0].First)
		due.Count += spans[0].Count
		spans = spans[1:]
	}
	horizon := append(make([]Span, 0, 2*len(spans)+1), due)
	last, total := at, due.Count
	for _, s := range spans {
		if s.Count == 0 {
			continue
		}
		if s.First > last+1 {
			horizon = append(horizon, Span{First: last + 1, Last: s.First - 1})
		}
		horizon = append(horizon, Span{max(s.First, last+1), s.Last, s.Count})
		last, total = s.Last, total+s.Count
	}
	if total == 0 {
		return nil
	}
	return horizon
}

// spansBelow appends the spans of a node's branches. The node divides a range that begins at base,
// and its level has the given shift. A split branch is one span, unless the tick at divides it.
func (w *Wheel[V]) spansBelow(dst []Span, n *node, base Tick, shift uint, at Tick) []Span {
	for rest := n.occupied; rest != 0; rest &= rest - 1 {
		d := uint(bits.TrailingZeros64(rest))
		first := base + Tick(d)<<(shift&63)
		last := first + 1<<(shift&63) - 1
		switch {
		case !n.isSplit(d):
			dst = append(dst, Span{first, last, int(n.branch[d].live)})
		case first <= at && at < last:
			dst = w.spansBelow(dst, w.nodes[n.branch[d].head], first, shift-digitBits, at)
		default:
			dst = append(dst, Span{first, last, w.entriesBelow(w.nodes[n.branch[d].head])})
		}
	}
	return dst
}

// entriesBelow returns the number of entries in the buckets below a node. It adds up all branches:
// those that are empty or split have no live refs, and a loop without conditions is several times
// as fast.
func (w *Wheel[V]) entriesBelow(n *node) int {
	total := uint32(0)
	for d := range n.branch {
		total += n.branch[d].live
	}
	sum := int(total)
	for rest := n.split; rest != 0; rest &= rest - 1 {
		sum += w.entriesBelow(w.nodes[n.branch[bits.TrailingZeros64(rest)].head])
	}
	return sum
}

// divideAfter splits the bucket whose range includes both the tick at and later ones, and then its
// parts, until no range does.
func (w *Wheel[V]) divideAfter(at Tick) {
	if at < w.cursor {
		return
	}
	level := w.levelOf(at)
	n := w.path[level]
	if n == nil {
		return
	}
	for shift := level * digitBits; shift > 0; shift -= digitBits {
		d := digit(at, shift)
		if n.occupied>>d&1 == 0 || at>>(shift&63) != (at+1)>>(shift&63) {
			return // the branch of at is empty, or ends with at
		}
		if !n.isSplit(d) {
			w.splitBranch(n, d, shift)
		}
		n = w.nodes[n.branch[d].head]
	}
}
