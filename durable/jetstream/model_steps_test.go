package jetstream_test

import (
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// steps calls emit with each step that is possible.
func (m model) steps(w world, emit func(step, world)) {
	if w.wrong != nothing {
		return
	}
	try := func(what string, p int, f func(w *world) bool) {
		to := w
		if f(&to) {
			m.settle(&to)
			emit(step{what, p}, to)
		}
	}
	for i := range w.net {
		if w.net[i].from == 0 {
			continue
		}
		if !w.net[i].reply {
			try("the stream takes", i, func(w *world) bool { m.serve(w, i); return true })
			if w.left.behinds > 0 && !w.net[i].barrier && w.net[i].condition > 0 && w.isAlive(w.net[i].from) {
				try("a server that is behind refuses", i, func(w *world) bool { return m.refuseBehind(w, i) })
			}
		} else {
			try("a reply comes", i, func(w *world) bool { m.receive(w, i); return true })
		}
		if w.left.losses > 0 {
			try("lost", i, func(w *world) bool { w.left.losses--; w.net[i] = message{}; return true })
		}
	}
	for p := range w.ps {
		m.processSteps(&w, p, func(what string, f func(w *world) bool) { try(what, p, f) })
	}
}

// processSteps tries the steps of a process.
func (m model) processSteps(w *world, p int, try func(string, func(w *world) bool)) {
	is := &w.ps[p]
	if !is.alive {
		if w.left.restarts > 0 {
			try("restart", func(w *world) bool { w.left.restarts--; m.start(w, p); return true })
		}
		return
	}
	if w.left.crashes > 0 && (w.ps[1-p].alive || w.left.restarts > 0) {
		try("crash", func(w *world) bool { w.left.crashes--; m.crash(w, p); return true })
	}
	if !is.silent && w.left.silences > 0 {
		try("silent", func(w *world) bool {
			w.left.silences--
			w.ps[p].silent, w.ps[p].attempt.silent, w.ps[p].well = true, true, 0
			return true
		})
	}
	if is.silent {
		try("heard", func(w *world) bool { w.ps[p].silent = false; return true })
	}
	if is.delivered < w.last {
		try("deliver", func(w *world) bool { m.deliver(w, p, is.delivered+1); return true })
	}
	if is.delivered+1 < w.last && w.left.gaps > 0 {
		try("pass over", func(w *world) bool {
			w.left.gaps--
			w.ps[p].delivered++
			w.ps[p].gap = true
			return true
		})
	}
	if is.delivered+1 < w.last {
		try("deliver the last", func(w *world) bool { m.deliver(w, p, w.last); return true })
	}
	m.callSteps(w, p, try)
	m.attemptSteps(w, p, try)
}

// crash ends a process. What it has sent is in the network still.
func (m model) crash(w *world, p int) {
	next := w.ps[p].call.next
	if w.ps[p].call.phase != idle {
		next++
	}
	w.ps[p] = process{known: w.ps[p].known} // it may be started anew
	w.ps[p].call.next = next
	for i := range w.net {
		if w.net[i].reply && !w.isAlive(w.net[i].from) {
			w.net[i] = message{}
		}
	}
}

func (w *world) isAlive(name instance) bool {
	for p := range w.ps {
		if w.ps[p].alive && w.ps[p].name == name {
			return true
		}
	}
	return false
}

// isSilent reports whether a process is taken for one that has ended.
func (w *world) isSilent(name instance) bool {
	for p := range w.ps {
		if w.ps[p].alive && w.ps[p].name == name {
			return w.ps[p].silent
		}
	}
	return true
}

// serve makes the stream take a message.
func (m model) serve(w *world, i int) {
	r := w.net[i]
	reply := message{from: r.from, attempt: r.attempt, reply: true, barrier: r.barrier, id: r.id}
	switch {
	case r.barrier:
		reply.ok, reply.seq = true, w.last
	case r.condition != anySeq && r.condition != w.last:
	default:
		m.apply(w, &r)
		reply.ok, reply.seq = true, w.last
	}
	w.net[i] = message{}
	if w.isAlive(r.from) {
		w.net[i] = reply
	}
}

// refuseBehind makes a server refuse a message that the stream gets, too.
func (m model) refuseBehind(w *world, i int) bool {
	w.left.behinds--
	r := w.net[i]
	return w.send(message{from: r.from, attempt: r.attempt, reply: true, behind: true, id: r.id})
}

// sendAgain sends a request again that a server has refused that is behind. It reports whether it has.
func (m model) sendAgain(w *world, reply, request message, c *copies) bool {
	if !reply.behind || m.fault == trustsBehind || !w.send(request) {
		return false
	}
	c.sent++
	return true
}

// apply changes the record by a message, and checks the change.
func (m model) apply(w *world, r *message) {
	if r.ends&w.over != 0 {
		w.fail(twoOutcomes)
	}
	w.over |= r.ends
	if r.event == moves.Done || r.event == moves.Die {
		if r.ends&^w.ended != 0 {
			w.fail(unhandled)
		}
		w.decided |= r.ends
	}
	if r.event == moves.Postpone { // the number is given again
		w.begun[r.to.fired] = min(w.begun[r.to.fired], r.to.attempt)
	}
	if (r.event == moves.Cancel || r.event == moves.End) && w.record.hasArmed() && w.begun[w.record.rev] > 0 {
		w.fail(cancelledFired)
	}
	if r.event == moves.End && r.rev < w.since {
		w.fail(endedOther)
	}
	if w.last == seqMax {
		panic("the model has too few sequences")
	}
	w.last++
	w.record = r.to.at(w.last)
	w.log[w.last] = stored{w.record, r.from, r.id}
	if r.event == moves.Schedule {
		w.since = w.last
	}
	if w.record.state == moves.None {
		w.since = 0
	}
	revs := w.record.revs()
	w.made |= revs
	switch {
	case revs&w.over != 0:
		w.fail(outcomeBack)
	case w.made&^w.over != revs:
		w.fail(outcomeLost)
	}
	for p := range w.ps {
		c := &w.ps[p].call
		if !w.ps[p].alive || c.phase == idle {
			continue
		}
		if !r.attempt && r.from == w.ps[p].name && c.owns(r.id) {
			c.applied++
			if c.applied > 1 {
				w.fail(appliedTwice)
			}
		}
		m.watch(w, p)
	}
}

// at returns the record of a message that has a sequence.
func (r record) at(seq uint8) record {
	if r.state != moves.None && r.rev == 0 {
		r.rev = seq
	}
	if r.every && r.series == 0 {
		r.series = seq
	}
	return r
}

// owns reports whether a message id is of this call, also if the call has sent another one since.
func (c *call) owns(id uint8) bool { return c.ids.has(id) }

// receive makes a process take a reply.
func (m model) receive(w *world, i int) {
	r := w.net[i]
	w.net[i] = message{}
	for p := range w.ps {
		if w.ps[p].name == r.from && w.ps[p].alive {
			if r.attempt {
				m.attemptReply(w, p, r)
			} else {
				m.callReply(w, p, r)
			}
		}
	}
}

// deliver gives a process a message of the stream. Those before it are passed over.
func (m model) deliver(w *world, p int, seq uint8) {
	is := &w.ps[p]
	is.delivered = seq
	s := w.log[seq]
	m.learn(is, view{s.record, seq}, m.fault == appliesOldEcho)
	if s.by == is.name {
		r := message{from: s.by, id: s.id, reply: true, ok: true, seq: seq}
		m.callReply(w, p, r)
		m.attemptReply(w, p, r)
	}
}

// learn changes the index by a message that the consumer has delivered, or that the stream has
// acknowledged.
func (m model) learn(is *process, v view, always bool) {
	if v.seq > is.index.seq || always {
		is.index = v
	}
}
