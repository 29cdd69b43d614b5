package jetstream_test

import (
	"slices"
	"strings"
)

// settle makes states that differ in nothing that matters the same.
func (m model) settle(w *world) {
	for i := range w.net {
		m.hasten(w, i)
	}
	from := w.last
	for p := range w.ps {
		if w.ps[p].alive {
			from = min(from, w.ps[p].delivered)
		}
	}
	for seq := range from + 1 {
		w.log[seq] = stored{}
	}
	for i := range w.log {
		if l := &w.log[i]; !w.waits(l.by, l.id) {
			l.by, l.id = 0, 0
		}
	}
	for p := range w.ps {
		is := &w.ps[p]
		if is.attempt.refused != is.index.seq && is.attempt.phase == idle {
			is.attempt.refused = 0
		}
		if !m.knows(p, is.call.next) {
			is.known = 0
		}
	}
	w.renumber()
	slices.SortFunc(w.net[:], func(a, b message) int {
		for _, d := range []int{
			int(b.from) - int(a.from), int(b.id) - int(a.id), compare(a.attempt, b.attempt), compare(a.reply, b.reply),
			compare(a.barrier, b.barrier), compare(a.ok, b.ok), compare(a.behind, b.behind), int(b.seq) - int(a.seq), int(b.condition) - int(a.condition),
		} {
			if d != 0 {
				return d
			}
		}
		return 0
	})
}

func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// knows reports whether a call of a script from a place on demands a revision.
func (m model) knows(p int, next uint8) bool {
	return int(next) < len(m.scripts[p]) && strings.ContainsAny(string(m.scripts[p][next:]), "RC")
}

// hasten takes a message out of the network if it does not matter when it comes: a reply that no operation
// waits for, a request that is refused in any case, and its reply.
func (m model) hasten(w *world, i int) {
	r := &w.net[i]
	if r.from == 0 {
		return
	}
	waits := w.waits(r.from, r.id)
	isRefused := !r.reply && !r.barrier && r.condition != anySeq && r.condition != w.last
	switch {
	case !waits && (r.reply || r.barrier || isRefused):
		*r = message{}
	case isRefused:
		r.reply, r.ok = true, false
		m.receive(w, i)
	}
}

// waits reports whether an operation of a process waits for the reply to a request.
func (w *world) waits(name instance, id uint8) bool {
	for p := range w.ps {
		if is := &w.ps[p]; is.alive && is.name == name && id != 0 && (is.call.request.id == id || is.attempt.request.id == id) {
			return true
		}
	}
	return false
}

// renumber gives sequences and revisions the lowest numbers that keep their order, and removes what is known
// of revisions that no process and no message knows any more. Only the order of numbers matters.
func (w *world) renumber() {
	var used bits
	w.eachNumber(func(n *uint8) { used |= bit(*n) })
	w.eachSet(func(b *bits, own bool) {
		if own {
			used |= *b
		}
	})
	var to [16]uint8
	n := uint8(0)
	for old := uint8(1); old < 16; old++ {
		if used.has(old) {
			n++
			to[old] = n
		}
	}
	w.eachNumber(func(n *uint8) { *n = to[*n] })
	w.eachSet(func(b *bits, _ bool) {
		var moved bits
		(*b & used).each(func(n uint8) { moved |= bit(to[n]) }) // 0 stays 0
		*b = moved
	})
	var log [seqMax + 1]stored
	var begun [seqMax + 1]uint8
	used.each(func(old uint8) {
		if old <= seqMax {
			log[to[old]], begun[to[old]] = w.log[old], w.begun[old]
		}
	})
	log[0], begun[0] = stored{}, 0
	w.log, w.begun = log, begun
}

// eachNumber calls f with each sequence and each revision that is in use.
func (w *world) eachNumber(f func(n *uint8)) {
	ofRecord := func(r *record) { f(&r.rev); f(&r.series); f(&r.fired) }
	ofMessage := func(r *message) {
		if r.condition != anySeq {
			f(&r.condition)
		}
		f(&r.seq)
		f(&r.rev)
		ofRecord(&r.to)
	}
	ofRecord(&w.record)
	f(&w.last)
	f(&w.since)
	for i := range w.log {
		ofRecord(&w.log[i].record)
	}
	for i := range w.net {
		ofMessage(&w.net[i])
	}
	for p := range w.ps {
		is := &w.ps[p]
		ofRecord(&is.index.record)
		f(&is.index.seq)
		f(&is.delivered)
		for seq := is.delivered; is.alive && seq < w.last; seq++ {
			n := seq
			f(&n) // the messages in between stay
		}
		f(&is.known)
		ofMessage(&is.call.request)
		f(&is.call.barrier)
		f(&is.call.refused)
		ofMessage(&is.attempt.request)
		f(&is.attempt.barrier)
		f(&is.attempt.rev)
		f(&is.attempt.refused)
	}
}

// eachSet calls f with each set of revisions. isUse says whether what is in the set is in use.
func (w *world) eachSet(f func(b *bits, isUse bool)) {
	for _, b := range []*bits{&w.made, &w.over, &w.ended, &w.decided, &w.stopped} {
		f(b, false)
	}
	for i := range w.net {
		f(&w.net[i].ends, true)
	}
	for p := range w.ps {
		c := &w.ps[p].call
		f(&w.ps[p].well, false)
		f(&c.stops, true)
		f(&c.seen, true)
		f(&c.request.ends, true)
		f(&w.ps[p].attempt.request.ends, true)
		f(&w.ps[p].attempt.stops, true)
	}
}
