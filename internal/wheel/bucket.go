package wheel

// A bucket holds the entries of one branch of the trie, in arming order. Each entry has a ref
// there: its slot's number. Refs are in a chain of chunks and are only appended.
//
// An entry leaves the bucket in one of two ways. If its ref is the last one, the bucket becomes one
// ref shorter. Otherwise the ref is marked dead in its chunk's chunkMeta. Neither way touches the
// chunk itself, which is probably not in the cache. Dead refs are removed when there are too many
// of them. See compact.go.
//
//	bucket   head ─► chunk ─► chunk ─► chunk       live 5, chunkCount 3
//	                 3 9 ✗ 4  ✗ ✗ 7 ✗  ✗ 5 · ·     end: the first ·
type bucket struct {
	head       uint32 // the first chunk; 0: none. In a split branch: the id of the child node
	end        refPos // the position after the last ref; 0: the bucket is empty
	live       uint32 // live refs, one per entry
	chunkCount uint32
}

// A chunk is two cache lines: two header words, and 30 refs.
type chunk [chunkWords]uint32

const (
	chunkWords    = 32
	chunkNext     = 0 // header: the next chunk of the chain; undefined in the last chunk
	chunkPrev     = 1 // header: the previous chunk; not in the first chunk of a chain
	chunkFill     = 1 // header of the first chunk: where compactBucket continues; 0: at the start
	chunkFirstRef = 2 // the index of the first ref
	chunkRefs     = 30

	maxChunkSlabs = 1 << (27 - slabBits) // so that a refPos fits into 32 bits
)

// chunkMeta is what an entry that leaves its bucket must know about its chunk. It is in a table
// beside the chunks, which is dense and therefore more likely to be in the cache. It also saves
// each slot a field that names its bucket.
type chunkMeta struct {
	dead   uint32 // bit i: word i of the chunk is a dead ref or a header
	bucket bucketID
}

const (
	deadNone = 1<<chunkFirstRef - 1 // chunkMeta.dead without dead refs: the two headers
	deadAll  = 1<<32 - 1
)

// A refPos is the position of a ref: the number of its chunk times 32, plus its index there.
type refPos uint32

// Chunk 0 is never allocated, so its positions have other meanings in a slot. Those from
// chunkFirstRef on are positions in Wheel.recent.
const (
	posFree   refPos = 0          // the slot is free
	posParked refPos = 1          // the entry is parked
	posBucket refPos = chunkWords // from here on: the entry has a ref in a bucket
)

func makePos(chunk, index uint32) refPos { return refPos(chunk<<5 | index) }

func (p refPos) chunk() uint32 { return uint32(p >> 5) }

func (p refPos) index() uint32 { return uint32(p & 31) }

// chunkBefore returns the chunk of the ref before position end. It differs from end.chunk() if that
// ref is the last of a full chunk: end is then the start of the chunk with the next number, which
// need not belong to the same chain.
func chunkBefore(end refPos) uint32 { return uint32(end-1) >> 5 }

// refsFrom returns the set of refs in chunk c that are at position end or after it. It is empty if
// end is in another chunk, or at the very start of c, because such an end belongs to the full chunk
// with the number before.
func refsFrom(end refPos, c uint32) uint32 {
	if end.chunk() != c || end.index() == 0 {
		return 0
	}
	return ^uint32(0) << end.index()
}

func (b *bucket) lastChunk() uint32 { return chunkBefore(b.end) }

// noRoom reports whether b's last chunk is full or b has no chunk.
func (b *bucket) noRoom() bool { return b.end.index() == 0 }

// liveRefs returns the set of live refs in chunk c, which is in b's chain.
func (w *Wheel[V]) liveRefs(b *bucket, c uint32) uint32 {
	live := ^w.meta[c].dead
	if c == b.lastChunk() {
		live &^= refsFrom(b.end, c)
	}
	return live
}

func (w *Wheel[V]) markDead(pos refPos) {
	w.meta[pos.chunk()].dead |= 1 << pos.index()
}

// appendRef appends a ref to slot i to bucket b, whose id is id, and returns its position.
func (w *Wheel[V]) appendRef(b *bucket, id bucketID, i uint32) refPos {
	if b.noRoom() {
		w.appendChunk(b, id)
	}
	pos := b.end
	w.chunks.get(pos.chunk())[pos.index()] = i
	b.end = pos + 1
	b.live++
	return pos
}

// appendChunk appends an empty chunk to bucket b, whose id is id. Refs of the previous chunk that
// are not used yet stay unused: they are marked dead.
//
//go:noinline
func (w *Wheel[V]) appendChunk(b *bucket, id bucketID) {
	if !w.hasTidied && b.mostlyDead() {
		w.compactBucket(b)
		w.hasTidied = true
	}
	c := w.chunks.alloc()
	if c == 0 {
		c = w.chunks.allocSlow(w.growChunks)
	}
	w.meta[c] = chunkMeta{deadNone, id}
	end := b.end
	b.end = makePos(c, chunkFirstRef)
	b.chunkCount++
	if b.head == 0 {
		b.head = c
		w.chunks.get(c)[chunkFill] = 0
		return
	}
	last := chunkBefore(end)
	w.chunks.get(last)[chunkNext] = c
	w.chunks.get(c)[chunkPrev] = last
	m := &w.meta[last]
	m.dead |= refsFrom(end, last)
	if m.dead == deadAll {
		w.dropChunk(b, last)
	}
}

// dropChunk removes chunk c, which has no live ref, from b's chain and frees it. It keeps the last
// chunk, the first chunk of deferred entries, and the chunk that a compaction is filling. As a
// result, yieldBucket never has to skip more than a few chunks without live refs, and entries that
// are canceled in arming order leave nothing behind.
func (w *Wheel[V]) dropChunk(b *bucket, c uint32) {
	if c == b.lastChunk() || c == w.deferred {
		return
	}
	w.chainVersion++
	if c == b.head {
		w.dropFirstChunk(b)
		return
	}
	if chunkBefore(w.fillPos(b)) == c {
		return
	}
	header := w.chunks.get(c)
	prev, next := header[chunkPrev], header[chunkNext]
	w.chunks.get(prev)[chunkNext] = next
	w.chunks.get(next)[chunkPrev] = prev
	b.chunkCount--
	w.freeChunk(c)
}

// dropFirstChunk removes and frees the first chunk of b, which has no live ref and is not the last.
func (w *Wheel[V]) dropFirstChunk(b *bucket) {
	c := b.head
	fill := w.fillPos(b)
	if chunkBefore(fill) == c {
		fill = 0
	}
	b.head = w.chunks.get(c)[chunkNext]
	b.chunkCount--
	w.setFillPos(b, fill)
	w.freeChunk(c)
}

// freeChunks frees all chunks of b, which has no live ref, and empties b.
func (w *Wheel[V]) freeChunks(b *bucket) {
	for c := b.head; b.chunkCount > 0; b.chunkCount-- {
		next := w.chunks.get(c)[chunkNext]
		w.freeChunk(c)
		c = next
	}
	*b = bucket{}
	w.chainVersion++
}

func (w *Wheel[V]) freeChunk(c uint32) {
	if c == w.deferred {
		w.deferred = 0
	}
	w.meta[c].dead = deadNone // a later cleanUp must not free the chunk again
	w.chunks.free.add(c)
}
