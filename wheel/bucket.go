package wheel

import "math/bits"

// A bucket holds the entries of one branch of the trie, in the order of arming: a
// chain of chunks of words, each word the number of a slot. Words are only ever
// appended. To take an entry out is to mark its word dead, in a dense table of marks
// beside the chunks, or to shorten the chain if the word is the last; either way the
// chunk itself, which will not be in the cache, is left alone. Dead words are swept out
// when there are too many: for an arm that needs room, or to be kept at all.
//
//	bucket   head ─► chunk ─► chunk ─► chunk       live 4, size 3
//	                 3 9 ✗ 4  ✗ ✗ ✗ ✗  ✗ 5 · ·     end: the first ·
type bucket struct {
	head uint32 // the first chunk; 0: none. In an open branch: the id of the child node
	end  uint32 // the position behind the last word; 0: none
	live uint32 // entries
	size uint32 // chunks
}

// A chunk is two cache lines: two words for the chain, and 30 that name slots. The
// position of a word is the number of its chunk times 32 plus its index there.
type chunk [32]uint32

// A mark is what an entry that leaves its bucket needs of its chunk. So a slot has no
// need to say which bucket it is in.
type mark struct {
	dead uint32 // its dead words, a bit each
	in   uint32 // its bucket: the id of the node and the digit of the branch
}

const (
	chunkNext  = 0 // the next chunk of the chain; undefined in the last one
	chunkSweep = 1 // in the first chunk of a chain: how far its sweep has come
	chunkPrev  = 1 // in any other: the chunk before
	chunkFirst = 2 // the first word that names a slot
	chunkWords = 30

	// The marks of a chunk begin with those of the two words that name no slots.
	noneDead = 1<<chunkFirst - 1
	allDead  = 1<<32 - 1

	maxChunkSlabs = 1 << (27 - slabBits) // so that a position fits into 32 bits

	// sweepChunks bounds what one call does for a bucket with too many dead words.
	sweepChunks = 64
)

// chunkOf returns the chunk that ends at the position end, or in which end lies. The
// end of a full chunk is the start of the one numbered next.
func chunkOf(end uint32) uint32 {
	return (end - 1) >> 5
}

// sparse tells that dead words outnumber live ones two to one, and some more: too many
// to add to them. It divides lest it overflow.
func (b *bucket) sparse() bool {
	return b.size*chunkWords/3 > b.live+2*chunkWords/3
}

// desolate tells that dead words outnumber live ones seven to one, and some more: too
// many to keep.
func (b *bucket) desolate() bool {
	return b.size*chunkWords/8 > b.live+4*chunkWords/8
}

// push files slot i at the end of the bucket b, which mark.in calls in, and returns the
// position of its word.
func (w *Wheel[V]) push(b *bucket, in, i uint32) uint32 {
	if b.end&31 == 0 {
		w.extend(b, in)
	}
	pos := b.end
	w.chunks.get(pos >> 5)[pos&31] = i
	b.end = pos + 1
	b.live++
	return pos
}

// extend adds an empty chunk to b. What is left of the chunk before stays unused.
//
//go:noinline
func (w *Wheel[V]) extend(b *bucket, in uint32) {
	if b.sparse() {
		w.sweep(b)
	}
	c := w.chunks.alloc()
	if c == 0 {
		c = w.chunks.allocSlow(w.growChunks)
	}
	w.marks[c] = mark{noneDead, in}
	end := b.end
	b.end = c<<5 | chunkFirst
	b.size++
	if b.head == 0 {
		b.head = c
		w.chunks.get(c)[chunkSweep] = 0
		return
	}
	last := chunkOf(end)
	w.chunks.get(last)[chunkNext] = c
	w.chunks.get(c)[chunkPrev] = last
	m := &w.marks[last]
	m.dead |= behind(last, end)
	if m.dead == allDead {
		w.dropChunk(b, last)
	}
}

// bury marks the word at a position dead.
func (w *Wheel[V]) bury(pos uint32) {
	w.marks[pos>>5].dead |= 1 << (pos & 31)
}

// alive returns the set of live words of chunk c of b.
func (w *Wheel[V]) alive(b *bucket, c uint32) uint32 {
	live := ^w.marks[c].dead
	if c == chunkOf(b.end) {
		live &^= behind(c, b.end)
	}
	return live
}

// behind returns the set of words of chunk c from the position end on.
func behind(c, end uint32) uint32 {
	if end>>5 != c || end&31 == 0 { // an end at 0 is that of the chunk numbered before
		return 0
	}
	return ^uint32(0) << (end & 31)
}

// freeChain gives back the chunks of b, which holds no live word, and empties it.
func (w *Wheel[V]) freeChain(b *bucket) {
	for c := b.head; b.size > 0; b.size-- {
		next := w.chunks.get(c)[chunkNext]
		w.freeChunk(c)
		c = next
	}
	*b = bucket{}
	w.moved++
}

func (w *Wheel[V]) freeChunk(c uint32) {
	if c == w.fence {
		w.fence = 0
	}
	w.chunks.free.add(c)
}

// popChunk gives back the first chunk of b, which holds no live word and is not the
// last.
func (w *Wheel[V]) popChunk(b *bucket) {
	c := b.head
	first := w.chunks.get(c)
	next, swept := first[chunkNext], first[chunkSweep]
	if chunkOf(swept) == c {
		swept = 0
	}
	b.head = next
	b.size--
	w.chunks.get(next)[chunkSweep] = swept
	w.freeChunk(c)
}

// dropChunk gives back a chunk of b that has no live word, unless it is the last, the
// fence, or being filled by a sweep. So there are never more than a few of those for
// fire to step over, and entries that are cancelled in the order of arming leave
// nothing behind.
func (w *Wheel[V]) dropChunk(b *bucket, c uint32) {
	if c == chunkOf(b.end) || c == w.fence {
		return
	}
	w.moved++
	if c == b.head {
		w.popChunk(b)
		return
	}
	if chunkOf(w.chunks.get(b.head)[chunkSweep]) == c {
		return
	}
	words := w.chunks.get(c)
	prev, next := words[chunkPrev], words[chunkNext]
	w.chunks.get(prev)[chunkNext] = next
	w.chunks.get(next)[chunkPrev] = prev
	b.size--
	w.freeChunk(c)
}

// sweep moves the live words of the next chunks of b up into the room of the dead
// ones before them, and gives back the chunks that come free. It does a bounded
// piece of this at a time and goes on where it stopped:
//
//	head ─► all alive ─► being filled ─► yet to be read ─► … ─► last
//	                            ▲ the position in chunkSweep of head
//
// The last chunk stays as it is, and what is behind the fence stays behind it: there
// the filling begins anew.
func (w *Wheel[V]) sweep(b *bucket) {
	w.moved++
	last := chunkOf(b.end)
	from := b.head
	to := w.chunks.get(from)[chunkSweep]
	if to == 0 {
		to = from<<5 | chunkFirst
	} else {
		from = w.chunks.get(chunkOf(to))[chunkNext]
	}
	for range sweepChunks {
		if from == last {
			to = 0
			break
		}
		if from == w.fence {
			to = from<<5 | chunkFirst
		}
		words := w.chunks.get(from)
		next := words[chunkNext]
		filling, start := chunkOf(to), to
		for live := w.alive(b, from); live != 0; live &= live - 1 {
			i := words[bits.TrailingZeros32(live)&31]
			if to&31 == 0 {
				to = from<<5 | chunkFirst
			}
			w.chunks.get(to >> 5)[to&31] = i
			w.slots.get(i).pos = to
			to++
		}
		m := &w.marks[filling]
		m.dead = m.dead&^behind(filling, start) | behind(filling, to)
		switch {
		case chunkOf(to) == from:
			w.marks[from].dead = noneDead | behind(from, to)
		case filling != from:
			w.chunks.get(filling)[chunkNext] = next
			w.chunks.get(next)[chunkPrev] = filling
			w.freeChunk(from)
			b.size--
		}
		from = next
	}
	w.chunks.get(b.head)[chunkSweep] = to
}
