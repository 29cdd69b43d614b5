package wheel

import "math/bits"

// Dead refs take memory, and time to skip. A bucket is compacted when it needs a chunk and is
// mostly dead, or when it is nearly all dead. The second threshold is higher because compaction is
// expensive: each live ref that it moves is a write to a slot that is probably not in the cache. A
// call that appends a chunk makes use of the room. A call that removes an entry does not, so it
// should rarely have to pay.

// mostlyDead reports whether b has more than two dead refs per live ref, and a few more. It
// divides because a multiplication could overflow.
func (b *bucket) mostlyDead() bool {
	return b.chunkCount*chunkRefs/3 > b.live+2*chunkRefs/3
}

// nearlyAllDead reports whether b has more than seven dead refs per live ref, and a few more.
func (b *bucket) nearlyAllDead() bool {
	return b.chunkCount*chunkRefs/8 > b.live+4*chunkRefs/8
}

// compactChunks is the number of chunks that one call to compactBucket processes.
const compactChunks = 64

// compactBucket moves b's live refs toward the head of the chain, into the room of dead refs, and
// frees the chunks that become empty. It keeps the order of the refs. One call processes
// compactChunks chunks and records in the first chunk, as the fill position, where the next call
// must continue:
//
//	head ─► all live ─► being filled ─► not read yet ─► … ─► last
//	                          ▲ fill position
//
// The last chunk stays as it is. Refs of deferred entries must not mix with those before them, so
// the first deferred chunk is not moved: filling starts over there.
func (w *Wheel[V]) compactBucket(b *bucket) {
	w.chainVersion++
	last := b.lastChunk()
	from, to := b.head, w.fillPos(b)
	if to == 0 {
		to = makePos(from, chunkFirstRef)
	} else {
		from = w.chunks.get(chunkBefore(to))[chunkNext]
	}
	for range compactChunks {
		if from == last {
			to = 0
			break
		}
		if from == w.deferred {
			to = makePos(from, chunkFirstRef)
		}
		refs := w.chunks.get(from)
		next := refs[chunkNext]
		filling, start := chunkBefore(to), to
		for live := w.liveRefs(b, from); live != 0; live &= live - 1 {
			i := refs[bits.TrailingZeros32(live)&31]
			if to.index() == 0 {
				to = makePos(from, chunkFirstRef)
			}
			w.chunks.get(to.chunk())[to.index()] = i
			w.slots.get(i).pos = to
			to++
		}
		m := &w.meta[filling]
		m.dead = m.dead&^refsFrom(start, filling) | refsFrom(to, filling)
		switch {
		case chunkBefore(to) == from:
			w.meta[from].dead = deadNone | refsFrom(to, from)
		case filling != from:
			w.chunks.get(filling)[chunkNext] = next
			w.chunks.get(next)[chunkPrev] = filling
			w.freeChunk(from)
			b.chunkCount--
		}
		from = next
	}
	w.setFillPos(b, to)
}

// fillPos returns the position at which compactBucket continues to fill b's chain, or 0 if it
// starts at the head.
func (w *Wheel[V]) fillPos(b *bucket) refPos {
	return refPos(w.chunks.get(b.head)[chunkFill])
}

func (w *Wheel[V]) setFillPos(b *bucket, pos refPos) {
	w.chunks.get(b.head)[chunkFill] = uint32(pos)
}

// deadRefs returns the number of dead refs in b.
func (b *bucket) deadRefs() int {
	refs := int(b.chunkCount) * chunkRefs
	if !b.noRoom() {
		refs -= len(chunk{}) - int(b.end.index())
	}
	return refs - int(b.live)
}

// Stale returns the number of dead references in the buckets. Entries that are canceled, parked,
// rescheduled or yielded leave them behind until the memory is reused. Stale reads every bucket,
// which takes a tenth of a millisecond with ten million entries.
func (w *Wheel[V]) Stale() int {
	if w == nil {
		return 0
	}
	w.settle()
	return w.deadRefs()
}

func (w *Wheel[V]) deadRefs() int {
	dead := 0
	for _, n := range w.nodes {
		if n == nil {
			continue
		}
		for left := n.occupied &^ n.split; left != 0; left &= left - 1 {
			dead += n.branch[bits.TrailingZeros64(left)].deadRefs()
		}
	}
	return dead
}

// Compact removes dead references from buckets and returns how many it removed. It processes about
// the given number of chunks, each of 30 references, and continues where the previous call stopped.
// It skips buckets where it cannot free a chunk, and visits every bucket at most once, which takes
// half a millisecond with ten million entries. Once it has visited all of them, each bucket has
// fewer than 60 dead references.
//
// A wheel keeps the number of its dead references bounded without Compact. Call Compact, and then
// [Wheel.Trim], to get the memory back sooner.
func (w *Wheel[V]) Compact(chunks int) (removed int) {
	if w == nil {
		return 0
	}
	w.settle()
	for left := len(w.nodes) * fanOut; left > 0 && chunks > 0; {
		if w.compactNext>>digitBits >= len(w.nodes) {
			w.compactNext = 0
		}
		n := w.nodes[w.compactNext>>digitBits]
		d := uint(w.compactNext & digitMask)
		if n == nil || n.occupied>>d == 0 {
			w.compactNext += fanOut - int(d)
			left -= fanOut - int(d)
			continue
		}
		b := &n.branch[d]
		if (n.occupied&^n.split)>>d&1 == 0 || b.deadRefs() < 2*chunkRefs {
			w.compactNext++
			left--
			continue
		}
		before := b.chunkCount
		w.compactBucket(b)
		removed += int(before-b.chunkCount) * chunkRefs
		chunks -= int(min(before, compactChunks))
		if w.deferred != 0 && w.fillPos(b) == 0 {
			// Deferred refs do not mix with those before them, so a bucket that has both may keep
			// many dead refs. Do not try it again.
			w.compactNext++
			left--
		}
	}
	return removed
}
