package wheel

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"reflect"
	"testing"
)

// A checker walks a whole wheel and reports the first violation of the invariants that the comments
// on its types state.
type checker[V any] struct {
	w      *Wheel[V]
	nodes  map[uint32]bool // nodes that were reached from the path
	chunks map[uint32]bool // chunks that were reached from a bucket
	live   int             // refs of armed entries found
	dead   int             // dead refs found

	removals map[refPos]bool // refs of removals that were not found yet
	removed  int             // refs of removals found in the current bucket
	unlisted map[uint32]bool // slots that are free, but not in the free set yet
}

// check returns an error if an invariant of w is violated.
func check[V any](w *Wheel[V]) error {
	c := checker[V]{w: w, nodes: map[uint32]bool{}, chunks: map[uint32]bool{}, removals: map[refPos]bool{}, unlisted: map[uint32]bool{}}
	if w.cursor > w.now {
		return fmt.Errorf("the cursor %d is after now %d", w.cursor, w.now)
	}
	err := errors.Join(checkArena("slot", &w.slots), checkArena("chunk", &w.chunks), c.checkTables())
	if err != nil {
		return err
	}
	for _, part := range []func() error{c.checkRemovals, c.checkPath, c.checkRecent} {
		if err := part(); err != nil {
			return err
		}
	}
	return errors.Join(c.checkRemoved(), c.checkSlots(), c.checkFreeNodes(), c.checkChunks(),
		c.checkDeferred(), c.checkDeadRefs())
}

// CheckForTest is check for the tests in package wheel_test.
func CheckForTest[V any](w *Wheel[V]) error { return check(w) }

// wantSound fails t if an invariant of w is violated.
func wantSound[V any](t testing.TB, w *Wheel[V]) {
	t.Helper()
	if err := check(w); err != nil {
		t.Fatal(err)
	}
}

// bucketOf returns the bucket that an armed entry is in, after all entries have been filed.
func bucketOf[V any](w *Wheel[V], h Handle) *bucket {
	w.settle()
	n, d := w.branchOf(w.meta[w.lookup(h).pos.chunk()].bucket)
	return &n.branch[d]
}

// refsOf ranges over the refs of b in the order of its chain. It yields the number of the slot
// that each ref names, and whether the ref is live.
func refsOf[V any](w *Wheel[V], b *bucket) iter.Seq2[uint32, bool] {
	return func(yield func(i uint32, live bool) bool) {
		c := b.head
		for left := b.chunkCount; left > 0; left-- {
			for k := uint32(chunkFirstRef); k < 32 && (left > 1 || makePos(c, k) != b.end); k++ {
				if !yield(w.chunks.get(c)[k], w.meta[c].dead>>k&1 == 0) {
					return
				}
			}
			c = w.chunks.get(c)[chunkNext]
		}
	}
}

// checkArena checks that every slab of an arena exists or is listed as released, that the free
// set contains no element that does not exist, and that each member of the free set can be
// found from the top.
func checkArena[T any](name string, a *arena[T]) error {
	released := map[int]bool{}
	for _, s := range a.released {
		if released[int(s)] {
			return fmt.Errorf("%s slab %d is listed as released twice", name, s)
		}
		released[int(s)] = true
	}
	for s, slab := range a.slabs {
		switch {
		case released[s] != (slab == nil):
			return fmt.Errorf("%s slab %d has %d elements; listed as released: %t",
				name, s, len(slab), released[s])
		case len(slab) != slabSize && s != 0 && slab != nil:
			return fmt.Errorf("%s slab %d has %d elements", name, s, len(slab))
		case len(a.free.words)<<6 < s<<slabBits+len(slab):
			return fmt.Errorf("%s slab %d has elements that the free set has no bits for", name, s)
		}
		delete(released, s)
	}
	if len(released) > 0 {
		return fmt.Errorf("%s slabs %v are listed as released, but never existed", name, released)
	}
	f := &a.free
	for w, word := range f.words {
		if word == 0 {
			continue
		}
		if s, end := w>>(slabBits-6), w<<6+bits.Len64(word); s >= len(a.slabs) || end > s<<slabBits+len(a.slabs[s]) {
			return fmt.Errorf("%s %d is free, but does not exist", name, end-1)
		}
		if w>>6 >= len(f.groups) || w>>12 >= len(f.top) || f.groups[w>>6]>>(w&63)&1 == 0 || f.top[w>>12]>>(w>>6&63)&1 == 0 {
			return fmt.Errorf("%s: word %d of the free set cannot be found from the top", name, w)
		}
	}
	return nil
}

// checkTables checks the lengths of the tables beside the slabs.
func (c *checker[V]) checkTables() error {
	w := c.w
	if len(w.firstGen) != len(w.slots.slabs) {
		return fmt.Errorf("%d slabs of slots, but first generations for %d",
			len(w.slots.slabs), len(w.firstGen))
	}
	chunks := len(w.chunks.slabs) << slabBits
	if len(w.chunks.slabs) == 1 {
		chunks = len(w.chunks.slabs[0])
	}
	if len(w.meta) != chunks {
		return fmt.Errorf("%d chunks, but meta for %d", chunks, len(w.meta))
	}
	return nil
}

// checkPath checks the nodes on the path and everything below them.
func (c *checker[V]) checkPath() error {
	w := c.w
	for level, n := range w.path {
		if n == nil {
			continue
		}
		if level >= levelCount {
			return fmt.Errorf("path[%d] is not nil, but there is no such level", level)
		}
		if !n.onPath {
			return fmt.Errorf("path[%d]: onPath of node %d is false", level, n.id)
		}
		shift := uint(level * digitBits)
		passed := uint64(1)<<digit(w.cursor, shift) - 1
		if level > 0 {
			passed |= 1 << digit(w.cursor, shift)
		}
		if n.occupied&passed != 0 {
			return fmt.Errorf("path[%d]: the cursor %#x has passed the occupied branches %#x",
				level, w.cursor, n.occupied&passed)
		}
		if err := c.checkNode(n, w.cursor>>shift>>digitBits<<digitBits<<shift, shift); err != nil {
			return fmt.Errorf("path[%d]: %w", level, err)
		}
	}
	return nil
}

// checkNode checks a node whose range begins at the tick start, and everything below it.
func (c *checker[V]) checkNode(n *node, start Tick, shift uint) error {
	w := c.w
	if int(n.id) >= len(w.nodes) || w.nodes[n.id] != n {
		return fmt.Errorf("node %d is not in the list under its id", n.id)
	}
	if c.nodes[n.id] {
		return fmt.Errorf("node %d is reached twice", n.id)
	}
	c.nodes[n.id] = true
	if n.split&^n.occupied != 0 || shift == 0 && n.split != 0 {
		return fmt.Errorf("node %d: branches %#x must not be split", n.id, n.split)
	}
	for d := range n.branch {
		b := &n.branch[d]
		at := start | Tick(d)<<shift
		var err error
		switch {
		case n.occupied>>d&1 == 0:
			if *b != (bucket{}) {
				err = fmt.Errorf("not occupied, but %+v", *b)
			}
		case n.split>>d&1 != 0:
			if *b != (bucket{head: b.head}) {
				err = fmt.Errorf("split, but %+v", *b)
			} else if int(b.head) >= len(w.nodes) || w.nodes[b.head] == nil {
				err = fmt.Errorf("split, but there is no node %d", b.head)
			} else if child := w.nodes[b.head]; child.occupied == 0 || child.onPath {
				err = fmt.Errorf("split, but child %d is empty or on the path", b.head)
			} else {
				err = c.checkNode(child, at, shift-digitBits)
			}
		default:
			err = c.checkBucket(b, n.bucketID(uint(d)), at, shift)
		}
		if err != nil {
			return fmt.Errorf("node %d, branch %d: %w", n.id, d, err)
		}
	}
	return nil
}

// checkBucket checks a bucket whose range begins at the tick start.
func (c *checker[V]) checkBucket(b *bucket, id bucketID, start Tick, shift uint) error {
	w := c.w
	if b.live == 0 {
		return errors.New("occupied, but without entries")
	}
	if shift > 0 && b.live > bucketMax+2*chunkRefs {
		return fmt.Errorf("%d entries in a bucket of more than one tick", b.live)
	}
	if b.chunkCount*chunkRefs > 9*b.live+2*compactChunks*chunkRefs {
		return fmt.Errorf("%d chunks for %d entries", b.chunkCount, b.live)
	}
	if w.chunks.find(b.head) == nil || b.end.index() == 1 {
		return fmt.Errorf("no such chunk or position: %+v", *b)
	}
	live, fill := uint32(0), w.fillPos(b)
	fillSeen := fill == 0
	prev, at := uint32(0), b.head
	for left := b.chunkCount; left > 0; left-- {
		if at == 0 || w.chunks.find(at) == nil {
			return fmt.Errorf("%d chunks are missing, because there is no chunk %d", left, at)
		}
		if c.chunks[at] {
			return fmt.Errorf("chunk %d is reached twice", at)
		}
		c.chunks[at] = true
		if prev != 0 && w.chunks.get(at)[chunkPrev] != prev {
			return fmt.Errorf("chunk %d comes after %d, but its link back is to %d",
				at, prev, w.chunks.get(at)[chunkPrev])
		}
		if (left == 1) != (at == b.lastChunk()) {
			return fmt.Errorf("chunk %d: %d chunks follow, but end is %d", at, left-1, b.end)
		}
		if left == 1 && w.meta[at].dead&refsFrom(b.end, at) != 0 {
			return fmt.Errorf("chunk %d: refs after end %d are marked dead", at, b.end)
		}
		if w.meta[at].bucket != id {
			return fmt.Errorf("chunk %d is in bucket %#x, but its meta says %#x",
				at, id, w.meta[at].bucket)
		}
		liveRefs := w.liveRefs(b, at)
		if fill != 0 && chunkBefore(fill) == at {
			fillSeen = true
			if left == 1 || fill.index() == 1 || liveRefs&refsFrom(fill, at) != 0 {
				return fmt.Errorf("chunk %d, with %d after it, must not be filled from ref %d on",
					at, left-1, fill.index())
			}
		}
		for k, i := range w.chunks.get(at) {
			if liveRefs>>k&1 == 0 {
				continue
			}
			live++
			pos := makePos(at, uint32(k))
			if c.removals[pos] {
				delete(c.removals, pos)
				c.removed++
				continue
			}
			s := w.slots.find(i)
			if s == nil || s.pos != pos {
				return fmt.Errorf("ref %d of chunk %d names slot %d, which has another position: %+v",
					k, at, i, s)
			}
			if s.at>>shift != start>>shift {
				return fmt.Errorf("slot %d: tick %#x does not belong to %#x>>%d",
					i, s.at, start, shift)
			}
		}
		prev, at = at, w.chunks.get(at)[chunkNext]
	}
	if live != b.live || !fillSeen {
		return fmt.Errorf("%d live refs, fill position %d, but %+v", live, fill, *b)
	}
	for _, live := range refsOf(w, b) {
		if !live {
			c.dead++
		}
	}
	c.live += int(live) - c.removed
	c.removed = 0
	return nil
}

// checkSlots checks that every slot is recent, in a bucket, or parked, or free and empty.
func (c *checker[V]) checkSlots() error {
	w := c.w
	armed, parked := 0, 0
	for b, slab := range w.slots.slabs {
		for k := range slab {
			i, s := uint32(b<<slabBits+k), &slab[k]
			free := w.slots.free.words[i>>6]>>(i&63)&1 != 0
			// A slot that has used up its generations is in generation 0 and not free. Any other
			// slot in generation 0 was never used, so it never had a tick.
			usedUp := s.gen == 0 && s.at != 0 && !free && s.pos == posFree
			switch {
			case i == 0 && (free || s.pos != posFree):
				return errors.New("slot 0 is in use")
			case i == 0 || usedUp:
			case !c.unlisted[i] && free != (s.pos == posFree):
				return fmt.Errorf("slot %d: in the free set %t, but at position %d", i, free, s.pos)
			case s.gen < w.firstGen[b]:
				return fmt.Errorf("slot %d: generation %d, but its slab started with %d",
					i, s.gen, w.firstGen[b])
			case s.pos == posFree && !reflect.ValueOf(&s.value).Elem().IsZero():
				return fmt.Errorf("slot %d is free, but keeps its value", i)
			}
			switch s.pos {
			case posFree:
			case posParked:
				parked++
			default:
				armed++
			}
		}
	}
	if armed != c.live || armed+parked != w.count {
		return fmt.Errorf("%d slots armed, %d parked, %d live refs, count %d",
			armed, parked, c.live, w.count)
	}
	return nil
}

// checkFreeNodes checks that every node is either reached from the path or free, and that free
// nodes are empty.
func (c *checker[V]) checkFreeNodes() error {
	w := c.w
	for _, id := range w.freeNodes {
		if int(id) >= len(w.nodes) {
			return fmt.Errorf("free node %d never existed", id)
		}
		if c.nodes[id] {
			return fmt.Errorf("node %d is free twice, or free and in use", id)
		}
		c.nodes[id] = true
		if n := w.nodes[id]; n != nil && *n != (node{id: id}) {
			return fmt.Errorf("free node %d is not empty", id)
		}
	}
	if len(c.nodes) != len(w.nodes) {
		return fmt.Errorf("%d nodes, but only %d are in use or free", len(w.nodes), len(c.nodes))
	}
	return nil
}

// checkChunks checks that a chunk is free exactly if no bucket holds it.
func (c *checker[V]) checkChunks() error {
	w := c.w
	for b, slab := range w.chunks.slabs {
		for k := range slab {
			i := uint32(b<<slabBits + k)
			free := w.chunks.free.words[i>>6]>>(i&63)&1 != 0
			if i != 0 && free == c.chunks[i] || i == 0 && free {
				return fmt.Errorf("chunk %d: free %t, in a bucket %t", i, free, c.chunks[i])
			}
		}
	}
	return nil
}

// checkDeferred checks that there are deferred entries only during Advance, and that their
// first chunk is in a bucket.
func (c *checker[V]) checkDeferred() error {
	if w := c.w; w.deferred != 0 && (w.pass != passAdvance || !c.chunks[w.deferred]) {
		return fmt.Errorf("deferred entries from chunk %d on, in a bucket %t, in pass %d",
			w.deferred, c.chunks[w.deferred], w.pass)
	}
	return nil
}

// checkDeadRefs checks that Stale returns the number of dead refs, and that Compact continues at
// a bucket that exists or after the last one.
func (c *checker[V]) checkDeadRefs() error {
	w := c.w
	if w.compactNext < 0 || w.compactNext > len(w.nodes)*fanOut {
		return fmt.Errorf("Compact continues at bucket %d of %d",
			w.compactNext, len(w.nodes)*fanOut)
	}
	if stale := w.deadRefs(); stale != c.dead {
		return fmt.Errorf("Stale is %d with %d dead refs", stale, c.dead)
	}
	return nil
}
