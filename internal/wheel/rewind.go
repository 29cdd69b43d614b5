package wheel

import "math/bits"

// mergeLimit is the largest number of entries for which Rewind merges the buckets that the path
// leaves behind into one. Without merging, each Rewind could leave up to ten nodes behind for a
// single entry.
const mergeLimit = chunkRefs

// Rewind moves the wheel back to a tick: Now() becomes that tick. Entries keep their ticks and
// their order. Those due after that tick are no longer due. With a tick that is not before Now(),
// Rewind does nothing. Rewind panics in the body of Advance and Drain.
//
// A scheduler uses Rewind for two things. It moves the wheel back to the deadline of an entry that
// is already overdue when it is armed, so that the entry takes its place among others that are
// overdue. And it moves the wheel back to its clock after inspecting a future entry, as Peek does
// with a tick that Next returned.
func (w *Wheel[V]) Rewind(now Tick) {
	if w == nil {
		return
	}
	if w.pass != passNone {
		panic("wheel: Rewind in the body of Advance or Drain")
	}
	if now >= w.now {
		return
	}
	w.now = now
	if now < w.cursor {
		w.settle()
		w.unwindPath(w.levelOf(now))
		w.cursor = now
	}
}

// unwindPath empties the path's nodes below a level, because the cursor is about to move back to an
// earlier branch of that level. All entries below belong to the branch that the cursor is in, which
// is otherwise empty. They become that branch's entries: in its bucket if they are few, otherwise
// below its child. Either way the order within a tick is kept, because a tick has one bucket.
func (w *Wheel[V]) unwindPath(level uint) {
	entries, few := w.countBelow(level)
	switch {
	case entries == 0:
	case few:
		w.mergeBelow(level)
	default:
		w.adoptPathNodes(level)
	}
}

// countBelow counts the entries in the path's nodes below a level. few is false if there are more
// than mergeLimit, or if a branch is split, in which case the count is not complete.
func (w *Wheel[V]) countBelow(level uint) (entries uint32, few bool) {
	for _, n := range w.path[:level] {
		if n == nil {
			continue
		}
		if n.split != 0 {
			return 1, false
		}
		for left := n.occupied; left != 0; left &= left - 1 {
			entries += n.branch[bits.TrailingZeros64(left)].live
			if entries > mergeLimit {
				return entries, false
			}
		}
	}
	return entries, true
}

// mergeBelow moves the entries in the path's nodes below a level to the bucket of that level's
// branch that the cursor is in. No branch of these nodes is split.
func (w *Wheel[V]) mergeBelow(level uint) {
	top := w.pathNodeAt(level)
	for _, n := range w.path[:level] {
		if n == nil {
			continue
		}
		for ; n.occupied != 0; n.occupied &= n.occupied - 1 {
			d := bits.TrailingZeros64(n.occupied)
			old := n.branch[d]
			n.branch[d] = bucket{}
			w.redistribute(old, top, level*digitBits)
		}
	}
}

// adoptPathNodes turns the path's nodes below a level into children of the branches that the cursor
// is in, each below the node of the next level. Empty nodes stay on the path. No entry moves.
func (w *Wheel[V]) adoptPathNodes(level uint) {
	var child *node
	for k := range level + 1 {
		n := w.path[k]
		if child != nil {
			if n == nil {
				n = w.pathNodeAt(k)
			}
			d := digit(w.cursor, k*digitBits)
			n.branch[d] = bucket{head: child.id}
			n.occupied |= 1 << d
			n.split |= 1 << d
		}
		if k == level {
			return
		}
		child = nil
		if n != nil && n.occupied != 0 {
			n.onPath = false
			w.path[k] = nil
			child = n
		}
	}
}
