package wheel

import (
	"iter"
	"math/bits"
)

// Advance moves the wheel to a tick, and removes and yields everything that is due then: by tick,
// and in arming order where ticks are equal. It acts while it is ranged over, not when it is
// called. With a tick before Now() it yields what is already due.
//
// The yielded entry is gone: its handle is stale and Len does not count it. The loop body may call
// every method of the wheel except Advance, Drain, Pop, Peek and Rewind, which panic there. If the
// body makes an entry due, that entry waits for the next Advance.
//
// The body may break out of the loop. Now() is then the tick given to Advance, and the next Advance
// yields the rest, whatever its argument. A panic or runtime.Goexit in the body leaves the wheel in
// the same state. Between two yields Advance does a bounded amount of work.
func (w *Wheel[V]) Advance(now Tick) iter.Seq2[Tick, V] {
	return func(yield func(Tick, V) bool) {
		w.advance(now, yield)
	}
}

func (w *Wheel[V]) advance(now Tick, yield func(Tick, V) bool) {
	if w == nil {
		return
	}
	w.beginPass(passAdvance)
	defer w.endPass()
	w.now = max(w.now, now)
	w.settleUntil(w.now)
	for w.seekDue() {
		if !w.yieldBucket(&w.path[0].branch[w.cursor&digitMask], yield) {
			return
		}
	}
	w.cursor = w.now
}

// Drain removes and yields every armed entry, due or not. Entries with the same tick come in arming
// order, so a program that schedules them in another wheel as they come keeps that order. The ticks
// themselves come in no particular order, which saves sorting them. Handles become stale as their
// entries are yielded, and Now() does not change. Parked entries stay.
//
// If the loop body breaks out of the loop, the rest stays in the wheel. The body may call every
// method except Advance, Drain, Pop, Peek and Rewind, which panic there. An entry that it arms in
// this wheel may be yielded as well, or stay, so a body that arms an entry for each one it gets may
// loop forever.
func (w *Wheel[V]) Drain() iter.Seq2[Tick, V] {
	return func(yield func(Tick, V) bool) {
		if w == nil {
			return
		}
		w.beginPass(passDrain)
		defer w.endPass()
		w.settle()
		for b := w.anyBucket(); b != nil; b = w.anyBucket() {
			if !w.yieldBucket(b, yield) {
				return
			}
			w.settle()
		}
	}
}

// Next returns a tick before which nothing is due, and false if nothing is armed. If the earliest
// entry is in the same block of 64 ticks as Now(), counted from tick 0, Next returns its tick.
// Otherwise it may return an earlier one: an Advance to that tick then yields nothing, but raises
// Next. A lone entry is reached in at most eleven such steps. While something is due, Next() <=
// Now().
func (w *Wheel[V]) Next() (Tick, bool) {
	b, at, _ := w.firstBucket()
	return at, b != nil
}

// firstBucket returns the bucket of the earliest entry, or nil if nothing is armed. It also
// returns the first tick of the bucket's range and the shift of its level.
func (w *Wheel[V]) firstBucket() (b *bucket, at Tick, shift uint) {
	if w == nil {
		return nil, 0, 0
	}
	w.settle()
	for level, n := range w.path[:levelCount] {
		if n == nil || n.occupied == 0 {
			continue
		}
		shift = uint(level * digitBits)
		at = w.firstBranchStart(n, shift)
		d := digit(at, shift)
		for ; n.isSplit(d); d = digit(at, shift) {
			n = w.nodes[n.branch[d].head]
			shift -= digitBits
			at |= Tick(bits.TrailingZeros64(n.occupied)) << shift
		}
		return &n.branch[d], at, shift
	}
	return nil, 0, 0
}

// firstBranchStart returns the first tick of the lowest occupied branch of n, which is on the path.
func (w *Wheel[V]) firstBranchStart(n *node, shift uint) Tick {
	nodeStart := w.cursor >> shift >> digitBits << digitBits << shift
	return nodeStart | Tick(bits.TrailingZeros64(n.occupied))<<shift
}

func (w *Wheel[V]) beginPass(p passKind) {
	if w.pass != passNone {
		panic("wheel: Advance or Drain in the body of Advance or Drain")
	}
	w.pass = p
	w.deferred = 0
}

func (w *Wheel[V]) endPass() {
	w.pass = passNone
	w.deferred = 0
}

// seekDue moves the cursor to the next tick that has entries, and reports whether there is one up
// to now. The earliest entry is always below the lowest node of the path that is not empty. While
// that node's first occupied branch spans more than one tick, seekDue moves the path into it and
// searches there.
func (w *Wheel[V]) seekDue() bool {
	for level := 0; level < levelCount; {
		n := w.path[level]
		if n == nil || n.occupied == 0 {
			level++
			continue
		}
		shift := uint(level * digitBits)
		start := w.firstBranchStart(n, shift)
		if start > w.now {
			return false
		}
		w.cursor = start
		if level == 0 {
			return true
		}
		w.enterBranch(n, digit(start, shift), level)
		level--
	}
	return false
}

// enterBranch makes the path go through branch d of n, which is on the path at the given level. The
// branch's entries move to the path's node one level below, which is empty because its range ends
// before the branch. If the branch is split, its child replaces that node, and no entry moves.
func (w *Wheel[V]) enterBranch(n *node, d uint, level int) {
	old := n.branch[d]
	split := n.isSplit(d)
	n.branch[d] = bucket{}
	n.occupied &^= 1 << d
	n.split &^= 1 << d
	below := w.path[level-1]
	if split {
		if below != nil {
			w.freeNode(below)
		}
		below = w.nodes[old.head]
	} else {
		if below == nil {
			below = w.newNode()
		}
		w.redistribute(old, below, uint(level-1)*digitBits)
	}
	below.onPath = true
	w.path[level-1] = below
}

// yieldBucket removes and yields the entries of b, up to the deferred ones. It reports whether to
// continue with other buckets.
//
// Between two yields the body may remove entries from b. If that moved other refs or freed their
// chunks, yieldBucket starts over at the head: what it has yielded is dead by then.
func (w *Wheel[V]) yieldBucket(b *bucket, yield func(Tick, V) bool) bool {
	for b.live > 0 {
		c := b.head
		if c == w.deferred {
			return false
		}
		if w.pass == passDrain {
			w.prefetch(b, c)
		}
		version := w.chainVersion
		for live := w.liveRefs(b, c); live != 0; live = w.liveRefs(b, c) {
			pos := makePos(c, uint32(bits.TrailingZeros32(live)))
			i := w.chunks.get(c)[pos.index()]
			s := w.slots.get(i)
			at, v := s.at, s.value
			w.markDead(pos)
			w.freeSlot(i, s)
			w.count--
			b.live--
			if b.live == 0 {
				w.cleanUp(pos, at)
			}
			if !yield(at, v) {
				return false
			}
			if w.removalCount != 0 {
				w.finishRemovals()
			}
			if w.chainVersion != version {
				break
			}
		}
		if w.chainVersion == version {
			w.dropFirstChunk(b)
			if b.nearlyAllDead() {
				w.compactBucket(b)
			}
		}
	}
	return true
}

// prefetch reads the slots of chunk c, so that their cache misses overlap and yieldBucket then
// finds them in the cache. Advance does not need this: it has just read its entries' slots to
// redistribute them.
func (w *Wheel[V]) prefetch(b *bucket, c uint32) {
	refs := w.chunks.get(c)
	var sum uint32
	for live := w.liveRefs(b, c); live != 0; live &= live - 1 {
		sum += w.slots.get(refs[bits.TrailingZeros32(live)&31]).gen
	}
	w.prefetchSink = sum
}

// anyBucket returns a bucket that has entries, or nil if nothing is armed.
func (w *Wheel[V]) anyBucket() *bucket {
	for _, n := range w.path[:levelCount] {
		if n == nil || n.occupied == 0 {
			continue
		}
		d := bits.TrailingZeros64(n.occupied)
		for n.isSplit(uint(d)) {
			n = w.nodes[n.branch[d].head]
			d = bits.TrailingZeros64(n.occupied)
		}
		return &n.branch[d]
	}
	return nil
}
