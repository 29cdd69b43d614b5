package engine

// A fingerprint has everything that the rest of a path depends on. Two paths that reach the same
// fingerprint can continue in the same ways. It has numbers in place of pointers and claims.
type fingerprint [96]byte

// fingerprint returns the fingerprint of the harness: the progress of the scripts, the timers in
// the order in which they were made, the shards, the workers and the actors.
func (h *turnHarness) fingerprint(timers [2]*timerRecord, done [2]int) (f fingerprint) {
	key := append(f[:0], byte(done[0]), byte(done[1]), h.index(timers[0]), h.index(timers[1]),
		byte(len(*h.eng.workers.Load())))
	for _, rec := range h.records {
		s := stateFree
		if v := rec.t.s.w.Value(rec.t.h); v != nil {
			s = v.state
		}
		key = append(key, byte(s), byte(rec.runs), h.rank(rec), byte(max(0, rec.due-h.now)))
	}
	for i, s := range h.shards {
		w := h.workers[i]
		key = append(key, bit(s.next.Load() <= h.nanos()), byte(len(*w.shards.Load())), h.turnByte(w, 0))
	}
	for _, a := range h.actors {
		key = a.fingerprint(h, key)
	}
	if len(key) > len(f) {
		panic("a fingerprint has too few bytes")
	}
	return f
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// index returns the index of a timer plus 1, or 0 for nil.
func (h *harness) index(rec *timerRecord) byte {
	for i, other := range h.records {
		if rec == other {
			return byte(i + 1)
		}
	}
	return 0
}

// rank returns the position of a timer among the armed timers, in the order of arming, from 1. It
// returns 0 if the timer is not armed.
func (h *harness) rank(rec *timerRecord) (n byte) {
	if !rec.armed {
		return 0
	}
	for _, other := range h.records {
		if other.armed && other.seq <= rec.seq {
			n++
		}
	}
	return n
}

// turnByte returns a byte for a worker that says which worker it is, whether its turn is that of
// the claim (with 0: whether it is free), and whether the claim is that of a driver.
func (h *turnHarness) turnByte(w *worker, claim uint64) byte {
	if w == nil {
		return 0
	}
	k := byte(1)
	if w == h.workers[1] {
		k = 2
	}
	if w.busy.Load() == claim {
		k |= 4
	}
	return k | byte(claim&claimByDriver)<<3
}

func (a *stepper) fingerprint(h *turnHarness, key []byte) []byte {
	pops := bit(a.shard == h.shards[0]) | bit(a.shard == h.shards[1])<<1
	key = append(key, 's', byte(a.next), h.turnByte(a.w, a.claim), byte(a.late), pops,
		h.index(a.rec))
	for _, w := range a.workers {
		key = append(key, h.turnByte(w, 0)&3)
	}
	return key
}

func (c *coroutine) fingerprint(h *turnHarness, key []byte) []byte {
	return append(key, 'c', bit(c.ended), h.turnByte(c.w, c.claim), byte(c.workers),
		byte(c.looked), h.index(c.rec))
}
