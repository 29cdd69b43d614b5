package wheel

import "math/bits"

// This file contains methods that most users of a wheel do not need. The section "For schedulers"
// of the package comment says what they are for. Stale and Compact, which belong with them, are in
// compact.go.

// Reserve creates an entry that is parked from the start. It has a value and a handle, and
// [Wheel.Reschedule] arms it.
func (w *Wheel[V]) Reserve(v V) Handle {
	if w == nil {
		panic("wheel: Reserve on a nil *Wheel; use new(Wheel) or New")
	}
	// As in Schedule. A shared function would be too large to be inlined there.
	i := w.slots.alloc()
	if i == 0 {
		i = w.allocSlot()
	}
	s := w.slots.get(i)
	s.value = v
	s.pos = posParked
	w.count++
	return w.handle(i, s.gen)
}

// Park disarms an entry but keeps it, and reports whether it was armed. A parked entry keeps
// its handle and its value and is not due at any tick. [Wheel.Reschedule] arms it again, and
// [Wheel.Cancel] removes it. Len counts it and All ranges over it; Advance and Drain do not
// yield it.
func (w *Wheel[V]) Park(h Handle) bool {
	s := w.lookup(h)
	if s == nil || s.pos == posParked {
		return false
	}
	w.remove(s)
	s.pos = posParked
	return true
}

// Pop moves the wheel to a tick like [Wheel.Advance], but parks the first entry that is due instead
// of removing it, and returns its handle and its tick. It returns false if nothing is due. An entry
// that is made due between two calls to Pop is returned by a later call, unlike one that is made
// due in the body of an Advance. Pop panics in the body of Advance and Drain.
func (w *Wheel[V]) Pop(now Tick) (h Handle, at Tick, ok bool) {
	b, pos, i := w.firstDue(now)
	if b == nil {
		return 0, 0, false
	}
	s := w.slots.get(i)
	w.markDead(pos)
	b.live--
	s.pos = posParked
	if b.live == 0 || w.meta[pos.chunk()].dead == deadAll || b.nearlyAllDead() {
		w.cleanUp(pos, s.at)
	}
	return w.handle(i, s.gen), s.at, true
}

// Popped returns the tick with which [Wheel.Pop] returned an entry that has not been armed since.
// It returns Never if h names no entry, and has no meaning for other entries.
func (w *Wheel[V]) Popped(h Handle) Tick {
	if s := w.lookup(h); s != nil {
		return s.at
	}
	return Never
}

// Peek moves the wheel to a tick like [Wheel.Pop] and returns what Pop would return, but
// leaves the entry armed. Peek panics in the body of Advance and Drain.
func (w *Wheel[V]) Peek(now Tick) (h Handle, at Tick, ok bool) {
	b, _, i := w.firstDue(now)
	if b == nil {
		return 0, 0, false
	}
	s := w.slots.get(i)
	return w.handle(i, s.gen), s.at, true
}

// firstDue moves the wheel to a tick. It returns the bucket of the first entry that is due, the
// position of its ref and the number of its slot. The bucket is nil if nothing is due.
func (w *Wheel[V]) firstDue(now Tick) (b *bucket, pos refPos, i uint32) {
	if w == nil {
		return nil, 0, 0
	}
	if w.pass != passNone {
		panic("wheel: Pop or Peek in the body of Advance or Drain")
	}
	w.now = max(w.now, now)
	w.settleUntil(w.now)
	if !w.seekDue() {
		w.cursor = w.now
		return nil, 0, 0
	}
	b = &w.path[0].branch[w.cursor&digitMask]
	live := w.liveRefs(b, b.head)
	for ; live == 0; live = w.liveRefs(b, b.head) {
		w.dropFirstChunk(b)
	}
	pos = makePos(b.head, uint32(bits.TrailingZeros32(live)))
	return b, pos, w.chunks.get(b.head)[pos.index()]
}

// Requeue arms an entry, usually one that was just popped, like [Wheel.Reschedule], but for exactly
// the given tick even if that is before Now(), as long as it is not before the tick of the entry
// that was popped last. A scheduler uses it for an entry that was popped although its real deadline
// is a little later: the entry takes its place among others that are overdue. In the body of
// Advance and Drain, Requeue is the same as Reschedule.
func (w *Wheel[V]) Requeue(h Handle, at Tick) bool {
	if w == nil || w.pass != passNone {
		return w.Reschedule(h, at)
	}
	now := w.now
	w.now = min(now, max(at, w.cursor)) // Reschedule arms nothing before w.now
	ok := w.Reschedule(h, at)
	w.now = now
	return ok
}

// Value returns a pointer to an entry's value, armed or parked, or nil if h names no entry. The
// pointer is valid until the next call that creates, arms or removes an entry.
func (w *Wheel[V]) Value(h Handle) *V {
	s := w.lookup(h)
	if s == nil {
		return nil
	}
	return &s.value
}

// Entry returns the tick of an entry, as [Wheel.Lookup] does, and a pointer to its value, as
// [Wheel.Value] does. The pointer is nil if h names no entry.
func (w *Wheel[V]) Entry(h Handle) (at Tick, v *V) {
	s := w.lookup(h)
	if s == nil {
		return 0, nil
	}
	return s.tick(), &s.value
}

// Number returns the number of the entry that h names, which is half of the handle. No two entries
// have the same number at the same time, but a new entry may get the number of one that is gone.
// Number is not a method, because the public Handle would then have it as well.
func Number(h Handle) uint32 { return uint32(h) }

// Numbered returns the handle of the entry that currently has the number n, and what [Wheel.Entry]
// returns for it. The pointer is nil if no entry has that number. Numbered is for a caller that has
// no room to store a whole handle, and can tell by the value whether the entry is still the one it
// means.
func (w *Wheel[V]) Numbered(n uint32) (h Handle, at Tick, v *V) {
	if w == nil {
		return 0, 0, nil
	}
	s := w.slots.find(n)
	if s == nil || s.pos == posFree {
		return 0, 0, nil
	}
	return w.handle(n, s.gen), s.tick(), &s.value
}

// CancelNumbered removes the entries that have the given numbers and returns how many it removed.
// See [Wheel.Numbered]. It skips a number that no entry has. It does what [Wheel.Cancel] does for
// each of them, but in less time, because their cache misses overlap.
func (w *Wheel[V]) CancelNumbered(numbers []uint32) (removed int) {
	for len(numbers) > 0 && w != nil {
		n := min(len(numbers), cancelMax)
		removed += w.cancelTogether(numbers[:n])
		numbers = numbers[n:]
	}
	return removed
}

// Soonest returns the exact tick of the earliest entry if its bucket has at most limit references,
// dead ones included, all of which it reads. For a larger bucket it may return what [Wheel.Next]
// does.
func (w *Wheel[V]) Soonest(limit int) (Tick, bool) {
	b, start, shift := w.firstBucket()
	if b == nil || shift == 0 || int(b.chunkCount-1)*chunkRefs > limit {
		return start, b != nil
	}
	at := Never
	c := b.head
	for range b.chunkCount {
		refs := w.chunks.get(c)
		for live := w.liveRefs(b, c); live != 0; live &= live - 1 {
			at = min(at, w.slots.get(refs[bits.TrailingZeros32(live)&31]).at)
		}
		c = refs[chunkNext]
	}
	return at, true
}

// Nearest appends to dst the handles of the entries that share a bucket with the earliest one,
// and reports whether it appended all of them. It stops when dst is full and never grows dst.
// Every entry outside the bucket is due later than every entry in it.
func (w *Wheel[V]) Nearest(dst []Handle) (near []Handle, all bool) {
	b, _, _ := w.firstBucket()
	if b == nil {
		return dst, true
	}
	c := b.head
	for range b.chunkCount {
		refs := w.chunks.get(c)
		for live := w.liveRefs(b, c); live != 0; live &= live - 1 {
			if len(dst) == cap(dst) {
				return dst, false
			}
			i := refs[bits.TrailingZeros32(live)&31]
			dst = append(dst, w.handle(i, w.slots.get(i).gen))
		}
		c = refs[chunkNext]
	}
	return dst, true
}

// Ahead appends to dst pointers to the values of the entries that Pop will return next, and returns
// dst. It stops when dst is full and never grows dst. It knows only entries that are due and in the
// block of 64 ticks that the wheel has reached, and it moves no entry. The pointers are valid until
// the next call that creates, arms or removes an entry.
//
// Ahead lets cache misses overlap. Entries that are due at the same time are scattered in memory,
// so a caller that pops, uses and arms one entry after the other waits for the cache misses of
// each. A caller that first reads everything that Ahead returns waits for many of them at once.
// Ahead itself reads the slots.
func (w *Wheel[V]) Ahead(dst []*V) []*V {
	if w == nil || w.path[0] == nil {
		return dst
	}
	w.settleUntil(w.now)
	n := w.path[0]
	due := n.occupied
	if w.now^w.cursor < fanOut {
		due &= 2<<(w.now&digitMask) - 1
	}
	sum := uint32(0)
	for ; due != 0; due &= due - 1 {
		b := &n.branch[bits.TrailingZeros64(due)]
		c := b.head
		for range b.chunkCount {
			refs := w.chunks.get(c)
			for live := w.liveRefs(b, c); live != 0; live &= live - 1 {
				if len(dst) == cap(dst) {
					w.prefetchSink = sum
					return dst
				}
				s := w.slots.get(refs[bits.TrailingZeros32(live)&31])
				sum += s.gen
				dst = append(dst, &s.value)
			}
			c = refs[chunkNext]
		}
	}
	w.prefetchSink = sum
	return dst
}
