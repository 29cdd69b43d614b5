package wheel

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/foliot-go/foliot/internal/testkit"
)

// A sample is a wheel with entries in every kind of place, and their handles. The tests of the
// checker damage it.
type sample struct {
	*Wheel[uint32]
	due        Handle // one of four at the current tick, in a bucket whose first ref is dead
	alone      Handle // alone in its bucket
	inSplit    Handle // in a bucket below split branches
	withDead   Handle // in the first chunk of a chain, with dead refs after it
	compacting Handle // in the last chunk of a chain that is partly compacted
	parked     Handle // parked; its ref was in the chain of withDead
	parkedPos  refPos // the position of that ref
}

func newSample(t *testing.T) *sample {
	s := &sample{Wheel: New[uint32](1000, 0)}
	var gone []Handle
	for k := range Tick(4) {
		gone = append(gone, s.arm(12000, (k+1)<<50, 1)...)
	}
	s.cancel(gone)
	s.Trim(math.MaxInt) // releases the free nodes
	due := s.arm(5, 1010, 0)
	s.due = due[2]
	s.inSplit = s.arm(4300, 1<<30, 16)[2000]
	withDead := s.arm(200, 1<<37, 1)
	s.withDead = withDead[0]
	s.cancel(withDead[10:15])
	s.parked = withDead[50]
	s.parkedPos = s.slot(s.parked).pos
	s.Park(s.parked)
	s.settle()
	s.alone = s.arm(1, 1<<43, 0)[0]
	compacting := s.arm(4000, 1<<49, 1)
	s.compacting = compacting[len(compacting)-1]
	for i := 0; s.fillPos(s.bucketOf(s.compacting)) == 0; i++ {
		if i%20 != 0 {
			s.Cancel(compacting[i])
		}
	}
	s.arm(1, math.MaxUint64, 0) // on the highest level
	first, second := s.arm(6000, 1<<55, 1), s.arm(6000, 1<<56, 1)
	s.cancel(second)
	s.cancel(first[1:])
	for range 20 {
		s.Trim(4) // too few slabs to repack the chunks
	}
	s.cancel(first[:1]) // leaves free nodes that are not released
	for range s.Advance(1010) {
		break
	}
	for property, ok := range map[string]bool{
		"be sound":                       check(s.Wheel) == nil,
		"have split branches":            !s.node(s.inSplit).onPath,
		"have dead refs":                 s.meta[s.bucketOf(s.withDead).head].dead != deadNone,
		"have released a slab of slots":  len(s.slots.released) > 0,
		"have released a slab of chunks": len(s.chunks.released) > 0,
		"have a parked entry":            s.slot(s.parked).pos == posParked && s.Len() > 0,
		"have free nodes of both kinds":  s.nodes[s.freeNodes[0]] == nil && s.nodes[s.lastFreeNode()] != nil,
	} {
		if !ok {
			t.Fatalf("the sample does not %s: %v", property, check(s.Wheel))
		}
	}
	return s
}

// arm schedules n entries, the first at a tick and each of the others a step later, and files
// them.
func (s *sample) arm(n int, at, step Tick) (handles []Handle) {
	for i := range n {
		handles = append(handles, s.Schedule(at+Tick(i)*step, uint32(i)+1))
	}
	s.settle()
	return handles
}

func (s *sample) cancel(handles []Handle) {
	for _, h := range handles {
		s.Cancel(h)
	}
	s.settle()
}

func (s *sample) slot(h Handle) *slot[uint32] { return s.slots.get(uint32(h)) }

// freeSlotNumber returns the number of the lowest free slot.
func (s *sample) freeSlotNumber() uint32 { return lowest(&s.slots.free) }

// freeChunkNumber returns the number of the lowest free chunk.
func (s *sample) freeChunkNumber() uint32 { return lowest(&s.chunks.free) }

// bucketID returns the id of the bucket that an entry is in, in the meta of its chunk.
func (s *sample) bucketID(h Handle) *bucketID { return &s.meta[s.slot(h).pos.chunk()].bucket }

func (s *sample) node(h Handle) *node { n, _ := s.branchOf(*s.bucketID(h)); return n }

// branchBit returns the bit of the branch that an entry is in.
func (s *sample) branchBit(h Handle) uint64 { _, d := s.branchOf(*s.bucketID(h)); return 1 << d }

func (s *sample) bucketOf(h Handle) *bucket { return bucketOf(s.Wheel, h) }

// dead returns the dead refs of the chunk that holds a position.
func (s *sample) dead(pos refPos) *uint32 { return &s.meta[pos.chunk()].dead }

// chain returns the chunks of the bucket of an entry.
func (s *sample) chain(h Handle) (chunks []*chunk) {
	b := s.bucketOf(h)
	for c := b.head; len(chunks) < int(b.chunkCount); c = s.chunks.get(c)[chunkNext] {
		chunks = append(chunks, s.chunks.get(c))
	}
	return chunks
}

// setFill sets the fill position of the bucket of an entry.
func (s *sample) setFill(h Handle, pos refPos) { s.setFillPos(s.bucketOf(h), pos) }

// lastFreeNode returns the id of the free node that would be used next.
func (s *sample) lastFreeNode() uint32 { return s.freeNodes[len(s.freeNodes)-1] }

// splitAbove returns the node on the path above an entry, and the first split branch of the node.
func (s *sample) splitAbove(h Handle) (*node, *bucket) {
	n := s.path[(bits.Len64(uint64(s.slot(h).at^s.cursor))-1)/digitBits]
	return n, &n.branch[bits.TrailingZeros64(n.split)]
}

// lowest returns the lowest member of a set.
func lowest(s *bitset) uint32 {
	for w, word := range s.words {
		if word != 0 {
			return uint32(w<<6 + bits.TrailingZeros64(word))
		}
	}
	panic("the set is empty")
}

// flip adds a number to a set of bits, or removes it.
func flip(words []uint64, i uint32) { words[i>>6] ^= 1 << (i & 63) }

// noSuchChunk and noSuchSlot are numbers that are in range, but that the sample does not have.
const (
	noSuchChunk = maxChunkSlabs<<slabBits - 1
	noSuchSlot  = maxSlotSlabs<<slabBits - 1
)

// A fault is a way to damage a sound wheel.
type fault struct {
	name  string
	plant func(s *sample)
}

var faults = []fault{
	{"now is before the cursor", func(s *sample) { s.now = s.cursor - 1 }},
	{"the cursor has passed an entry", func(s *sample) { s.now++; s.cursor++ }},
	{"the count is one too high", func(s *sample) { s.count++ }},
	{"the count is one too low", func(s *sample) { s.count-- }},
	{"deferred is set after its Advance", func(s *sample) { s.deferred = s.bucketOf(s.due).head }},
	{"deferred is a chunk in no bucket", func(s *sample) { s.pass, s.deferred = passAdvance, s.freeChunkNumber() }},

	{"a branch with entries is not marked occupied", func(s *sample) { s.node(s.alone).occupied &^= s.branchBit(s.alone) }},
	{"an empty branch is marked occupied", func(s *sample) { s.node(s.alone).occupied |= s.branchBit(s.alone) << 1 }},
	{"an empty branch is marked split", func(s *sample) { s.node(s.alone).split |= s.branchBit(s.alone) << 1 }},
	{"a bucket is marked split", func(s *sample) { s.node(s.alone).split |= s.branchBit(s.alone) }},
	{"a bucket of one tick is marked split", func(s *sample) { s.node(s.due).split |= s.branchBit(s.due) }},
	{"a split branch is not marked split", func(s *sample) { n, _ := s.splitAbove(s.inSplit); n.split = 0 }},
	{"a split branch counts entries", func(s *sample) { _, b := s.splitAbove(s.inSplit); b.live = 1 }},
	{"a split branch names a node that never existed", func(s *sample) { _, b := s.splitAbove(s.inSplit); b.head = uint32(len(s.nodes)) }},
	{"a split branch names a node that was released", func(s *sample) { _, b := s.splitAbove(s.inSplit); b.head = s.freeNodes[0] }},
	{"a split branch names a free node", func(s *sample) { _, b := s.splitAbove(s.inSplit); b.head = s.lastFreeNode() }},
	{"a split branch leads back to its own node", func(s *sample) { n, b := s.splitAbove(s.inSplit); b.head = n.id }},
	{"two split branches share a child", func(s *sample) {
		n, b := s.splitAbove(s.inSplit)
		n.split |= n.split << 1
		n.occupied |= n.split
		n.branch[bits.Len64(n.split)-1] = *b
	}},
	{"a node has the id of another", func(s *sample) { s.node(s.alone).id = s.node(s.due).id }},
	{"a node is not in the list", func(s *sample) { s.nodes[s.node(s.alone).id] = nil }},
	{"a node on the path is not marked as such", func(s *sample) { s.node(s.due).onPath = false }},
	{"a node off the path is marked as on it", func(s *sample) { s.node(s.inSplit).onPath = true }},
	{"the path lacks a node with entries", func(s *sample) { s.path[levelCount-1] = nil }},
	{"the path has a node above the highest level", func(s *sample) { s.path[levelCount] = s.path[levelCount-1] }},
	{"a node is on the path twice", func(s *sample) { s.path[1] = s.path[0] }},
	{"a free node is marked occupied", func(s *sample) { s.nodes[s.lastFreeNode()].occupied = 4 }},
	{"a free node keeps a bucket", func(s *sample) { s.nodes[s.lastFreeNode()].branch[7].end = 1 }},
	{"a free node is not listed", func(s *sample) { s.freeNodes = s.freeNodes[1:] }},
	{"a free node is listed twice", func(s *sample) { s.freeNodes[0] = s.lastFreeNode() }},
	{"a node in use is listed as free", func(s *sample) { s.freeNodes[0] = s.node(s.alone).id }},
	{"a node that never existed is listed as free", func(s *sample) { s.freeNodes[0] = uint32(len(s.nodes)) }},

	{"a bucket counts an entry too many", func(s *sample) { s.bucketOf(s.withDead).live++ }},
	{"a bucket counts an entry too few", func(s *sample) { s.bucketOf(s.withDead).live-- }},
	{"a bucket counts no entries", func(s *sample) { s.bucketOf(s.alone).live = 0 }},
	{"a bucket counts a chunk too many", func(s *sample) { s.bucketOf(s.withDead).chunkCount++ }},
	{"a bucket counts a chunk too few", func(s *sample) { s.bucketOf(s.withDead).chunkCount-- }},
	{"a bucket ends a ref late", func(s *sample) { s.bucketOf(s.withDead).end++ }},
	{"a bucket ends a ref early", func(s *sample) { s.bucketOf(s.withDead).end-- }},
	{"a bucket ends before the refs of its chunk", func(s *sample) { s.bucketOf(s.alone).end -= chunkFirstRef }},
	{"a bucket ends in the chunk of another", func(s *sample) { s.bucketOf(s.withDead).end = s.bucketOf(s.alone).end }},
	{"a bucket starts with the chunk of another", func(s *sample) { s.bucketOf(s.alone).head = s.bucketOf(s.due).head }},
	{"a bucket with entries has no chunk", func(s *sample) { s.bucketOf(s.alone).head = 0 }},
	{"a bucket starts with a chunk that never existed", func(s *sample) { s.bucketOf(s.alone).head = noSuchChunk }},
	{"a chain is a circle", func(s *sample) { s.chain(s.withDead)[2][chunkNext] = s.bucketOf(s.withDead).head }},
	{"a chain skips a chunk", func(s *sample) { c := s.chain(s.withDead); c[1][chunkNext] = c[2][chunkNext] }},
	{"a chain leads to a chunk that never existed", func(s *sample) { s.chain(s.withDead)[2][chunkNext] = noSuchChunk }},
	{"a chunk has a wrong link back", func(s *sample) { s.chain(s.withDead)[2][chunkPrev]++ }},
	{"a chain ends early", func(s *sample) { s.chain(s.withDead)[2][chunkNext] = 0 }},
	{"a ref names another slot", func(s *sample) { s.chain(s.withDead)[0][chunkFirstRef+1] = uint32(s.withDead) }},
	{"a ref names a slot that never existed", func(s *sample) { s.chain(s.withDead)[0][chunkFirstRef+1] = noSuchSlot }},
	{"a live ref is marked dead", func(s *sample) { *s.dead(s.slot(s.withDead).pos) |= 1 << chunkFirstRef }},
	{"a dead ref is not marked dead", func(s *sample) { m := s.dead(s.slot(s.withDead).pos); *m &= *m - 1 }},
	{"a ref after the end is marked dead", func(s *sample) { end := s.bucketOf(s.alone).end; *s.dead(end) |= 1 << end.index() }},
	{"a compaction fills the chain of another bucket", func(s *sample) { s.setFill(s.compacting, s.slot(s.alone).pos+1) }},
	{"a compaction fills the last chunk", func(s *sample) { s.setFill(s.compacting, s.bucketOf(s.compacting).end) }},
	{"a compaction is about to overwrite live refs", func(s *sample) { s.chain(s.compacting)[0][chunkFill]-- }},
	{"a compaction is about to overwrite a link", func(s *sample) { s.setFill(s.withDead, makePos(s.bucketOf(s.withDead).head, 1)) }},
	{"a bucket has far more dead refs than allowed", func(s *sample) {
		many := s.arm(200*chunkRefs, 1011, 0)
		b := s.bucketOf(many[0])
		b.live += 1 << 20 // keeps Cancel from compacting
		for k, h := range many {
			if k%chunkRefs != 0 {
				s.Cancel(h)
			}
		}
		b.live -= 1 << 20
	}},
	{"a bucket of more than one tick has too many entries", func(s *sample) {
		many := s.arm(2*bucketLimit, 1011, 0)
		from, d := s.branchOf(*s.bucketID(many[0]))
		to, e := s.branchOf(*s.bucketID(s.alone) + 1)
		to.branch[e], from.branch[d] = from.branch[d], bucket{}
		to.occupied, from.occupied = to.occupied|1<<e, from.occupied&^(1<<d)
		for _, h := range many {
			s.slot(h).at, *s.bucketID(h) = 3<<42, to.bucketID(e)
		}
	}},

	{"a slot has the position of another ref", func(s *sample) { s.slot(s.withDead).pos++ }},
	{"the meta of a chunk names another bucket", func(s *sample) { *s.bucketID(s.withDead)++ }},
	{"a slot has a tick of another bucket", func(s *sample) { s.slot(s.withDead).at = s.slot(s.alone).at }},
	{"the slot of an armed entry has the position of a free one", func(s *sample) { s.slot(s.withDead).pos = posFree }},
	{"a free slot has the position of a ref", func(s *sample) { s.slots.get(s.freeSlotNumber()).pos = s.slot(s.alone).pos }},
	{"a free slot keeps its value", func(s *sample) { s.slots.get(s.freeSlotNumber()).value = 1 }},
	{"a slot has a generation from before its slab", func(s *sample) { s.firstGen[0] = s.slot(s.alone).gen + 1 }},
	{"a slot in use is in the free set", func(s *sample) { flip(s.slots.free.words, uint32(s.alone)) }},
	{"a slot that was used is neither free nor in use", func(s *sample) { flip(s.slots.free.words, s.freeSlotNumber()) }},
	{"a slot that was never used is neither free nor in use", func(s *sample) {
		s.Wheel = New[uint32](0, 0)
		flip(s.slots.free.words, uint32(s.Schedule(1, 1))+1)
	}},

	{"the slot of a parked entry has its old position", func(s *sample) { s.slot(s.parked).pos = s.parkedPos }},
	{"the slot of a parked entry has the position of a free one", func(s *sample) { s.slot(s.parked).pos = posFree }},
	{"the slot of a parked entry is in the free set", func(s *sample) { s.slots.free.add(uint32(s.parked)) }},
	{"a parked entry was freed, but is still counted", func(s *sample) { s.freeSlot(uint32(s.parked), s.slot(s.parked)) }},
	{"a parked entry is counted twice", func(s *sample) { s.Park(s.alone); s.count++ }},
	{"the ref of a parked entry is live", func(s *sample) { *s.dead(s.parkedPos) &^= 1 << s.parkedPos.index() }},
	{"the ref of a parked entry is live and counted", func(s *sample) {
		*s.dead(s.parkedPos) &^= 1 << s.parkedPos.index()
		s.bucketOf(s.withDead).live++
	}},
	{"the slot of an armed entry has the position of a parked one", func(s *sample) { s.slot(s.withDead).pos = posParked }},
	{"a free slot has the position of a parked one", func(s *sample) { s.slots.get(s.freeSlotNumber()).pos = posParked }},
	{"a parked entry has a generation from before its slab", func(s *sample) {
		b := uint32(s.parked) >> slabBits
		for k := range s.slots.slabs[b] { // all other slots of the slab are sound
			s.slots.slabs[b][k].gen++
		}
		s.firstGen[b]++
		s.slot(s.parked).gen = s.firstGen[b] - 1
	}},
	{"slot 0 is parked", func(s *sample) { s.slots.get(0).pos = posParked }},
	{"Compact goes on before the first bucket", func(s *sample) { s.compactNext = -1 }},
	{"Compact goes on far after the last bucket", func(s *sample) { s.compactNext = len(s.nodes)*fanOut + 1 }},

	{"slot 0 is free", func(s *sample) { flip(s.slots.free.words, 0) }},
	{"slot 0 is in use", func(s *sample) { s.slots.get(0).pos = s.slot(s.alone).pos }},
	{"a slot of a released slab is free", func(s *sample) { flip(s.slots.free.words, s.slots.released[0]<<slabBits) }},
	{"a chunk in use is in the free set", func(s *sample) { flip(s.chunks.free.words, s.bucketOf(s.due).head) }},
	{"a chunk is neither free nor in use", func(s *sample) { flip(s.chunks.free.words, s.freeChunkNumber()) }},
	{"chunk 0 is free", func(s *sample) { flip(s.chunks.free.words, 0) }},
	{"a chunk of a released slab is free", func(s *sample) { flip(s.chunks.free.words, s.chunks.released[0]<<slabBits) }},
	{"free slots have no bit in groups", func(s *sample) { flip(s.slots.free.groups, s.freeSlotNumber()>>6) }},
	{"free slots have no bit in top", func(s *sample) { flip(s.slots.free.top, s.freeSlotNumber()>>12) }},
	{"free chunks have no bit in groups", func(s *sample) { flip(s.chunks.free.groups, s.freeChunkNumber()>>6) }},
	{"free chunks have no bit in top", func(s *sample) { flip(s.chunks.free.top, s.freeChunkNumber()>>12) }},
	{"a released slab is not listed", func(s *sample) { s.slots.released = s.slots.released[1:] }},
	{"a slab is listed as released twice", func(s *sample) { s.slots.released = append(s.slots.released, s.slots.released[0]) }},
	{"a slab in use is listed as released", func(s *sample) { s.chunks.released[0] = 0 }},
	{"a slab that never existed is listed as released", func(s *sample) { s.slots.released = append(s.slots.released, 1<<20) }},
	{"a slab has too few elements", func(s *sample) {
		slab := &s.slots.slabs[uint32(s.inSplit)>>slabBits]
		*slab = (*slab)[:slabSize/2]
	}},
	{"a free set has no bits for the last slab", func(s *sample) { s.slots.free.words = s.slots.free.words[:slabWords] }},
	{"a free set has no top", func(s *sample) { s.slots.free.top = nil }},
	{"a chunk has no meta", func(s *sample) { s.meta = s.meta[:len(s.meta)-1] }},
	{"a slab of slots has no first generation", func(s *sample) { s.firstGen = s.firstGen[1:] }},
}

func TestTheCheckerFindsEveryFault(t *testing.T) {
	testkit.SkipIfShort(t)
	for _, f := range slices.Concat(faults, unsettledFaults) {
		t.Run(f.name, func(t *testing.T) {
			s := newSample(t)
			f.plant(s)
			err := check(s.Wheel)
			if err == nil {
				t.Fatal("the checker does not find the fault")
			}
			t.Log(err)
		})
	}
}
