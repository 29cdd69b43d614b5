package jetstream_test

import (
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// attemptSteps tries the steps of the attempt of a process. A process has one at a time.
func (m model) attemptSteps(w *world, p int, try func(string, func(w *world) bool)) {
	a := &w.ps[p].attempt
	switch a.phase {
	case idle:
		if a.refused == 0 || w.ps[p].index.seq != a.refused {
			try("fire", func(w *world) bool { return m.fire(w, p) })
		}
	case sent, finishing:
		m.repeatSteps(w, a.request, try, func(w *world) { w.ps[p].attempt.copies.sent++ })
		if a.phase == sent && w.left.timeouts > 0 {
			try("give up", func(w *world) bool { w.left.timeouts--; w.ps[p].attempt = attempt{}; return true })
		}
	case checking:
		if w.ps[p].delivered >= a.barrier {
			try("not known", func(w *world) bool {
				w.ps[p].attempt = attempt{refused: w.ps[p].attempt.request.condition}
				return true
			})
		}
	case running:
		m.handlerSteps(w, p, try)
	case ended:
		if w.ps[p].index.seq != a.refused {
			try("finish", func(w *world) bool { return m.finish(w, p) })
		}
	}
}

// fire decides by the index to begin an attempt, and sends it.
func (m model) fire(w *world, p int) bool {
	is := &w.ps[p]
	old := is.index.record
	r := old.real()
	now := int64(modelAt)
	if old.every && w.left.ticks == 0 {
		now--
	}
	running := !w.isSilent(old.owner) && m.fault != resumesLiving
	if old.owner == is.name && m.fault != leavesOwn {
		running = false // its attempt would be in the way here
	}
	e, ok := r.Next(now, running, -1)
	if !ok {
		return false
	}
	if e == moves.Tick {
		w.left.ticks--
	}
	f, _ := r.Happen(modelID, e, r.DueAt(now, nil), func() uint64 { return 0 })
	to := modelled(r, is.name)
	is.attempt = attempt{
		phase: sent, copies: copies{sent: 1}, rev: uint8(f.Rev), number: uint8(f.Attempt), every: old.every, silent: is.silent,
		request: message{from: is.name, attempt: true, id: w.newID(), condition: is.index.seq, to: to, event: e, ends: old.revs() &^ to.revs()},
	}
	if m.fault == resumesWithoutCondition && e == moves.Resume || m.fault == firesWithoutCondition && e != moves.Resume {
		is.attempt.request.condition = anySeq
	}
	return w.send(is.attempt.request)
}

// attemptReply gives an attempt its reply.
func (m model) attemptReply(w *world, p int, r message) {
	is := &w.ps[p]
	a := &is.attempt
	if a.request.id != r.id || a.phase != sent && a.phase != finishing && a.phase != checking {
		return
	}
	switch {
	case r.ok && a.phase == finishing:
		if a.request.event == moves.End {
			w.stopped |= a.stops
		}
		m.learn(is, view{a.request.to.at(r.seq), r.seq}, false)
		is.attempt = attempt{}
	case r.ok:
		m.learn(is, view{a.request.to.at(r.seq), r.seq}, false)
		m.win(w, p)
	case m.sendAgain(w, r, a.request, &a.copies):
	case a.phase == finishing:
		a.phase, a.refused, a.request = ended, a.request.condition, message{}
	default:
		a.copies.refused++
		if a.copies.refused < a.copies.sent {
			a.phase, a.barrier = checking, w.last
			return
		}
		is.attempt = attempt{refused: a.request.condition}
	}
}

// win begins the handler of an attempt that the stream has accepted.
func (m model) win(w *world, p int) {
	a := &w.ps[p].attempt
	a.request = message{}
	if m.fault == doneBeforeHandler {
		a.result = moves.Done
		m.finish(w, p)
		return
	}
	m.handle(w, p)
}

// handle begins the handler.
func (m model) handle(w *world, p int) {
	a := &w.ps[p].attempt
	a.phase = running
	other := &w.ps[1-p]
	if !a.silent {
		switch {
		case w.stopped.has(a.rev):
			w.fail(firedCancelled)
		case w.decided.has(a.rev):
			w.fail(attemptAfterEnd)
		case w.begun[a.rev] >= a.number:
			w.fail(attemptTwice)
		case (w.ps[p].well | other.well).has(a.rev):
			w.fail(repeated)
		}
	}
	if b := &other.attempt; b.phase == running && b.rev == a.rev && !a.silent && !b.silent {
		w.fail(overlap)
	}
	w.begun[a.rev] = max(w.begun[a.rev], a.number)
}

// ends are the ends of an attempt. After Yield, the next occurrence comes before another attempt, if
// there is one.
var ends = map[moves.Event]durable.End{
	moves.Done:     {How: durable.Done},
	moves.End:      {How: durable.Ended},
	moves.Die:      {How: durable.Dead},
	moves.Again:    {How: durable.Again, Retry: time.Unix(0, modelAt-1)},
	moves.Postpone: {How: durable.Postponed, Retry: time.Unix(0, modelAt-1)},
	moves.Yield:    {How: durable.Again, Retry: time.Unix(0, modelAt)},
}

// handlerSteps tries the ends of a handler.
func (m model) handlerSteps(w *world, p int, try func(string, func(w *world) bool)) {
	end := func(w *world, e moves.Event) bool {
		a := &w.ps[p].attempt
		a.result = e
		if e == moves.Done || e == moves.End || e == moves.Die {
			w.ended |= bit(a.rev)
			if !a.silent {
				w.ps[p].well |= bit(a.rev)
			}
		}
		return m.finish(w, p)
	}
	try("done", func(w *world) bool { return end(w, moves.Done) })
	if w.left.failures > 0 {
		try("again", func(w *world) bool { w.left.failures--; return end(w, moves.Again) })
		if w.ps[p].attempt.every {
			try("yield", func(w *world) bool { w.left.failures--; return end(w, moves.Yield) })
		}
	}
	if w.left.postpones > 0 {
		try("postpone", func(w *world) bool { w.left.postpones--; return end(w, moves.Postpone) })
	}
	if w.left.ends > 0 && w.ps[p].attempt.every {
		try("end the series", func(w *world) bool { w.left.ends--; return end(w, moves.End) })
	}
	if w.left.deaths > 0 {
		try("die", func(w *world) bool { w.left.deaths--; return end(w, moves.Die) })
	}
}

// finish decides by the index how an attempt ends, and sends it. An attempt that is no longer in the
// record needs no barrier: it does not come back, and neither does its series.
func (m model) finish(w *world, p int) bool {
	is := &w.ps[p]
	a := &is.attempt
	old := is.index.record
	r := old.real()
	if m.fault == endsAnySeries {
		r.Series = 0
	}
	changed := false
	if old.owner == is.name && old.attempt == a.number || m.fault == finishesAny {
		_, changed = r.Finish(uint64(a.rev), ends[a.result])
	} else if a.result == moves.End && m.fault != endsInTimeOnly {
		changed = r.EndSeries(uint64(a.rev))
	}
	if !changed {
		if a.result == moves.End && w.record.hasArmed() && a.rev >= w.since {
			w.fail(goesOn)
		}
		is.attempt = attempt{}
		return true
	}
	to := modelled(r, 0)
	a.phase, a.copies = finishing, copies{sent: 1}
	a.request = message{
		from: is.name, attempt: true, id: w.newID(), condition: is.index.seq, to: to, event: a.result, ends: old.revs() &^ to.revs(),
	}
	if a.result == moves.End {
		a.request.rev, a.stops = a.rev, old.stops()
	}
	if m.fault == finishesWithoutCondition {
		a.request.condition = anySeq
	}
	return w.send(a.request)
}
