package engine

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/wheel"
)

const (
	// rescheduleMax limits how many entries pop, which holds the lock, takes from the wheel in
	// one call without finding a callback to run.
	rescheduleMax = 64

	// updateMax limits how many entries updateNext inspects in one round, and updateRounds limits
	// the number of rounds.
	updateMax    = 64
	updateRounds = 8
)

// A Shard is a timing wheel behind a lock, plus the tasks that are ready. A timer's shard is chosen
// by the goroutine that creates it (see lockShard) and never changes. Everything about a timer is
// decided under its shard's lock: one critical section, one move in the state table. The lock is held
// for tens of nanoseconds, sometimes for a few microseconds, and never while user code runs.
//
// Fields that every operation writes come first, so that a shard that moves from one processor's
// cache to another's costs as few cache misses as possible.
type Shard struct {
	eng    *Engine
	number uint32 // its index in roster.shards plus 1
	after  after  // what unlock must do once it has released the lock; 0 while the lock is free
	closed bool   // the engine is shut down, and the wheel is empty

	// next is a time before which no timer of the shard is due; never: none is armed. Arming an
	// earlier deadline lowers it, and updateNext raises it. Stop does not touch it, so it may be
	// too early. Written with mu held, read without.
	next atomic.Int64

	// mu protects all fields except owner, ready and those above that say otherwise. It is
	// released by unlock.
	mu sync.Mutex
	counts
	scrub    scrub
	w        wheel.Wheel[entry]
	ahead    ahead
	deferred deferred
	tasks    *taskArena                // set before the first task is created, then constant
	queues   map[wheel.Handle]struct{} // queue timers, which Horizon does not count; nil: none yet
	orphans  map[wheel.Handle]struct{} // see Timer.IsOrphan

	// owner is the worker that runs the shard. Written under roster.mu, read by whoever makes a
	// task ready.
	owner atomic.Pointer[worker]

	ready ready // tasks to be polled; needs no lock

	_ [128]byte // keeps the fields of two shards on separate cache lines
}

// An after is a set of actions that must wait until the shard is unlocked. Code that runs with
// timekeeper.mu or roster.mu held adds none, because tell locks timekeeper.mu.
type after uint8

const (
	afterNotify  after = 1 << iota // next became earlier: notify the timekeeper
	afterScrub                     // start the scrubber
	afterPark                      // ask the timekeeper to park
	afterSettle                    // a cancel was deferred: settle after the next garbage collection
	afterWake                      // tasks became ready: wake the owner
	afterIllegal                   // the first illegal move: log it
)

// unlock unlocks the shard and then carries out what is in after, which is usually nothing. The
// compiler does not inline unlock, so newTimer, stop and reset spell that case out.
func (s *Shard) unlock() {
	after := s.after
	s.after = 0
	s.mu.Unlock()
	if after != 0 {
		s.tell(after)
	}
}

// tell carries out the actions in todo. The shard must be unlocked, because onPark locks shards with
// timekeeper.mu held.
//
//go:noinline
func (s *Shard) tell(todo after) {
	if todo&afterNotify != 0 {
		s.eng.timekeeper.notify(s.next.Load()) // no later than the deadline that was armed
	}
	if todo&afterScrub != 0 {
		s.eng.scrubber.start()
	}
	if todo&afterPark != 0 {
		s.eng.timekeeper.askToPark()
	}
	if todo&afterSettle != 0 {
		s.eng.settleAfterGC()
	}
	if todo&afterWake != 0 {
		s.wakeOwner()
	}
	if todo&afterIllegal != 0 {
		go s.eng.reportIllegal()
	}
}

// lower lowers next to a newly armed deadline, if next is later. The caller holds the lock.
func (s *Shard) lower(at wheel.Tick) {
	if due := s.eng.Nanos(at); due < s.next.Load() {
		s.next.Store(due)
		s.after |= afterNotify
	}
}

// add creates a timer of kind k in its initial state st. If that is an armed state, the timer is
// armed for the tick at. p becomes entry.ptr. The caller holds the lock and, if k is one of
// slotKinds, has acquired the quota.
func (s *Shard) add(k kind, st state, p unsafe.Pointer, at wheel.Tick) (h wheel.Handle) {
	e := entry{ptr: p, role: role{st, k}}
	if st.pending() {
		e.aux = s.eng.nextSeq()
		h = s.w.Schedule(at, e)
		s.noteArmed(k, false)
		s.lower(at)
	} else {
		h = s.w.Reserve(e)
	}
	if k.isSlot() {
		s.slots++
	}
	switch k {
	case kindContext:
		if !s.eng.hasContexts.Load() {
			s.eng.hasContexts.Store(true)
		}
	case kindQueue:
		if s.queues == nil {
			s.queues = map[wheel.Handle]struct{}{}
		}
		s.queues[h] = struct{}{}
	}
	return h
}

// reset arms a timer for the time w.due, and reports whether the timer exists. A positive d becomes
// the period of a repeating timer. If checked is false, the caller has not ruled out a foreign call.
// reset then does so itself, but only if it would have to notify the timekeeper: nothing else here
// can go wrong in a foreign call.
func (s *Shard) reset(h wheel.Handle, w when, d time.Duration, checked bool) bool {
	at := s.eng.Ceil(w.due)
	s.mu.Lock()
	filed, e := s.w.Entry(h)
	if e == nil || !checked && s.eng.Nanos(at) < s.next.Load() && s.eng.refuses() {
		s.unlock()
		return false
	}
	if e.kind.repeats() {
		(*repeat)(e.ptr).begin(w.due, d)
	}
	ok := s.arm(h, e, filed, at, eventArm)
	if s.after == 0 {
		s.mu.Unlock()
	} else {
		s.unlock()
	}
	if s.eng.manual != nil {
		s.eng.manual.armed(w.asked, s.eng.Nanos(at))
	}
	return ok
}

// arm carries out the events arm and repeat: it arms a timer for the tick at. filed is the tick at
// which its entry is filed, or wheel.Never if it is not in the wheel. The caller holds the lock.
func (s *Shard) arm(h wheel.Handle, e *entry, filed, at wheel.Tick, ev event) bool {
	was, m := e.state.pending(), nextMove(e.state, ev)
	if m.do == effectNone {
		return s.illegal(e.state, ev).ok
	}
	e.state = m.to
	s.noteArmed(e.kind, was)
	if m.do != effectReschedule || !s.postpone(e, filed, at) {
		e.aux = s.eng.nextSeq()
		s.w.Reschedule(h, at)
		s.lower(at)
	}
	return m.ok
}

// postpone records a deadline no earlier than the tick at which the entry is filed, and leaves the
// entry there. It returns false if the entry must be moved instead.
//
// A postponed entry is moved to its tick later, behind entries that were armed for that tick in the
// meantime, so an ordered engine postpones nothing.
func (s *Shard) postpone(e *entry, filed, at wheel.Tick) bool {
	if s.eng.ordered || at < filed || at-filed >= 1<<32 {
		return false
	}
	e.aux = uint32(at - filed)
	return true
}

// dueAt returns the tick for which an entry is armed: the tick at which it is filed, or a
// later one if it was postponed.
func (s *Shard) dueAt(e *entry, filed wheel.Tick) wheel.Tick {
	switch {
	case s.eng.ordered:
		return filed
	case e.kind == kindGoFunc:
		return max(filed, (*GoFunc)(e.ptr).tick)
	}
	return filed + wheel.Tick(e.aux)
}

// stop locks the shard and calls disarm.
func (s *Shard) stop(h wheel.Handle, ev event) bool {
	s.mu.Lock()
	ok := s.disarm(h, ev)
	if s.after == 0 {
		s.mu.Unlock()
	} else {
		s.unlock()
	}
	return ok
}

// disarm carries out the events stop and free: it cancels the timer's arming, if any, and frees the
// timer if the event is free or the timer is a one-shot. It returns the result of Stop or Free. The
// caller holds the lock.
func (s *Shard) disarm(h wheel.Handle, ev event) bool {
	e := s.w.Value(h)
	if e == nil {
		return false
	}
	was, m := e.state.pending(), nextMove(e.state, ev)
	e.state = m.to
	if was || m.ok {
		s.noteDisarmed(e.kind, was, m.ok)
		s.noteDead()
	}
	switch m.do {
	case effectPark:
		e.aux = 0
		s.w.Park(h)
	case effectFree:
		s.noteFreed(h, e.kind)
		s.w.Cancel(h)
	}
	return m.ok
}

// front returns the wheel, settled, for a caller that inspects its next entries. The caller holds the
// lock.
func (s *Shard) front() *wheel.Wheel[entry] {
	if s.deferred.nCancels|s.deferred.nMoves != 0 {
		s.settle()
	}
	return &s.w
}

// firstSeq returns the sequence number of the arming that is due first on a manual clock that shows
// the time at. If nothing is due, it raises next and returns false.
func (s *Shard) firstSeq(at int64) (n uint32, ok bool) {
	s.mu.Lock()
	defer s.unlock()
	h, _, ok := s.front().Peek(s.eng.Floor(at))
	if !ok {
		s.updateNext()
		return 0, false
	}
	return s.w.Value(h).aux, true
}

// deadline returns the tick for which a timer is armed, and false if it is not armed.
func (s *Shard) deadline(h wheel.Handle) (at wheel.Tick, ok bool) {
	s.mu.Lock()
	defer s.unlock()
	at, e := s.w.Entry(h)
	switch {
	case e == nil || !e.state.pending():
		return 0, false
	case e.state.waiting():
		return s.w.Popped(h), true
	}
	return s.dueAt(e, at), true
}

// updateNext sets next to the earliest deadline. The caller holds the lock.
//
// The wheel by itself knows only a lower bound, which would cost a wake-up at which no timer is due,
// so updateNext inspects the first entries one by one. It moves postponed ones to their ticks,
// because each would cost such a wake-up as well. If there are too many entries to inspect, next
// becomes the lower bound.
func (s *Shard) updateNext() {
	w := s.front()
	if s.eng.ordered {
		at, ok := w.Soonest(updateMax)
		s.setNext(at, ok)
		return
	}
	var buf [updateMax]wheel.Handle
	for range updateRounds {
		first := wheel.Never
		moved := false
		front, complete := w.Nearest(buf[:0])
		for _, h := range front {
			at, e := s.w.Entry(h)
			due := s.dueAt(e, at)
			if due != at {
				e.aux = 0
				s.w.Reschedule(h, due)
				moved = true
			}
			first = min(first, due)
		}
		if !moved && complete {
			s.setNext(first, len(front) > 0)
			return
		}
		if !moved {
			break
		}
	}
	s.setNext(s.w.Next())
}

// cascade advances the wheel to now unless the shard is locked. The driver calls it shortly before a
// timer is due: entries move down the wheel's levels, which leaves less to do when the time comes.
func (s *Shard) cascade(now int64) {
	if s.mu.TryLock() {
		s.front().Peek(s.eng.Floor(now))
		s.unlock()
	}
}

// setNext sets next to the time of a tick, or to never if ok is false. The caller holds the lock.
func (s *Shard) setNext(at wheel.Tick, ok bool) {
	due := never
	if ok {
		due = s.eng.Nanos(at)
	}
	s.next.Store(due)
}

// updateNextIfEmpty raises next if no timer is armed any longer.
func (s *Shard) updateNextIfEmpty() {
	s.mu.Lock()
	defer s.unlock()
	if s.armed == 0 {
		s.updateNext()
	}
}

// close empties the shard. It returns the number of timers that were armed, and the callbacks of the
// context timers among them.
func (s *Shard) close() (pending int, contexts []func()) {
	s.mu.Lock()
	defer s.unlock()
	pending = s.armed
	contexts = s.collectOrphans()
	s.closed = true
	s.armed, s.slots = 0, 0
	s.queues = nil
	if s.tasks != nil {
		s.tasks.clear()
	}
	s.w = wheel.Wheel[entry]{}
	s.deferred = deferred{}
	s.setNext(0, false)
	return pending, contexts
}
