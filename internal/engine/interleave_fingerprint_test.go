package engine

// An imprint is all that the rest of a path depends on. Two paths that come to the same imprint have the same futures.
type fingerprint [96]byte

// imprint returns that of a stage: how far the scripts are, the timers in the order in which they were made, the shards
// and workers, and the goroutines, with numbers in place of pointers and of claims.
func (st *turnHarness) fingerprint(own [2]*timerRecord, done [2]int) (p fingerprint) {
	b := append(p[:0], byte(done[0]), byte(done[1]), st.number(own[0]), st.number(own[1]), byte(len(*st.eng.workers.Load())))
	for _, e := range st.entries {
		s := stateFree
		if v := e.t.s.w.Value(e.t.h); v != nil {
			s = v.state
		}
		b = append(b, byte(s), byte(e.runs), st.rank(e), byte(max(0, e.due-st.now)))
	}
	for i, s := range st.shards {
		due := byte(0)
		if s.next.Load() <= st.nanos() {
			due = 1
		}
		w := st.workers[i]
		b = append(b, due, byte(len(w.shards)), st.turn(w, 0))
	}
	for _, c := range st.actors {
		b = c.imprint(st, b)
	}
	if len(b) > len(p) {
		panic("an imprint needs more room")
	}
	return p
}

// number returns the number of a timer, from 1.
func (y *harness) number(e *timerRecord) byte {
	for i, other := range y.entries {
		if e == other {
			return byte(i + 1)
		}
	}
	return 0
}

// rank returns which of the timers that are armed an arming is, in the order of arming.
func (y *harness) rank(e *timerRecord) (n byte) {
	if !e.armed {
		return 0
	}
	for _, other := range y.entries {
		if other.armed && other.seq <= e.seq {
			n++
		}
	}
	return n
}

// turn says which worker it is, whether it is the turn of a claim, or nobody's if that is 0, and whether that is the
// pump's.
func (st *turnHarness) turn(w *worker, claim uint64) byte {
	if w == nil {
		return 0
	}
	k := byte(1)
	if w == st.workers[1] {
		k = 2
	}
	if w.busy.Load() == claim {
		k |= 4
	}
	return k | byte(claim&claimByDriver)<<3
}

func (a *actor) imprint(st *turnHarness, b []byte) []byte {
	pop := byte(0)
	if a.do == doStart && a.at == st.shards[1] {
		pop = 1
	}
	b = append(b, 'a', byte(a.do), st.turn(a.w, a.claim), byte(a.over), pop, st.number(a.e))
	for _, w := range a.team {
		b = append(b, st.turn(w, 0)&3)
	}
	return b
}

func (c *coroutine) imprint(st *turnHarness, b []byte) []byte {
	ended := byte(0)
	if c.ended {
		ended = 1
	}
	return append(b, 'c', ended, st.turn(c.w, c.claim), byte(c.team), byte(c.seen), st.number(c.e))
}
