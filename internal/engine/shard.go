package engine

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/hist"
	"github.com/foliot-go/foliot/wheel"
)

const (
	// rescheduleMax bounds the number of entries that one call of pop, which holds the lock,
	// takes from the wheel without finding a callback to run.
	rescheduleMax = 64

	// updateMax bounds the number of entries that updateNext looks at in one round, and
	// updateRounds the number of rounds.
	updateMax    = 64
	updateRounds = 8
)

// A Shard is a timing wheel with a lock. A goroutine that makes a timer chooses the shard, see
// lockShard; the timer stays there. Everything about a timer is decided with the lock of its
// shard held. The lock is held for tens of nanoseconds, sometimes for some microseconds, and
// never while a callback of the user runs.
type Shard struct {
	eng    *Engine
	number uint32 // its index in roster.shards plus 1

	// next is a time before which no timer of the shard is due; never: none is armed. A
	// goroutine that arms an earlier deadline lowers it, updateNext raises it. Stop leaves it
	// alone, so it may be too early. Written with mu held, read without.
	next atomic.Int64

	mu     sync.Mutex
	w      wheel.Wheel[entry]
	closed bool // the engine is shut down, and the wheel is empty

	isAdopted bool // owner is not maker

	armed      int    // timers that are armed, see state.pending, other than those of kindInternal
	fired      uint64 // see Stats. Without the callbacks that started counts
	stopped    uint64
	rearmed    uint64
	late       *hist.Hist // how late timers fired; made when the first one fires
	ran        *hist.Hist // how long callbacks and items of any shard took; made when the first one has ended
	prefetched int        // how many of the next entries prefetch has read and pop has not reached
	sink       uint64     // what prefetch has read, stored so that the reads are not optimised away

	putOff putOff
	scrub  scrub

	internals map[wheel.Handle]struct{} // the timers of kindInternal. Made with the first one

	chans *chanTimers // made with the first channel timer

	hasContexts bool                      // there was a timer of a context
	left        map[wheel.Handle]struct{} // see Timer.WasLeft

	source     Source           // set before the first item is made, and not changed afterwards
	itemTimers int              // the number of timers of kindItem
	expired    []unsafe.Pointer // items whose timers pop has found expired; empty while mu is not held
	ahead      []unsafe.Pointer // items that prefetch has found; empty while mu is not held
	Ready      Ready            // ready items. Needs no lock

	maker *worker // the worker that it was made with, see worker.own. Does not change

	// owner is the worker that runs the shard. Written under roster.mu and mu; if the old owner
	// is not the maker, also under adoptedShards.mu of the old owner.
	owner atomic.Pointer[worker]

	places places // protected by adoptedShards.mu of the owner

	// started counts callbacks for Config.Go when they start. If fired counted them when their timers
	// come due, it would fall when Shutdown withdraws some.
	started atomic.Uint64

	_ [128]byte // keeps the fields of two shards on separate cache lines
}

// firstSeq returns the sequence number of the arming that is due first, on a manual clock that
// shows the time at. If no timer is due, it raises next and returns false.
func (s *Shard) firstSeq(at int64) (n uint32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, _, ok := s.w.Peek(s.eng.Floor(at))
	if !ok {
		s.updateNext()
		return 0, false
	}
	return s.seq(s.w.Value(h)), true
}

// lowerNext lowers next to a deadline that has been armed, and reports whether next was later.
// The caller holds the lock. If the result is true, it calls timekeeper.notify after it has
// unlocked the shard.
func (s *Shard) lowerNext(at wheel.Tick) bool {
	due := s.eng.Nanos(at)
	if due < s.next.Load() {
		s.storeNext(due)
		return true
	}
	return false
}

// reset arms a timer for the time due, and reports whether there is such a timer. A timer of Every
// gets the period d, unless d is 0 or less. If the caller has not called enter, reset does that
// before it changes anything, and returns false if the call is foreign. It does so only if the
// timekeeper must be notified: nothing else in reset can go wrong in a foreign call.
func (s *Shard) reset(h wheel.Handle, due int64, d time.Duration, entered bool) bool {
	at := s.eng.Ceil(due)
	s.mu.Lock()
	filed, b := s.w.Entry(h)
	if b == nil || !entered && s.eng.Nanos(at) < s.next.Load() && s.eng.refuses() {
		s.mu.Unlock()
		return false
	}
	if b.kind == kindEvery {
		(*repeat)(b.ptr).begin(due, d)
	}
	ok, early := s.move(h, b, filed, at)
	s.mu.Unlock()
	if early {
		s.eng.timekeeper.notify(s.eng.Nanos(at))
	}
	return ok
}

// move arms a timer for the tick at. b is its entry, filed at the tick filed. The caller holds
// the lock, and calls timekeeper.notify afterwards if early is true.
func (s *Shard) move(h wheel.Handle, b *entry, filed, at wheel.Tick) (ok, early bool) {
	pending := b.state.pending()
	m := nextMove(b.state, eventArm)
	b.state = m.to
	if pending && b.kind != kindInternal {
		s.rearmed++
	}
	switch m.do {
	case effectReschedule:
		if s.postpone(b, filed, at) {
			return m.ok, false
		}
	case effectSchedule:
		if !pending && b.kind != kindInternal {
			s.armed++
		}
	default:
		return m.ok, false
	}
	s.setSeq(b)
	s.w.Reschedule(h, at)
	return m.ok, s.lowerNext(at)
}

// stop handles eventStop and eventFree: it cancels the arming of a timer, if it is armed, and
// frees the timer if it is a one-shot or e is eventFree. It returns the result of Stop or
// Free.
func (s *Shard) stop(h wheel.Handle, e event) bool {
	s.mu.Lock()
	ok, dirty := s.cancel(h, s.w.Value(h), e)
	s.mu.Unlock()
	if dirty {
		s.eng.scrubber.start()
	}
	return ok
}

// cancel does what stop does. b is the entry of the timer, nil if there is no such timer. The
// caller holds the lock, and starts the scrubber afterwards if dirty is true.
func (s *Shard) cancel(h wheel.Handle, b *entry, e event) (ok, dirty bool) {
	if b == nil {
		return false, false
	}
	m := nextMove(b.state, e)
	pending := b.state.pending()
	if pending && b.kind != kindInternal {
		s.armed--
		s.stopped++
	}
	b.state = m.to
	ok = m.ok
	switch m.do {
	case effectPark:
		if b.kind == kindChan {
			s.parkedChan()
		}
		ok = m.ok && s.stoppedInTime(b)
		b.clearOffset()
		s.w.Park(h)
	case effectForget:
		ok = m.ok && s.stoppedInTime(b)
		b.aux = 0
	case effectFree:
		switch {
		case b.kind == kindInternal:
			delete(s.internals, h)
		case b.kind == kindChan && !pending:
			s.chans.parked--
		default:
			s.eng.quota.release(1)
		}
		if b.kind == kindChan {
			s.chans.put(b.aux)
		}
		s.w.Cancel(h)
	}
	return ok, m.ok && (s.scrub.stopped(s) || s.armed == 0)
}

// deadline returns the tick for which a timer is armed, and false if it is not armed.
func (s *Shard) deadline(h wheel.Handle) (at wheel.Tick, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, b := s.w.Entry(h)
	switch {
	case b == nil || !b.state.pending():
		return 0, false
	case b.state == stateRunningDue:
		return s.wasDue(b), true
	}
	return s.dueAt(b, at), true
}

// updateNext sets next to the earliest deadline. The caller holds the lock.
//
// It looks at the first entries one by one to find the exact time. The wheel alone only knows
// a lower bound, which would cost a wake-up at which no timer is due. A postponed entry would
// cost such a wake-up, too, so postponed entries at the front are moved to their tick here. If
// there are too many entries to look at, next becomes the lower bound.
func (s *Shard) updateNext() {
	s.settle()
	if s.eng.ordered {
		at, ok := s.w.Soonest(updateMax)
		s.setNext(at, ok)
		return
	}
	var buf [updateMax]wheel.Handle
	for range updateRounds {
		first := wheel.Never
		moved := false
		front, complete := s.w.Nearest(buf[:0])
		for _, h := range front {
			at, b := s.w.Entry(h)
			due := s.dueAt(b, at)
			if due != at {
				b.clearOffset()
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

// cascade advances the wheel to the time now, at which no timer is due yet. Entries move down
// the levels of the wheel on the way, so that less is left to do when a timer is due. It does
// nothing if the shard is locked.
func (s *Shard) cascade(now int64) {
	if s.mu.TryLock() {
		s.w.Peek(s.eng.Floor(now))
		s.mu.Unlock()
	}
}

// setNext stores the time of a tick in next, or never if ok is false. The caller holds the
// lock.
func (s *Shard) setNext(at wheel.Tick, ok bool) {
	due := never
	if ok {
		due = s.eng.Nanos(at)
	}
	s.storeNext(due)
}

// storeNext stores a time in next and, if the shard is adopted, moves it in the heap of its
// owner. The caller holds the lock.
func (s *Shard) storeNext(at int64) {
	s.next.Store(at)
	if s.isAdopted {
		s.updateHeap()
	}
}

// updateNextIfEmpty raises next if no timer is armed any more.
func (s *Shard) updateNextIfEmpty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed == 0 {
		s.updateNext()
	}
}

// close empties the shard. It returns the number of timers that were armed, and the functions that
// end the contexts among them.
func (s *Shard) close() (pending int, contexts []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending = s.armed
	contexts = s.leaveContexts()
	s.closed = true
	s.armed, s.itemTimers = 0, 0
	s.internals = nil
	if s.source != nil {
		s.source.Close()
	}
	s.chans = nil
	s.w = wheel.Wheel[entry]{}
	s.putOff = putOff{}
	s.setNext(0, false)
	return pending, contexts
}
