package jetstream_test

import (
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

const modelID = "x"

// The letters of a script:
//
//	s, p  Schedule, once or periodic
//	S, R  Schedule with IfAbsent, with IfRev of the revision that the process knows
//	c, C  Cancel, and with IfRev
//	g     Get

// callSteps tries the steps of the calls of a process.
func (m model) callSteps(w *world, p int, try func(string, func(w *world) bool)) {
	c := &w.ps[p].call
	switch c.phase {
	case idle:
		if int(c.next) < len(m.scripts[p]) {
			try("call "+string(m.scripts[p][c.next]), func(w *world) bool {
				m.watch(w, p)
				return m.decide(w, p)
			})
		}
		return
	case sent, barred:
		m.repeatSteps(w, c.request, try, func(w *world) { w.ps[p].call.copies.sent++ })
	case checking:
		if w.ps[p].delivered >= c.barrier {
			try("not known", func(w *world) bool { w.ps[p].endCall(); return true })
		}
	case refused:
		if w.ps[p].index.seq != c.refused {
			try("decide", func(w *world) bool { return m.decide(w, p) })
		}
	case following:
		if w.ps[p].delivered >= c.barrier || m.fault == barrierDoesNotWait {
			try("followed", func(w *world) bool {
				if is := &w.ps[p]; is.gap && m.fault != ignoresGap {
					m.learn(is, view{w.record, w.last}, false) // it asks a server
				}
				w.ps[p].call.fresh = true
				return m.decide(w, p)
			})
		}
	}
	if w.left.timeouts > 0 {
		try("timeout", func(w *world) bool { w.left.timeouts--; w.ps[p].endCall(); return true })
	}
}

// repeatSteps tries to repeat a request: if it is lost, or too early.
func (m model) repeatSteps(w *world, r message, try func(string, func(w *world) bool), count func(w *world)) {
	there := false
	for i := range w.net {
		there = there || w.net[i].from == r.from && w.net[i].id == r.id
	}
	if !there || w.left.repeats > 0 {
		try("repeat", func(w *world) bool {
			if there {
				w.left.repeats--
			}
			count(w)
			return w.send(r)
		})
	}
}

func (is *process) endCall() { is.call = call{next: is.call.next + 1} }

// condition returns what a call demands.
func (is *process) condition(letter byte) durable.Condition {
	return durable.Condition{Absent: letter == 'S', HasRev: letter == 'R' || letter == 'C', Rev: uint64(is.known)}
}

// change returns what a call makes of a record. It returns false if the call must return that it has
// changed nothing.
func (m model) change(is *process, letter byte, r record) (moves.Event, record, bool) {
	to := r.real()
	c := is.condition(letter)
	switch letter {
	case 's', 'p', 'S', 'R':
		if to.Check(modelID, c) != nil {
			return 0, r, false
		}
		t := durable.Timer{ID: modelID, Kind: "k", At: time.Unix(0, modelAt)}
		if letter == 'p' {
			t.Every = time.Second
		}
		to.Arm(&t, 0)
		return moves.Schedule, modelled(to, 0), true
	case 'c', 'C':
		ok, _ := to.Cancel(modelID, c)
		return moves.Cancel, modelled(to, 0), ok
	}
	return 0, r, false
}

// watch notes which result without a change would be right now.
func (m model) watch(w *world, p int) {
	is := &w.ps[p]
	letter := m.scripts[p][is.call.next]
	if letter == 'g' {
		is.call.seen |= bit(w.record.rev)
	} else if _, _, ok := m.change(is, letter, w.record); !ok {
		is.call.seen |= 1
	}
}

// decide decides by the index.
func (m model) decide(w *world, p int) bool {
	is := &w.ps[p]
	c := &is.call
	letter := m.scripts[p][c.next]
	e, to, ok := m.change(is, letter, is.index.record)
	switch {
	case ok:
		base := is.index.record
		c.request = message{
			from: is.name, id: w.newID(), condition: is.index.seq, to: to, event: e, ends: base.revs() &^ to.revs(),
		}
		c.stops = 0
		if e == moves.Cancel {
			c.stops = base.stops()
		}
		if m.fault == cancelsWithoutCondition && e == moves.Cancel || m.fault == schedulesWithoutCondition && e == moves.Schedule {
			c.request.condition = anySeq
		}
		c.phase, c.copies = sent, copies{sent: 1}
	case c.fresh || m.fault == noWithoutBarrier:
		result := uint8(0)
		if letter == 'g' {
			result = is.index.record.rev
		}
		if !c.seen.has(result) {
			w.fail(falseNo)
		}
		if c.applied > 0 {
			w.fail(hiddenYes)
		}
		is.endCall()
		return true
	default:
		c.request = message{from: is.name, id: w.newID(), barrier: true}
		c.phase = barred
		is.gap = false
	}
	c.ids |= bit(c.request.id)
	return w.send(c.request)
}

// callReply gives a call its reply.
func (m model) callReply(w *world, p int, r message) {
	is := &w.ps[p]
	c := &is.call
	if c.request.id != r.id || c.phase != sent && c.phase != barred && c.phase != checking {
		return
	}
	switch {
	case c.phase == barred:
		c.phase, c.barrier, c.request = following, r.seq, message{}
	case r.ok:
		m.learn(is, view{c.request.to.at(r.seq), r.seq}, false)
		w.stopped |= c.stops
		if c.request.event == moves.Schedule {
			is.known = r.seq
		}
		is.endCall()
	case c.phase == sent && m.sendAgain(w, r, c.request, &c.copies):
	default:
		c.copies.refused++
		if c.copies.refused < c.copies.sent && m.fault != trustsRefusal {
			c.phase, c.barrier = checking, w.last
			return
		}
		c.phase, c.refused, c.request, c.stops = refused, c.request.condition, message{}, 0
	}
}
