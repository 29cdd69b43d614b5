package wheel

import "math/bits"

// Never is the tick that Lookup tells of a parked entry, which is not due at any. It is
// also the last tick there is, and an entry may be armed for it.
const Never Tick = 1<<64 - 1

// parked is the position of an entry that is in no bucket. It is not a word: chunk 0
// is never handed out.
const parked = 1

// Reserve makes an entry that is parked: it has a payload and a handle, and is armed by
// Reschedule.
func (w *Wheel[V]) Reserve(v V) Handle {
	if w == nil {
		panic("wheel: Reserve on a nil *Wheel; use new(Wheel) or New")
	}
	i := w.slots.alloc()
	if i == 0 {
		i = w.slots.allocSlow(w.growSlots)
	}
	s := w.slots.get(i)
	s.v = v
	s.pos = parked
	w.count++
	return w.handle(i, s.gen)
}

// Park takes an entry off the wheel without ending it, and tells whether it was armed.
// A parked entry keeps its handle and its payload, is not due at any tick, and is armed
// again by [Wheel.Reschedule] or ended by [Wheel.Cancel]. Len counts it and All ranges
// over it; Advance and Drain do not yield it.
func (w *Wheel[V]) Park(h Handle) bool {
	s := w.lookup(h)
	if s == nil || s.pos == parked {
		return false
	}
	pos := s.pos
	untidy := w.detach(pos)
	s.pos = parked
	if untidy {
		w.tidy(pos, s.at)
	}
	return true
}

// Pop moves the wheel on to a tick like [Wheel.Advance], but parks the first entry
// that is due instead of removing it, and returns its handle and its tick. It answers
// false when nothing is due. Unlike the body of an Advance, what is made due between
// two calls of Pop is popped by the second.
func (w *Wheel[V]) Pop(now Tick) (h Handle, at Tick, ok bool) {
	b, pos := w.front(now)
	if b == nil {
		return 0, 0, false
	}
	i := w.chunks.get(pos >> 5)[pos&31]
	s := w.slots.get(i)
	w.bury(pos)
	b.live--
	s.pos = parked
	if b.live == 0 || w.marks[pos>>5].dead == allDead || b.desolate() {
		w.tidy(pos, s.at)
	}
	return w.handle(i, s.gen), s.at, true
}

// Requeue arms an entry, usually one that was just popped, like [Wheel.Reschedule], but for
// exactly the given tick even if that is before Now(), as long as it is not before the tick
// of the entry popped last. So an entry that was popped although its real deadline lies a
// little further on takes its place among others that are overdue.
func (w *Wheel[V]) Requeue(h Handle, at Tick) bool {
	if w == nil || w.pass != noPass {
		return w.Reschedule(h, at)
	}
	now := w.now
	w.now = min(now, max(at, w.cursor)) // what Reschedule holds the tick against
	ok := w.Reschedule(h, at)
	w.now = now
	return ok
}

// Peek moves the wheel on to a tick like [Wheel.Pop], and returns what Pop would, but
// leaves it in the wheel.
func (w *Wheel[V]) Peek(now Tick) (h Handle, at Tick, ok bool) {
	b, pos := w.front(now)
	if b == nil {
		return 0, 0, false
	}
	i := w.chunks.get(pos >> 5)[pos&31]
	s := w.slots.get(i)
	return w.handle(i, s.gen), s.at, true
}

// front moves the wheel on to a tick and returns the bucket and the position of the
// first word that is due, or nil if nothing is.
func (w *Wheel[V]) front(now Tick) (b *bucket, pos uint32) {
	if w == nil {
		return nil, 0
	}
	if w.pass != noPass {
		panic("wheel: Pop or Peek in the body of Advance or Drain")
	}
	w.now = max(w.now, now)
	if !w.seek() {
		w.cursor = w.now
		return nil, 0
	}
	b = &w.path[0].branch[w.cursor&digitMask]
	live := w.alive(b, b.head)
	for ; live == 0; live = w.alive(b, b.head) {
		w.popChunk(b)
	}
	return b, b.head<<5 | uint32(bits.TrailingZeros32(live))
}

// Value returns a pointer to the payload of an entry, armed or parked, or nil if h
// names none. It is good until the next call that makes, arms or removes an entry.
func (w *Wheel[V]) Value(h Handle) *V {
	s := w.lookup(h)
	if s == nil {
		return nil
	}
	return &s.v
}

// Entry returns the tick and a pointer to the payload of an entry, as Lookup and Value
// do.
func (w *Wheel[V]) Entry(h Handle) (at Tick, v *V) {
	s := w.lookup(h)
	if s == nil {
		return 0, nil
	}
	if s.pos == parked {
		return Never, &s.v
	}
	return s.at, &s.v
}

// Numbered returns what Entry does for the entry that has a number now, and its handle. It
// returns nil if none has. For those who have no room for a whole handle, and can tell from the
// payload whether the entry is theirs.
func (w *Wheel[V]) Numbered(n uint32) (h Handle, at Tick, v *V) {
	if w == nil {
		return 0, 0, nil
	}
	s := w.slots.find(n)
	if s == nil || s.pos == 0 {
		return 0, 0, nil
	}
	h, at = w.handle(n, s.gen), s.at
	if s.pos == parked {
		at = Never
	}
	return h, at, &s.v
}

// Stale returns how many dead words the buckets hold: those of entries that were
// cancelled, parked, rescheduled or yielded, and whose place has not been put to use again.
// It looks at every bucket, which takes a tenth of a millisecond with ten million entries.
func (w *Wheel[V]) Stale() int {
	if w == nil {
		return 0
	}
	stale := 0
	for _, n := range w.nodes {
		if n == nil {
			continue
		}
		for left := n.occupied &^ n.open; left != 0; left &= left - 1 {
			stale += n.branch[bits.TrailingZeros64(left)].stale()
		}
	}
	return stale
}

// stale returns the number of dead words of b.
func (b *bucket) stale() int {
	words := int(b.size) * chunkWords
	if tail := b.end & 31; tail != 0 {
		words -= 32 - int(tail)
	}
	return words - int(b.live)
}

// Compact moves the live words of buckets together, and returns how many dead words it
// did away with. It works on about n chunks of 30 words, taking turns from call to call.
// Where there is no room to win it looks on, at every bucket once at most: half a
// millisecond with ten million entries. What it leaves when it has been everywhere is
// fewer than 60 dead words a bucket. A wheel keeps its dead words to a bound without it;
// Compact is for those who would rather have the memory, with Trim.
func (w *Wheel[V]) Compact(n int) (removed int) {
	if w == nil {
		return 0
	}
	for left := len(w.nodes) * fanOut; left > 0 && n > 0; {
		if w.compact>>digitBits >= len(w.nodes) {
			w.compact = 0
		}
		at := w.nodes[w.compact>>digitBits]
		d := uint(w.compact & digitMask)
		if at == nil || at.occupied>>d == 0 {
			w.compact += fanOut - int(d)
			left -= fanOut - int(d)
			continue
		}
		b := &at.branch[d]
		if (at.occupied&^at.open)>>d&1 == 0 || b.stale() < 2*chunkWords {
			w.compact++
			left--
			continue
		}
		size := b.size
		w.sweep(b)
		removed += int(size-b.size) * chunkWords
		n -= int(min(size, sweepChunks))
		if w.fence != 0 && w.chunks.get(b.head)[chunkSweep] == 0 {
			w.compact++ // what is on either side of a fence is kept apart, and may stay sparse
			left--
		}
	}
	return removed
}
