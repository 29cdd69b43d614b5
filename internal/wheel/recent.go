package wheel

// A recent entry is armed, but its ref is not in a bucket yet. The refs of recent entries are in
// Wheel.recent, in arming order. When that is full, the wheel files them: it appends the refs to
// their buckets, one after the other, so that the cache misses overlap. An entry that is canceled
// soon after it was armed never has a ref in a bucket.
//
//	recent   · · 7 0 3 9 …      recentCount 4; the entry of the second ref has left
//
// The position of a recent entry is the index of its ref, as if recent were chunk 0, which does
// not exist.

// removeRecent removes the ref at pos from the recent ones. It leaves a 0, unless the ref is the
// last one.
func (w *Wheel[V]) removeRecent(pos refPos) {
	w.recent[pos&31] = 0
	if uint32(pos) == w.recentCount+chunkFirstRef-1 {
		w.recentCount--
	}
}

// arm arms the entry in slot i for the given tick.
func (w *Wheel[V]) arm(i uint32, s *slot[V], at Tick) {
	if at <= w.now {
		at = w.now
		if w.pass == passAdvance {
			w.insertDeferred(i, s)
			return
		}
	}
	s.at = at
	k := w.recentCount
	if at < w.recentMin || k == 0 {
		w.recentMin = at
	}
	pos := k + chunkFirstRef
	s.pos = refPos(pos)
	w.recent[pos&31] = i
	w.recentCount = k + 1
	if k+1 == chunkRefs {
		w.settleAll()
	}
}

// settle finishes all removals and files all recent entries. Afterwards the buckets hold exactly
// the refs of the armed entries.
func (w *Wheel[V]) settle() {
	if w.removalCount|w.recentCount != 0 {
		w.settleAll()
	}
}

// settleUntil is like settle, but may leave recent entries that are due after now.
func (w *Wheel[V]) settleUntil(now Tick) {
	if w.removalCount != 0 {
		w.finishRemovals()
	}
	if w.recentCount != 0 && w.recentMin <= now {
		w.settleAll()
	}
}

// settleAll does the work of settle.
//
//go:noinline
func (w *Wheel[V]) settleAll() {
	if w.removalCount != 0 {
		w.finishRemovals()
	}
	w.hasTidied = false // insertDeferred may have set it
	n := w.recentCount
	w.recentCount = 0
	for k := range n {
		if i := w.recent[(k+chunkFirstRef)&31]; i != 0 {
			w.insert(i, w.slots.get(i))
		}
	}
	w.hasTidied = false
}
