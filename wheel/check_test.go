package wheel

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
)

// A checker walks all of a wheel and reports the first thing that is not as the
// comments on its types say.
type checker[V any] struct {
	w      *Wheel[V]
	nodes  map[uint32]bool // reached from the path
	chunks map[uint32]bool // reached from a bucket
	live   int             // words that name a slot
	dead   int             // words that do not, up to the end of each bucket
}

// check returns what is wrong with w, or nil.
func check[V any](w *Wheel[V]) error {
	c := checker[V]{w: w, nodes: map[uint32]bool{}, chunks: map[uint32]bool{}}
	if w.cursor > w.now {
		return fmt.Errorf("cursor %d is ahead of now %d", w.cursor, w.now)
	}
	if err := errors.Join(space("slot", &w.slots), space("chunk", &w.chunks), c.tables()); err != nil {
		return err
	}
	if err := c.path(); err != nil {
		return err
	}
	return errors.Join(c.slots(), c.spareNodes(), c.chunkSpace(), c.fence(), c.garbage())
}

// space checks that every slab of an arena is there or listed as given back, and that its free set has no place that
// is not there and finds all its members from the top.
func space[T any](what string, a *arena[T]) error {
	gone := map[int]bool{}
	for _, s := range a.released {
		if gone[int(s)] {
			return fmt.Errorf("%s slab %d was given back twice", what, s)
		}
		gone[int(s)] = true
	}
	for s, slab := range a.slabs {
		switch {
		case gone[s] != (slab == nil):
			return fmt.Errorf("%s slab %d has %d places; listed as given back: %t", what, s, len(slab), gone[s])
		case len(slab) != slabSize && s != 0 && slab != nil:
			return fmt.Errorf("%s slab %d has %d places", what, s, len(slab))
		case len(a.free.words)<<6 < s<<slabBits+len(slab):
			return fmt.Errorf("%s slab %d has places that the free set has no bits for", what, s)
		}
		delete(gone, s)
	}
	if len(gone) > 0 {
		return fmt.Errorf("%s slabs %v were given back, but never there", what, gone)
	}
	f := &a.free
	for w, word := range f.words {
		if word == 0 {
			continue
		}
		if s, end := w>>(slabBits-6), w<<6+bits.Len64(word); s >= len(a.slabs) || end > s<<slabBits+len(a.slabs[s]) {
			return fmt.Errorf("%s %d is free, but not there", what, end-1)
		}
		if w>>6 >= len(f.groups) || w>>12 >= len(f.top) || f.groups[w>>6]>>(w&63)&1 == 0 || f.top[w>>12]>>(w>>6&63)&1 == 0 {
			return fmt.Errorf("%s: free word %d is not found from the top", what, w)
		}
	}
	return nil
}

// tables checks the lengths of what is kept beside the slabs.
func (c *checker[V]) tables() error {
	w := c.w
	if len(w.born) != len(w.slots.slabs) {
		return fmt.Errorf("%d slabs of slots, first generations for %d", len(w.slots.slabs), len(w.born))
	}
	numbers := len(w.chunks.slabs) << slabBits
	if len(w.chunks.slabs) == 1 {
		numbers = len(w.chunks.slabs[0])
	}
	if len(w.marks) != numbers {
		return fmt.Errorf("%d chunks and marks for %d", numbers, len(w.marks))
	}
	return nil
}

// path checks the nodes on the path and all that is below them.
func (c *checker[V]) path() error {
	w := c.w
	for level, n := range w.path {
		if n == nil {
			continue
		}
		if level >= levels {
			return fmt.Errorf("path[%d]: there is no such level", level)
		}
		if !n.onPath {
			return fmt.Errorf("path[%d]: node %d does not know that it is on the path", level, n.id)
		}
		shift := uint(level * digitBits)
		passed := uint64(1)<<digit(w.cursor, shift) - 1
		if level > 0 {
			passed |= 1 << digit(w.cursor, shift)
		}
		if n.occupied&passed != 0 {
			return fmt.Errorf("path[%d]: branches %#x are behind cursor %#x", level, n.occupied&passed, w.cursor)
		}
		if err := c.node(n, w.cursor>>shift>>digitBits<<digitBits<<shift, shift); err != nil {
			return fmt.Errorf("path[%d]: %w", level, err)
		}
	}
	return nil
}

// node checks a node whose range begins at the tick start.
func (c *checker[V]) node(n *node, start Tick, shift uint) error {
	w := c.w
	if int(n.id) >= len(w.nodes) || w.nodes[n.id] != n {
		return fmt.Errorf("node %d is not in the list under its id", n.id)
	}
	if c.nodes[n.id] {
		return fmt.Errorf("node %d is reached twice", n.id)
	}
	c.nodes[n.id] = true
	if n.open&^n.occupied != 0 || shift == 0 && n.open != 0 {
		return fmt.Errorf("node %d: branches %#x must not be open", n.id, n.open)
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
		case n.open>>d&1 != 0:
			if *b != (bucket{head: b.head}) {
				err = fmt.Errorf("open, but %+v", *b)
			} else if int(b.head) >= len(w.nodes) || w.nodes[b.head] == nil {
				err = fmt.Errorf("open, but there is no node %d", b.head)
			} else if child := w.nodes[b.head]; child.occupied == 0 || child.onPath {
				err = fmt.Errorf("open, but child %d is empty or on the path", b.head)
			} else {
				err = c.node(child, at, shift-digitBits)
			}
		default:
			err = c.bucket(b, n.id<<digitBits|uint32(d), at, shift)
		}
		if err != nil {
			return fmt.Errorf("node %d, branch %d: %w", n.id, d, err)
		}
	}
	return nil
}

// bucket checks a bucket of the ticks from start on.
func (c *checker[V]) bucket(b *bucket, in uint32, start Tick, shift uint) error {
	w := c.w
	if b.live == 0 {
		return errors.New("occupied, but without entries")
	}
	if shift > 0 && b.live > bucketMax+2*chunkWords {
		return fmt.Errorf("%d entries in a bucket of many ticks", b.live)
	}
	if b.size*chunkWords > 9*b.live+2*sweepChunks*chunkWords {
		return fmt.Errorf("%d chunks for %d entries", b.size, b.live)
	}
	if w.chunks.find(b.head) == nil || b.end&31 == 1 {
		return fmt.Errorf("no such chunk or word: %+v", *b)
	}
	live, swept, at := uint32(0), w.chunks.get(b.head)[chunkSweep], b.head
	sweptSeen, before := swept == 0, uint32(0)
	for left := b.size; left > 0; left-- {
		if at == 0 || w.chunks.find(at) == nil {
			return fmt.Errorf("%d more chunks to come, but there is no chunk %d", left, at)
		}
		if c.chunks[at] {
			return fmt.Errorf("chunk %d is reached twice", at)
		}
		c.chunks[at] = true
		if before != 0 && w.chunks.get(at)[chunkPrev] != before {
			return fmt.Errorf("chunk %d: behind %d, but linked to %d", at, before, w.chunks.get(at)[chunkPrev])
		}
		if (left == 1) != (at == chunkOf(b.end)) {
			return fmt.Errorf("chunk %d: %d more to come, but end is %d", at, left-1, b.end)
		}
		if left == 1 && b.end>>5 == at && w.marks[at].dead>>(b.end&31) != 0 {
			return fmt.Errorf("chunk %d: words behind end %d are marked dead", at, b.end)
		}
		if w.marks[at].in != in {
			return fmt.Errorf("chunk %d: in bucket %#x, but marked as in %#x", at, in, w.marks[at].in)
		}
		alive := w.alive(b, at)
		if swept != 0 && chunkOf(swept) == at {
			sweptSeen = true
			if left == 1 || swept&31 == 1 || swept>>5 == at && alive>>(swept&31) != 0 {
				return fmt.Errorf("chunk %d, %d more to come: a sweep must not fill it from word %d on", at, left-1, swept&31)
			}
		}
		for k, i := range w.chunks.get(at) {
			if alive>>k&1 == 0 {
				continue
			}
			live++
			s := w.slots.find(i)
			if s == nil || s.pos != at<<5|uint32(k) {
				return fmt.Errorf("word %d of chunk %d: slot %d is not filed there: %+v", k, at, i, s)
			}
			if s.at>>shift != start>>shift {
				return fmt.Errorf("slot %d: tick %#x does not belong to %#x>>%d", i, s.at, start, shift)
			}
		}
		for k := uint32(chunkFirst); k < 32 && (left > 1 || at<<5|k != b.end); k++ {
			if alive>>k&1 == 0 {
				c.dead++
			}
		}
		before, at = at, w.chunks.get(at)[chunkNext]
	}
	if live != b.live || !sweptSeen {
		return fmt.Errorf("%d live words, sweep at %d, but %+v", live, swept, *b)
	}
	c.live += int(live)
	return nil
}

// slots checks that every slot is in a bucket, or parked, or free and clean.
func (c *checker[V]) slots() error {
	w := c.w
	filed, resting := 0, 0
	for b, slab := range w.slots.slabs {
		for k := range slab {
			i, s := uint32(b<<slabBits+k), &slab[k]
			free := w.slots.free.words[i>>6]>>(i&63)&1 != 0
			// A slot that is out of generations is not free; what else is in generation 0 was never used,
			// and so never had a tick.
			retired := s.gen == 0 && s.at != 0 && !free && s.pos == 0
			switch {
			case i == 0 && (free || s.pos != 0):
				return errors.New("slot 0 is in use")
			case i == 0 || retired:
			case free != (s.pos == 0):
				return fmt.Errorf("slot %d: free %t, but filed at %d", i, free, s.pos)
			case s.gen < w.born[b]:
				return fmt.Errorf("slot %d: generation %d, but its slab began with %d", i, s.gen, w.born[b])
			case s.pos == 0 && !reflect.ValueOf(&s.v).Elem().IsZero():
				return fmt.Errorf("slot %d is free but keeps its payload", i)
			}
			switch s.pos {
			case 0:
			case parked:
				resting++
			default:
				filed++
			}
		}
	}
	if filed != c.live || filed+resting != w.count {
		return fmt.Errorf("%d slots filed, %d parked, %d live words, count %d", filed, resting, c.live, w.count)
	}
	return nil
}

// spareNodes checks that nodes are reached or spare, and that spare ones are clean.
func (c *checker[V]) spareNodes() error {
	w := c.w
	for _, id := range w.spare {
		if int(id) >= len(w.nodes) {
			return fmt.Errorf("spare node %d was never there", id)
		}
		if c.nodes[id] {
			return fmt.Errorf("node %d is spare or reached, and not once", id)
		}
		c.nodes[id] = true
		if n := w.nodes[id]; n != nil && *n != (node{id: id}) {
			return fmt.Errorf("spare node %d is not clean", id)
		}
	}
	if len(c.nodes) != len(w.nodes) {
		return fmt.Errorf("%d nodes, %d of them reached or spare", len(w.nodes), len(c.nodes))
	}
	return nil
}

// chunkSpace checks that a chunk is free exactly if no bucket holds it.
func (c *checker[V]) chunkSpace() error {
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

// fence checks that there is a fence only while Advance runs, and that it is in a bucket.
func (c *checker[V]) fence() error {
	if w := c.w; w.fence != 0 && (w.pass != advancing || !c.chunks[w.fence]) {
		return fmt.Errorf("fence at chunk %d, in a bucket %t, in pass %d", w.fence, c.chunks[w.fence], w.pass)
	}
	return nil
}

// garbage checks that Stale counts the dead words that are there, and that Compact goes on at a bucket that is there
// or behind the last.
func (c *checker[V]) garbage() error {
	w := c.w
	if w.compact < 0 || w.compact > len(w.nodes)*fanOut {
		return fmt.Errorf("Compact goes on at bucket %d of %d", w.compact, len(w.nodes)*fanOut)
	}
	if stale := w.Stale(); stale != c.dead {
		return fmt.Errorf("Stale is %d with %d dead words", stale, c.dead)
	}
	return nil
}

// CheckForTest gives the tests outside the package a look at the inside.
func CheckForTest[V any](w *Wheel[V]) error { return check(w) }

// bucketOf returns the bucket that an armed entry is in.
func bucketOf[V any](w *Wheel[V], h Handle) *bucket {
	in := w.marks[w.lookup(h).pos>>5].in
	return &w.nodes[in>>digitBits].branch[in&digitMask]
}
