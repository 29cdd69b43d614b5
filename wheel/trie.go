package wheel

import "math/bits"

const (
	digitBits = 6
	fanOut    = 1 << digitBits
	digitMask = fanOut - 1
	levels    = (64 + digitBits - 1) / digitBits

	// bucketMax is the number of entries at which a bucket that spans more than one
	// tick is divided. It bounds the work of a single call.
	bucketMax = 4096
)

// A node divides a range of ticks by one digit, six bits of the tick, into branches.
// A branch is empty, or a bucket with all that is due in its part of the range, or
// open: then another node divides it further. A branch of level 0 spans one tick and
// is never open.
type node struct {
	occupied uint64 // bit d: branch d holds entries
	open     uint64 // bit d: branch d is a node; only where it holds entries
	id       uint32 // its index in Wheel.nodes
	onPath   bool   // it is in Wheel.path, and stays there when it runs empty
	branch   [fanOut]bucket
}

// levelOf returns the level of the path that a tick is filed at: that of the highest
// digit in which it differs from the cursor.
func (w *Wheel[V]) levelOf(at Tick) uint {
	return uint(bits.Len64(uint64(at^w.cursor)|1)-1) / digitBits
}

func digit(at Tick, shift uint) uint {
	return uint(at>>(shift&63)) & digitMask
}

// file arms the entry in slot i for a tick. It is the hot path: what push does is
// written out here, and what is seldom needed is left to makeRoom.
func (w *Wheel[V]) file(i uint32, s *slot[V], at Tick) {
	if at <= w.now {
		at = w.now
		if w.pass == advancing {
			w.fileBehindFence(i, s)
			return
		}
	}
	s.at = at
	level := w.levelOf(at)
	if n := w.path[level&15]; n != nil {
		shift := level * digitBits
		d := digit(at, shift)
		for n.open>>(d&63)&1 != 0 {
			n = w.nodes[n.branch[d].head]
			shift -= digitBits
			d = digit(at, shift)
		}
		b := &n.branch[d]
		if b.end&31 == 0 && b.live < bucketMax {
			n.occupied |= 1 << (d & 63)
			w.extend(b, n.id<<digitBits|uint32(d))
		}
		if pos := b.end; pos&31 != 0 {
			w.chunks.get(pos >> 5)[pos&31] = i
			b.end = pos + 1
			b.live++
			s.pos = pos
			return
		}
	}
	w.makeRoom(at)
	w.file(i, s, at)
}

// makeRoom does for file what is seldom needed: it puts a node on the path, divides a
// bucket of too many entries, or extends one that cannot be divided.
//
//go:noinline
func (w *Wheel[V]) makeRoom(at Tick) {
	n, shift := w.pathNode(at)
	d := digit(at, shift)
	for n.open>>d&1 != 0 {
		n = w.nodes[n.branch[d].head]
		shift -= digitBits
		d = digit(at, shift)
	}
	b := &n.branch[d]
	if b.live >= bucketMax && shift > 0 {
		w.divide(n, d, shift)
		return
	}
	n.occupied |= 1 << d
	w.extend(b, n.id<<digitBits|uint32(d))
}

// pathNode returns the node of the path that a tick is filed at, and the position of
// its digit.
func (w *Wheel[V]) pathNode(at Tick) (n *node, shift uint) {
	level := w.levelOf(at)
	if w.path[level] == nil {
		w.path[level] = w.newNode()
		w.path[level].onPath = true
	}
	return w.path[level], level * digitBits
}

// fileBehindFence arms an entry for now from the body of an Advance, which must not
// yield it. So the bucket of now is divided by a fence: the first chunk of what was
// added since Advance began. For the fence to stay where it is, that bucket must not
// span more ticks than one.
func (w *Wheel[V]) fileBehindFence(i uint32, s *slot[V]) {
	n, shift := w.pathNode(w.now)
	for ; shift > 0; shift -= digitBits {
		d := digit(w.now, shift)
		if n.open>>d&1 == 0 {
			w.divide(n, d, shift)
		}
		n = w.nodes[n.branch[d].head]
	}
	d := digit(w.now, 0)
	in := n.id<<digitBits | uint32(d)
	b := &n.branch[d]
	n.occupied |= 1 << d
	if w.fence == 0 {
		w.extend(b, in)
		w.fence = chunkOf(b.end)
	}
	s.at = w.now
	s.pos = w.push(b, in, i)
}

// detach takes the word at a position out of its bucket, and tells whether that has
// left the bucket in want of tidy.
func (w *Wheel[V]) detach(pos uint32) bool {
	m := &w.marks[pos>>5]
	b := &w.nodes[m.in>>digitBits].branch[m.in&digitMask]
	b.live--
	if pos+1 == b.end {
		b.end = pos
		return b.live == 0
	}
	m.dead |= 1 << (pos & 31)
	return b.live == 0 || m.dead == allDead || b.desolate()
}

// tidy frees a bucket that has run empty. Of any other it frees the chunk of the word
// that was taken out if that was its last live one, and sweeps the bucket if there are
// too many dead words.
//
//go:noinline
func (w *Wheel[V]) tidy(pos uint32, at Tick) {
	m := &w.marks[pos>>5]
	n, d := w.nodes[m.in>>digitBits], m.in&digitMask
	b := &n.branch[d]
	if b.live > 0 {
		if m.dead == allDead {
			w.dropChunk(b, pos>>5)
		}
		if b.desolate() {
			w.sweep(b)
		}
		return
	}
	w.freeChain(b)
	n.occupied &^= 1 << d
	if n.occupied == 0 && !n.onPath {
		top, shift := w.pathNode(at)
		w.prune(top, at, shift)
	}
}

// prune gives back the empty nodes on the way from n down to a tick.
func (w *Wheel[V]) prune(n *node, at Tick, shift uint) {
	d := digit(at, shift)
	if n.open>>d&1 == 0 {
		return
	}
	child := w.nodes[n.branch[d].head]
	w.prune(child, at, shift-digitBits)
	if child.occupied == 0 {
		w.freeNode(child)
		n.branch[d] = bucket{}
		n.open &^= 1 << d
		n.occupied &^= 1 << d
	}
}

// divide opens a branch that is a bucket, maybe an empty one, and spreads its entries
// over the branches of a new node.
func (w *Wheel[V]) divide(n *node, d, shift uint) {
	child := w.newNode()
	old := n.branch[d]
	n.branch[d] = bucket{head: child.id}
	n.occupied |= 1 << d
	n.open |= 1 << d
	w.spread(old, child, shift-digitBits)
}

// spread moves the entries of a bucket that is no longer in the trie to the branches
// of n, in their order. It reads the slots of a whole chunk before it files the
// first: the slots lie anywhere, and so their cache misses overlap.
func (w *Wheel[V]) spread(old bucket, n *node, shift uint) {
	w.moved++
	var digits [len(chunk{})]uint8
	for c := old.head; old.size > 0; old.size-- {
		words := *w.chunks.get(c)
		alive := w.alive(&old, c)
		for live := alive; live != 0; live &= live - 1 {
			k := bits.TrailingZeros32(live) & 31
			digits[k] = uint8(digit(w.slots.get(words[k]).at, shift))
		}
		for live := alive; live != 0; live &= live - 1 {
			k := bits.TrailingZeros32(live) & 31
			i, d := words[k], uint32(digits[k]&digitMask)
			n.occupied |= 1 << d
			w.slots.get(i).pos = w.push(&n.branch[d], n.id<<digitBits|d, i)
		}
		w.freeChunk(c)
		c = words[chunkNext]
	}
}

func (w *Wheel[V]) newNode() *node {
	if last := len(w.spare) - 1; last >= 0 {
		id := w.spare[last]
		w.spare = w.spare[:last]
		if w.nodes[id] == nil {
			w.nodes[id] = &node{id: id}
		}
		return w.nodes[id]
	}
	n := &node{id: uint32(len(w.nodes))}
	w.nodes = append(w.nodes, n)
	return n
}

// freeNode takes back a node all of whose branches are empty.
func (w *Wheel[V]) freeNode(n *node) {
	n.onPath = false
	w.spare = append(w.spare, n.id)
}
