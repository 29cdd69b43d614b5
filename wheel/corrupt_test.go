package wheel

import (
	"math"
	"math/bits"
	"testing"
)

// A grove is a wheel with something of everything in it, and handles to find that by.
type grove struct {
	*Wheel[uint32]
	due   Handle // one of four at the current tick, in a bucket whose first word is dead
	lone  Handle // alone in its bucket
	inner Handle // in a bucket below open branches
	holed Handle // in the first chunk of a chain, with dead words behind it
	swept Handle // in the last chunk of a chain whose sweep is under way
	idle  Handle // parked; its word was in the chain of holed
	pos   uint32 // the position of that word
}

func newGrove(t *testing.T) *grove {
	g := &grove{Wheel: New[uint32](1000, 0)}
	var gone []Handle
	for k := range Tick(4) {
		gone = append(gone, g.arm(12000, (k+1)<<50, 1)...)
	}
	g.cancel(gone)
	g.Trim(math.MaxInt) // takes the spare nodes that this has left
	due := g.arm(5, 1010, 0)
	g.due = due[2]
	g.inner = g.arm(4300, 1<<30, 16)[2000]
	holed := g.arm(200, 1<<37, 1)
	g.holed = holed[0]
	g.cancel(holed[10:15])
	g.idle = holed[50]
	g.pos = g.slot(g.idle).pos
	g.Park(g.idle)
	g.lone = g.arm(1, 1<<43, 0)[0]
	swept := g.arm(4000, 1<<49, 1)
	g.swept = swept[len(swept)-1]
	for i := 0; g.chunk(g.bucketOf(g.swept).head)[chunkSweep] == 0; i++ {
		if i%20 != 0 {
			g.Cancel(swept[i])
		}
	}
	g.Schedule(math.MaxUint64, math.MaxUint32) // on the highest level
	once, then := g.arm(6000, 1<<55, 1), g.arm(6000, 1<<56, 1)
	g.cancel(then)
	g.cancel(once[1:])
	for range 20 {
		g.Trim(4) // too little work to repack the chunks
	}
	g.Cancel(once[0]) // leaves spare nodes that are there
	for range g.Advance(1010) {
		break
	}
	for what, ok := range map[string]bool{
		"is sound":                   check(g.Wheel) == nil,
		"has open branches":          !g.node(g.inner).onPath,
		"has dead words":             g.marks[g.bucketOf(g.holed).head].dead != noneDead,
		"gave a slab of slots back":  len(g.slots.released) > 0,
		"gave a slab of chunks back": len(g.chunks.released) > 0,
		"has a parked entry":         g.slot(g.idle).pos == parked && g.Len() > 0,
		"has spare nodes":            g.nodes[g.spare[0]] == nil && g.nodes[g.spareNode()] != nil,
	} {
		if !ok {
			t.Fatalf("it is not so that the wheel %s: %v", what, check(g.Wheel))
		}
	}
	return g
}

// arm schedules n entries, the first at a tick and each of the others a step later.
func (g *grove) arm(n int, at, step Tick) (handles []Handle) {
	for i := range n {
		handles = append(handles, g.Schedule(at+Tick(i)*step, uint32(i)+1))
	}
	return handles
}

func (g *grove) cancel(handles []Handle) {
	for _, h := range handles {
		g.Cancel(h)
	}
}

func (g *grove) slot(h Handle) *slot[uint32] { return g.place(uint32(h)) }

func (g *grove) place(i uint32) *slot[uint32] { return &g.slots.slabs[i>>slabBits][i&slabMask] }

// in returns the bucket that an entry is in, as mark.in has it.
func (g *grove) in(h Handle) *uint32 { return &g.marks[g.slot(h).pos>>5].in }

func (g *grove) node(h Handle) *node { return g.nodes[*g.in(h)>>digitBits] }

// branch returns the bit of the branch that an entry is in.
func (g *grove) branch(h Handle) uint64 { return 1 << (*g.in(h) & digitMask) }

func (g *grove) bucketOf(h Handle) *bucket { return &g.node(h).branch[*g.in(h)&digitMask] }

func (g *grove) chunk(c uint32) *chunk { return &g.chunks.slabs[c>>slabBits][c&slabMask] }

// mark returns the marks of dead words of the chunk that holds a position.
func (g *grove) mark(pos uint32) *uint32 { return &g.marks[pos>>5].dead }

// chain returns the chunks of the bucket of an entry.
func (g *grove) chain(h Handle) (chunks []*chunk) {
	b := g.bucketOf(h)
	for c := b.head; len(chunks) < int(b.size); c = g.chunk(c)[chunkNext] {
		chunks = append(chunks, g.chunk(c))
	}
	return chunks
}

// spareNode returns the id of the spare node that would be used next.
func (g *grove) spareNode() uint32 { return g.spare[len(g.spare)-1] }

// open returns the node on the path that is above an entry, and its first open branch.
func (g *grove) open(h Handle) (*node, *bucket) {
	n := g.path[(bits.Len64(uint64(g.slot(h).at^g.cursor))-1)/digitBits]
	return n, &n.branch[bits.TrailingZeros64(n.open)]
}

// lowest returns the lowest member of a free set.
func lowest(f *bitset) uint32 {
	for w, word := range f.words {
		if word != 0 {
			return uint32(w<<6 + bits.TrailingZeros64(word))
		}
	}
	panic("the set is empty")
}

// flip adds a number to a set of bits, or removes it.
func flip(words []uint64, i uint32) { words[i>>6] ^= 1 << (i & 63) }

// corruptions are faults, one each, that a sound wheel does not have.
var corruptions = []struct {
	fault string
	plant func(g *grove)
}{
	{"now is behind the cursor", func(g *grove) { g.now = g.cursor - 1 }},
	{"the cursor has passed an entry", func(g *grove) { g.now++; g.cursor++ }},
	{"the count is one too high", func(g *grove) { g.count++ }},
	{"the count is one too low", func(g *grove) { g.count-- }},
	{"a fence outlasts its Advance", func(g *grove) { g.fence = g.bucketOf(g.due).head }},
	{"a fence is in no bucket", func(g *grove) { g.pass, g.fence = advancing, lowest(&g.chunks.free) }},

	{"a branch with entries is not marked occupied", func(g *grove) { g.node(g.lone).occupied &^= g.branch(g.lone) }},
	{"an empty branch is marked occupied", func(g *grove) { g.node(g.lone).occupied |= g.branch(g.lone) << 1 }},
	{"an empty branch is marked open", func(g *grove) { g.node(g.lone).open |= g.branch(g.lone) << 1 }},
	{"a bucket is marked open", func(g *grove) { g.node(g.lone).open |= g.branch(g.lone) }},
	{"a bucket of one tick is marked open", func(g *grove) { g.node(g.due).open |= g.branch(g.due) }},
	{"an open branch is not marked open", func(g *grove) { n, _ := g.open(g.inner); n.open = 0 }},
	{"an open branch counts entries", func(g *grove) { _, b := g.open(g.inner); b.live = 1 }},
	{"an open branch names a node that never was", func(g *grove) { _, b := g.open(g.inner); b.head = uint32(len(g.nodes)) }},
	{"an open branch names a node that was given back", func(g *grove) { _, b := g.open(g.inner); b.head = g.spare[0] }},
	{"an open branch names a spare node", func(g *grove) { _, b := g.open(g.inner); b.head = g.spareNode() }},
	{"an open branch leads back to its own node", func(g *grove) { n, b := g.open(g.inner); b.head = n.id }},
	{"two open branches share a node", func(g *grove) {
		n, b := g.open(g.inner)
		n.open |= n.open << 1
		n.occupied |= n.open
		n.branch[bits.Len64(n.open)-1] = *b
	}},
	{"a node has the id of another", func(g *grove) { g.node(g.lone).id = g.node(g.due).id }},
	{"a node is not in the list", func(g *grove) { g.nodes[g.node(g.lone).id] = nil }},
	{"a node of the path does not know that it is there", func(g *grove) { g.node(g.due).onPath = false }},
	{"a node off the path believes to be on it", func(g *grove) { g.node(g.inner).onPath = true }},
	{"the path has lost a node with entries", func(g *grove) { g.path[levels-1] = nil }},
	{"the path has a node above the highest level", func(g *grove) { g.path[levels] = g.path[levels-1] }},
	{"a node is on the path twice", func(g *grove) { g.path[1] = g.path[0] }},
	{"a spare node is marked occupied", func(g *grove) { g.nodes[g.spareNode()].occupied = 4 }},
	{"a spare node keeps a bucket", func(g *grove) { g.nodes[g.spareNode()].branch[7].end = 1 }},
	{"a spare node is forgotten", func(g *grove) { g.spare = g.spare[1:] }},
	{"a spare node is listed twice", func(g *grove) { g.spare[0] = g.spareNode() }},
	{"a node in use is listed as spare", func(g *grove) { g.spare[0] = g.node(g.lone).id }},
	{"a node that never was is listed as spare", func(g *grove) { g.spare[0] = uint32(len(g.nodes)) }},

	{"a bucket counts an entry too many", func(g *grove) { g.bucketOf(g.holed).live++ }},
	{"a bucket counts an entry too few", func(g *grove) { g.bucketOf(g.holed).live-- }},
	{"a bucket counts no entries", func(g *grove) { g.bucketOf(g.lone).live = 0 }},
	{"a bucket counts a chunk too many", func(g *grove) { g.bucketOf(g.holed).size++ }},
	{"a bucket counts a chunk too few", func(g *grove) { g.bucketOf(g.holed).size-- }},
	{"a bucket ends a word late", func(g *grove) { g.bucketOf(g.holed).end++ }},
	{"a bucket ends a word early", func(g *grove) { g.bucketOf(g.holed).end-- }},
	{"a bucket ends before the words of its chunk", func(g *grove) { g.bucketOf(g.lone).end -= chunkFirst }},
	{"a bucket ends in the chunk of another", func(g *grove) { g.bucketOf(g.holed).end = g.bucketOf(g.lone).end }},
	{"a bucket begins with the chunk of another", func(g *grove) { g.bucketOf(g.lone).head = g.bucketOf(g.due).head }},
	{"a bucket with entries has no chunk", func(g *grove) { g.bucketOf(g.lone).head = 0 }},
	{"a bucket begins with a chunk that never was", func(g *grove) { g.bucketOf(g.lone).head = maxChunkSlabs<<slabBits - 1 }},
	{"a chain runs in a circle", func(g *grove) { g.chain(g.holed)[2][chunkNext] = g.bucketOf(g.holed).head }},
	{"a chain leaves out a chunk", func(g *grove) { c := g.chain(g.holed); c[1][chunkNext] = c[2][chunkNext] }},
	{"a chain leads to a chunk that never was", func(g *grove) { g.chain(g.holed)[2][chunkNext] = maxChunkSlabs<<slabBits - 1 }},
	{"a chunk does not know the one before", func(g *grove) { g.chain(g.holed)[2][chunkPrev]++ }},
	{"a chain breaks off", func(g *grove) { g.chain(g.holed)[2][chunkNext] = 0 }},
	{"a word names another slot", func(g *grove) { g.chain(g.holed)[0][chunkFirst+1] = uint32(g.holed) }},
	{"a word names a slot that never was", func(g *grove) { g.chain(g.holed)[0][chunkFirst+1] = maxSlotSlabs<<slabBits - 1 }},
	{"a live word is marked dead", func(g *grove) { *g.mark(g.slot(g.holed).pos) |= 1 << chunkFirst }},
	{"a dead word is marked alive", func(g *grove) { m := g.mark(g.slot(g.holed).pos); *m &= *m - 1 }},
	{"a word yet to be written is marked dead", func(g *grove) { b := g.bucketOf(g.lone); *g.mark(b.end) |= 1 << (b.end & 31) }},
	{"a sweep is in the chain of another bucket", func(g *grove) { g.chain(g.swept)[0][chunkSweep] = g.slot(g.lone).pos + 1 }},
	{"a sweep is in the last chunk", func(g *grove) { g.chain(g.swept)[0][chunkSweep] = g.bucketOf(g.swept).end }},
	{"a sweep is about to write over live words", func(g *grove) { g.chain(g.swept)[0][chunkSweep]-- }},
	{"a sweep is about to write over a link", func(g *grove) { g.chain(g.holed)[0][chunkSweep] = g.bucketOf(g.holed).head<<5 | 1 }},
	{"a bucket has far more dead words than it may", func(g *grove) {
		crowd := g.arm(200*chunkWords, 1011, 0)
		b := g.bucketOf(crowd[0])
		b.live += 1 << 20 // keeps Cancel from sweeping
		for k, h := range crowd {
			if k%chunkWords != 0 {
				g.Cancel(h)
			}
		}
		b.live -= 1 << 20
	}},
	{"a bucket of many ticks has outgrown its limit", func(g *grove) {
		crowd := g.arm(2*bucketMax, 1011, 0)
		from, to := g.node(crowd[0]), g.node(g.lone)
		d, e := *g.in(crowd[0])&digitMask, *g.in(g.lone)&digitMask+1
		to.branch[e], from.branch[d] = from.branch[d], bucket{}
		to.occupied, from.occupied = to.occupied|1<<e, from.occupied&^(1<<d)
		for _, h := range crowd {
			g.slot(h).at, *g.in(h) = 3<<42, to.id<<digitBits|e
		}
	}},

	{"a slot is filed at another word", func(g *grove) { g.slot(g.holed).pos++ }},
	{"a chunk is marked as one of another bucket", func(g *grove) { *g.in(g.holed)++ }},
	{"a slot has a tick of another bucket", func(g *grove) { g.slot(g.holed).at = g.slot(g.lone).at }},
	{"a slot has forgotten that it is filed", func(g *grove) { g.slot(g.holed).pos = 0 }},
	{"a free slot believes to be filed", func(g *grove) { g.place(lowest(&g.slots.free)).pos = g.slot(g.lone).pos }},
	{"a free slot keeps its payload", func(g *grove) { g.place(lowest(&g.slots.free)).v = 1 }},
	{"a slot has a generation from before its slab", func(g *grove) { g.born[0] = g.slot(g.lone).gen + 1 }},
	{"a slot in use is free", func(g *grove) { flip(g.slots.free.words, uint32(g.lone)) }},
	{"a slot that was used is neither free nor in use", func(g *grove) { flip(g.slots.free.words, lowest(&g.slots.free)) }},
	{"a slot that is new is neither free nor in use", func(g *grove) {
		g.Wheel = New[uint32](0, 0)
		flip(g.slots.free.words, uint32(g.Schedule(1, 1))+1)
	}},

	{"a parked entry believes to be filed where it was", func(g *grove) { g.slot(g.idle).pos = g.pos }},
	{"a parked entry believes to be free", func(g *grove) { g.slot(g.idle).pos = 0 }},
	{"a parked entry is free", func(g *grove) { g.slots.free.add(uint32(g.idle)) }},
	{"a parked entry was freed and is still counted", func(g *grove) { g.release(uint32(g.idle), g.slot(g.idle)) }},
	{"a parked entry is counted twice", func(g *grove) { g.Park(g.lone); g.count++ }},
	{"the word of a parked entry is alive", func(g *grove) { *g.mark(g.pos) &^= 1 << (g.pos & 31) }},
	{"the word of a parked entry is alive and counted", func(g *grove) { *g.mark(g.pos) &^= 1 << (g.pos & 31); g.bucketOf(g.holed).live++ }},
	{"an armed entry believes to be parked", func(g *grove) { g.slot(g.holed).pos = parked }},
	{"a free slot believes to be parked", func(g *grove) { g.place(lowest(&g.slots.free)).pos = parked }},
	{"a parked entry has a generation from before its slab", func(g *grove) {
		b := uint32(g.idle) >> slabBits
		for k := range g.slots.slabs[b] { // every other slot of the slab is as it should be
			g.slots.slabs[b][k].gen++
		}
		g.born[b]++
		g.slot(g.idle).gen = g.born[b] - 1
	}},
	{"slot 0 is parked", func(g *grove) { g.place(0).pos = parked }},
	{"Compact goes on before the first bucket", func(g *grove) { g.compact = -1 }},
	{"Compact goes on far behind the last bucket", func(g *grove) { g.compact = len(g.nodes)*fanOut + 1 }},

	{"slot 0 is free", func(g *grove) { flip(g.slots.free.words, 0) }},
	{"slot 0 is in use", func(g *grove) { g.place(0).pos = g.slot(g.lone).pos }},
	{"a slot of a slab that was given back is free", func(g *grove) { flip(g.slots.free.words, g.slots.released[0]<<slabBits) }},
	{"a chunk in use is free", func(g *grove) { flip(g.chunks.free.words, g.bucketOf(g.due).head) }},
	{"a chunk is neither free nor in use", func(g *grove) { flip(g.chunks.free.words, lowest(&g.chunks.free)) }},
	{"chunk 0 is free", func(g *grove) { flip(g.chunks.free.words, 0) }},
	{"a chunk of a slab that was given back is free", func(g *grove) { flip(g.chunks.free.words, g.chunks.released[0]<<slabBits) }},
	{"free slots are not found from their group", func(g *grove) { w := lowest(&g.slots.free) >> 6; flip(g.slots.free.groups, w) }},
	{"free slots are not found from the top", func(g *grove) { w := lowest(&g.slots.free) >> 6; flip(g.slots.free.top, w>>6) }},
	{"free chunks are not found from their group", func(g *grove) { w := lowest(&g.chunks.free) >> 6; flip(g.chunks.free.groups, w) }},
	{"free chunks are not found from the top", func(g *grove) { w := lowest(&g.chunks.free) >> 6; flip(g.chunks.free.top, w>>6) }},
	{"a slab that was given back is forgotten", func(g *grove) { g.slots.released = g.slots.released[1:] }},
	{"a slab was given back twice", func(g *grove) { g.slots.released = append(g.slots.released, g.slots.released[0]) }},
	{"a slab in use is listed as given back", func(g *grove) { g.chunks.released[0] = 0 }},
	{"a slab that never was is listed as given back", func(g *grove) { g.slots.released = append(g.slots.released, 1<<20) }},
	{"a slab has too few places", func(g *grove) {
		slab := &g.slots.slabs[uint32(g.inner)>>slabBits]
		*slab = (*slab)[:slabSize/2]
	}},
	{"a free set has no bits for the last slab", func(g *grove) { g.slots.free.words = g.slots.free.words[:slabWords] }},
	{"a free set has no bits above its last words", func(g *grove) { g.slots.free.top = nil }},
	{"a chunk has no marks", func(g *grove) { g.marks = g.marks[:len(g.marks)-1] }},
	{"a slab of slots has no first generation", func(g *grove) { g.born = g.born[1:] }},
}

func TestTheCheckerSeesEveryFault(t *testing.T) {
	for _, c := range corruptions {
		t.Run(c.fault, func(t *testing.T) {
			g := newGrove(t)
			c.plant(g)
			err := check(g.Wheel)
			if err == nil {
				t.Fatal("the checker finds nothing wrong")
			}
			t.Log(err)
		})
	}
}
