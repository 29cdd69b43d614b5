package wheel

import "math/bits"

const (
	digitBits  = 6
	digitMask  = fanOut - 1
	fanOut     = 1 << digitBits
	levelCount = (64 + digitBits - 1) / digitBits

	// bucketLimit is the number of entries at which a bucket that spans more than one tick is
	// split. It bounds the work of a single call. A call that files many entries splits one bucket,
	// and others only from bucketMax on.
	bucketLimit = 4096
	bucketMax   = bucketLimit + 8*chunkRefs
)

// A node divides a range of ticks into 64 branches by one digit of the tick, which is six bits. A
// branch is empty, or a bucket with all entries of its range, or split, in which case a child node
// divides its range further. A branch of level 0 spans one tick and is never split.
type node struct {
	occupied uint64 // bit d: branch d has entries, in its bucket or below its child
	split    uint64 // bit d: branch d has a child. Only set where occupied is set
	id       uint32 // the index in Wheel.nodes
	onPath   bool   // the node is in Wheel.path, and stays there when it becomes empty
	branch   [fanOut]bucket
}

func (n *node) isSplit(d uint) bool { return n.split>>(d&63)&1 != 0 }

// A bucketID names a bucket: the id of its node times 64, plus the digit of its branch.
type bucketID uint32

func (n *node) bucketID(d uint) bucketID { return bucketID(n.id<<digitBits | uint32(d)) }

// branchOf returns the node of a bucket and the digit of its branch.
func (w *Wheel[V]) branchOf(id bucketID) (n *node, d uint) {
	return w.nodes[id>>digitBits], uint(id & digitMask)
}

// levelOf returns the level of the path at which an entry for the given tick belongs: the level of
// the highest digit in which the tick differs from the cursor.
func (w *Wheel[V]) levelOf(at Tick) uint {
	return uint(bits.Len64(uint64(at^w.cursor)|1)-1) / digitBits
}

// digit returns the digit of a tick at a shift, which is a level times six.
func digit(at Tick, shift uint) uint {
	return uint(at>>(shift&63)) & digitMask
}

// descend follows split branches from n, whose level has the given shift, down to the bucket for a
// tick. It returns the node and the digit of that bucket, and the shift of its level.
func (w *Wheel[V]) descend(n *node, at Tick, shift uint) (*node, uint, uint) {
	d := digit(at, shift)
	for n.isSplit(d) {
		n = w.nodes[n.branch[d].head]
		shift -= digitBits
		d = digit(at, shift)
	}
	return n, d, shift
}

// insert appends a ref to slot i to the bucket for its entry's tick. It contains the code of
// appendRef, and leaves everything that is rarely needed to makeRoom.
func (w *Wheel[V]) insert(i uint32, s *slot[V]) {
	at := s.at
	level := w.levelOf(at)
	if n := w.path[level&15]; n != nil {
		n, d, _ := w.descend(n, at, level*digitBits)
		b := &n.branch[d]
		if pos := b.end; pos.index() != 0 {
			w.chunks.get(pos.chunk())[pos.index()] = i
			b.end = pos + 1
			b.live++
			s.pos = pos
			return
		}
	}
	w.makeRoom(at)
	w.insert(i, s)
}

// makeRoom does one thing that insert needs for the given tick: it adds a node to the path, splits
// a bucket that has too many entries, or appends a chunk to one that is not split now.
//
//go:noinline
func (w *Wheel[V]) makeRoom(at Tick) {
	n, shift := w.pathNode(at)
	n, d, shift := w.descend(n, at, shift)
	b := &n.branch[d]
	if b.live >= bucketLimit && shift > 0 && (!w.hasTidied || b.live >= bucketMax) {
		w.splitBranch(n, d, shift)
		w.hasTidied = true
		return
	}
	n.occupied |= 1 << d
	w.appendChunk(b, n.bucketID(d))
}

// pathNode returns the node of the path at which an entry for the given tick belongs, and the shift
// of its level. It creates the node if there is none.
func (w *Wheel[V]) pathNode(at Tick) (n *node, shift uint) {
	level := w.levelOf(at)
	return w.pathNodeAt(level), level * digitBits
}

// pathNodeAt returns the node of the path at a level. It creates the node if there is none.
func (w *Wheel[V]) pathNodeAt(level uint) *node {
	if w.path[level] == nil {
		w.path[level] = w.newNode()
		w.path[level].onPath = true
	}
	return w.path[level]
}

// insertDeferred arms the entry in slot i for now. It is called in the body of an Advance, which
// must not yield the entry. Deferred entries therefore start a new chunk at the end of the bucket
// of now, where Advance stops. That bucket must span only one tick, because Advance would otherwise
// redistribute it, and the chunk with it, so insertDeferred first splits the branches above that
// tick.
func (w *Wheel[V]) insertDeferred(i uint32, s *slot[V]) {
	w.settle()
	n, shift := w.pathNode(w.now)
	for ; shift > 0; shift -= digitBits {
		d := digit(w.now, shift)
		if !n.isSplit(d) {
			w.splitBranch(n, d, shift)
		}
		n = w.nodes[n.branch[d].head]
	}
	d := digit(w.now, 0)
	id := n.bucketID(d)
	b := &n.branch[d]
	n.occupied |= 1 << d
	if w.deferred == 0 {
		w.appendChunk(b, id)
		w.deferred = b.lastChunk()
	}
	s.at = w.now
	s.pos = w.appendRef(b, id, i)
}

// removeRef removes the ref at pos from its bucket. It reports whether the caller must then call
// cleanUp.
func (w *Wheel[V]) removeRef(pos refPos) (untidy bool) {
	m := &w.meta[pos.chunk()]
	n, d := w.branchOf(m.bucket)
	b := &n.branch[d]
	b.live--
	if pos+1 == b.end {
		b.end = pos
		return b.live == 0
	}
	m.dead |= 1 << pos.index()
	return b.live == 0 || m.dead == deadAll || b.nearlyAllDead()
}

// touchRef reads what removeRef needs for the ref at pos. A caller that removes several refs first
// calls it for all of them and stores the sum of the results in prefetchSink, so that the cache
// misses overlap. In removeRef they would not, because the CPU does not look far enough ahead.
func (w *Wheel[V]) touchRef(pos refPos) uint32 {
	n, d := w.branchOf(w.meta[pos.chunk()].bucket)
	return n.branch[d].live
}

// cleanUp tidies a bucket after the ref at pos, of an entry for the given tick, was removed from
// it. If the bucket is empty, cleanUp frees it, and the nodes above it that are now empty.
// Otherwise it drops the ref's chunk if that has no live ref left, and compacts the bucket if it is
// nearly all dead.
//
//go:noinline
func (w *Wheel[V]) cleanUp(pos refPos, at Tick) {
	m := &w.meta[pos.chunk()]
	n, d := w.branchOf(m.bucket)
	b := &n.branch[d]
	if b.live > 0 {
		if m.dead == deadAll {
			w.dropChunk(b, pos.chunk())
		}
		if b.nearlyAllDead() {
			w.compactBucket(b)
		}
		return
	}
	w.freeChunks(b)
	n.occupied &^= 1 << d
	if n.occupied == 0 && !n.onPath {
		top, shift := w.pathNode(at)
		w.freeEmptyNodes(top, at, shift)
	}
}

// freeEmptyNodes frees the empty nodes below n on the way to the given tick.
func (w *Wheel[V]) freeEmptyNodes(n *node, at Tick, shift uint) {
	d := digit(at, shift)
	if !n.isSplit(d) {
		return
	}
	child := w.nodes[n.branch[d].head]
	w.freeEmptyNodes(child, at, shift-digitBits)
	if child.occupied == 0 {
		w.freeNode(child)
		n.branch[d] = bucket{}
		n.split &^= 1 << d
		n.occupied &^= 1 << d
	}
}

// splitBranch gives branch d of n, which is a bucket or empty, a child node, and redistributes the
// bucket's entries over the child's branches.
func (w *Wheel[V]) splitBranch(n *node, d, shift uint) {
	child := w.newNode()
	old := n.branch[d]
	n.branch[d] = bucket{head: child.id}
	n.occupied |= 1 << d
	n.split |= 1 << d
	w.redistribute(old, child, shift-digitBits)
}

// redistribute moves the entries of old, a bucket that the caller has removed from the trie, to the
// branches of n. It keeps their order. It reads the slots of a whole chunk before it moves the
// first entry, because the slots are scattered in memory, and their cache misses then overlap.
func (w *Wheel[V]) redistribute(old bucket, n *node, shift uint) {
	w.chainVersion++
	var digits [len(chunk{})]uint8
	for c := old.head; old.chunkCount > 0; old.chunkCount-- {
		refs := *w.chunks.get(c)
		liveRefs := w.liveRefs(&old, c)
		for live := liveRefs; live != 0; live &= live - 1 {
			k := bits.TrailingZeros32(live) & 31
			digits[k] = uint8(digit(w.slots.get(refs[k]).at, shift))
		}
		for live := liveRefs; live != 0; live &= live - 1 {
			k := bits.TrailingZeros32(live) & 31
			i, d := refs[k], uint(digits[k]&digitMask)
			n.occupied |= 1 << d
			w.slots.get(i).pos = w.appendRef(&n.branch[d], n.bucketID(d), i)
		}
		w.freeChunk(c)
		c = refs[chunkNext]
	}
}

// newNode returns an empty node. The caller must link it.
func (w *Wheel[V]) newNode() *node {
	if last := len(w.freeNodes) - 1; last >= 0 {
		id := w.freeNodes[last]
		w.freeNodes = w.freeNodes[:last]
		if w.nodes[id] == nil {
			w.nodes[id] = &node{id: id}
		}
		return w.nodes[id]
	}
	n := &node{id: uint32(len(w.nodes))}
	w.nodes = append(w.nodes, n)
	return n
}

// freeNode frees a node all of whose branches are empty.
func (w *Wheel[V]) freeNode(n *node) {
	n.onPath = false
	w.freeNodes = append(w.freeNodes, n.id)
}
