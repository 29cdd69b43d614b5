package engine

import (
	"time"

	"github.com/foliot-go/foliot/internal/hist"
	"github.com/foliot-go/foliot/wheel"
)

// A call is a callback to be run, or an item to be run apart from its worker. The arming that led
// to it is over: Stop cannot cancel it any more.
type call struct {
	fn    func()
	shard *Shard
	timer wheel.Handle // of a reusable timer, for which finish is called afterwards; 0: none
	kind  kind         // how fn is run

	item func(t *Turn) // if fn is nil: the item
}

// pop takes timers that are due at the time now from the wheel until it finds a callback to run.
// It returns the callback, if there is one, and the number of timers that have fired. Timers
// without a callback fire in pop. If no timer is due, pop raises next. It may also
// return without a callback before that, to unlock the shard or to let items be run; then the
// caller finds next still due and calls pop again. Functions of GoFuncs go into kept, if it is not nil
// and has room. pop also takes the durations in t.ran, if t is not nil.
func (s *Shard) pop(now int64, t *Turn, kept *keptFuncs) (c call, fired int64) {
	s.mu.Lock()
	if t != nil && t.ran.n > 0 {
		s.recordRan(t)
	}
	c, fired = s.popLocked(now, kept)
	announce := false
	if len(s.expired) > 0 {
		announce = s.source.Expired(s.expired)
		clear(s.expired)
		s.expired = s.expired[:0]
	}
	s.mu.Unlock()
	if announce {
		s.Announce()
	}
	return c, fired
}

func (s *Shard) popLocked(now int64, kept *keptFuncs) (c call, fired int64) {
	s.settle()
	tick := s.eng.Floor(now)
	var wall time.Time // what channel timers send; read when the first one fires
	for range rescheduleMax {
		if s.prefetched--; s.prefetched < 0 {
			s.w.Peek(tick)
			s.prefetched = s.prefetch() - 1
		}
		if len(s.expired) > 0 && s.itemsFirst(tick) {
			return call{}, fired
		}
		h, at, ok := s.w.Pop(tick)
		if !ok {
			s.prefetched = 0
			s.updateNext()
			return call{}, fired
		}
		b := s.w.Value(h)
		if due := s.dueAt(b, at); due != at {
			b.clearOffset()
			s.w.Requeue(h, due)
			continue
		}
		switch b.kind { // the one place where it matters what a timer does
		case kindItem:
			b.state = stateIdle
			s.armed--
			s.recordLate(now - s.eng.Nanos(at))
			s.expired = append(s.expired, b.ptr)
			fired++
		case kindChan:
			if wall.IsZero() {
				wall = s.eng.sent(now)
			}
			s.fireChan(h, b, now, wall)
			fired++
			if s.eng.manual != nil {
				return call{}, fired // the next timer may belong to another engine
			}
		default:
			m := nextMove(b.state, eventExpire)
			b.state = m.to
			if m.do != effectNone {
				c, _ = s.start(h, b, m, now, at) // next is due, so the next tick of Every is not early
				fired++
				if c.kind != kindGoFunc || !kept.add(c.fn) {
					return c, fired
				}
				continue
			}
			b.aux, b.auxHigh = uint32(at), uint16(at>>32)
		}
	}
	return call{}, fired
}

// itemsFirst reports whether the items in s.expired should be run before another timer is
// popped: if there are itemBatch of them, and if the order of firing matters and the next timer
// is not that of an item. On a manual clock, the next timer may belong to another engine.
func (s *Shard) itemsFirst(tick wheel.Tick) bool {
	switch {
	case len(s.expired) == itemBatch || s.eng.manual != nil:
		return true
	case !s.eng.ordered:
		return false
	}
	h, _, due := s.w.Peek(tick)
	return due && s.w.Value(h).kind != kindItem
}

// start updates the counters for a callback that is about to run, at the time now for the deadline
// at. It frees a one-shot, and arms a timer of Every for its next tick. The caller calls
// timekeeper.notify afterwards if early is true.
func (s *Shard) start(h wheel.Handle, b *entry, m move, now int64, at wheel.Tick) (c call, early bool) {
	if b.kind != kindInternal {
		s.armed--
		if !s.eng.passesToGo(b.kind) {
			s.fired++
		}
		s.recordLate(now - s.eng.Nanos(at))
	}
	c = call{fn: b.callback(), shard: s, timer: h, kind: b.kind}
	switch {
	case m.do == effectFreeAndRun:
		c.timer = 0
		if b.kind == kindGoFunc {
			(*GoFunc)(b.ptr).slot = 0
		}
		s.w.Cancel(h)
		s.eng.quota.release(1)
	case b.kind == kindEvery:
		c.kind = kindFunc
		early = s.armNext(h, b, now)
	}
	return c, early
}

// passesToGo reports whether callbacks of timers of a kind are passed to Config.Go. They are counted
// when they start, see call.countStart.
func (eng *Engine) passesToGo(k kind) bool {
	return eng.goFunc != nil && (k == kindFunc || k == kindEvery)
}

// countStart counts a callback for Config.Go that is about to start, by Config.Go or otherwise.
func (c *call) countStart() { c.shard.started.Add(1) }

// recordLate records how late a timer fires. The caller holds the lock.
func (s *Shard) recordLate(ns int64) {
	if s.late == nil {
		s.late = new(hist.Hist)
	}
	s.late.Record(ns)
}

// finish handles eventDone: the callback of a reusable timer has returned. If the timer was
// armed again and has come due, finish returns the call to run next, and true.
func (s *Shard) finish(h wheel.Handle, now int64) (c call, again bool) {
	s.mu.Lock()
	c, again, early := s.finishLocked(h, now)
	s.mu.Unlock()
	if early {
		s.eng.timekeeper.notify(s.next.Load())
	}
	return c, again
}

func (s *Shard) finishLocked(h wheel.Handle, now int64) (c call, again, early bool) {
	b := s.w.Value(h)
	if b == nil {
		return call{}, false, false
	}
	m := nextMove(b.state, eventDone)
	b.state = m.to
	if m.do != effectRun {
		return call{}, false, false
	}
	at := s.wasDue(b)
	b.aux = 0
	c, early = s.start(h, b, m, now, at)
	return c, true, early
}
