package foliot

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/door"
	"github.com/foliot-go/foliot/internal/hist"
	"github.com/foliot-go/foliot/wheel"
)

const (
	// never is the time that stands for no deadline, in nanoseconds since the start of the
	// runtime. No timer has it: deadlines beyond Runtime.last, after 292 years, are cut off.
	never int64 = 1<<63 - 1

	// rescheduleMax bounds the number of entries that one call of pop, which holds the lock,
	// takes from the wheel without finding a callback to run.
	rescheduleMax = 64

	// updateMax bounds the number of entries that updateNext looks at in one round, and
	// updateRounds the number of rounds.
	updateMax    = 64
	updateRounds = 8
)

// A shard is a timing wheel with a lock. A goroutine that makes a timer chooses the shard, see
// lockShard; the timer stays there. Everything about a timer is decided with the lock of its
// shard held. The lock is held for tens of nanoseconds, sometimes for some microseconds, and
// never while a callback of the user runs.
type shard struct {
	rt     *Runtime
	number uint32 // its index in Runtime.shards plus 1

	// next is a time before which no timer of the shard is due; never: none is armed. A
	// goroutine that arms an earlier deadline lowers it, updateNext raises it. Stop leaves it
	// alone, so it may be too early. Written with mu held, read without.
	next atomic.Int64

	mu     sync.Mutex
	w      wheel.Wheel[entry]
	closed bool // the runtime is shut down, and the wheel is empty

	adopted bool // owner is not maker

	armed      int    // timers that are armed, see state.pending, other than those of kindInternal
	fired      uint64 // see Stats
	stopped    uint64
	rearmed    uint64
	late       *hist.Hist // how late timers fired; made when the first one fires
	prefetched int        // how many of the next entries prefetch has read and pop has not reached
	sink       uint64     // what prefetch has read, stored so that the reads are not optimised away

	scrub    scrub
	internal int // the number of timers of kindInternal

	chanTimers chanTimers

	tasks taskArena
	ready readyList // tasks to be polled. Needs no lock
	maker *worker   // the worker that it was made with, see worker.own. Does not change

	// owner is the worker that runs the shard. Written under Runtime.mu and mu; if the old owner
	// is not the maker, also under adopted.mu of the old owner.
	owner atomic.Pointer[worker]

	lastPollTime atomic.Int64 // the latest Context.Now of a poll. Raised by compare-and-swap

	places places // protected by adopted.mu of the owner

	_ [128]byte // keeps the fields of two shards on separate cache lines
}

// An entry is the value that the wheel keeps for a timer. With it, a slot of the wheel has 32
// bytes. It is protected by the lock of the shard.
type entry struct {
	// ptr depends on kind:
	//
	//	kindFunc, kindInternal, kindBrief   the callback, a func(), which is a pointer
	//	kindGoFunc                          the *door.Func that holds the callback
	//	kindChan                            nil
	//	kindTask                            the *task
	ptr unsafe.Pointer

	// aux depends on kind and state. The first line that applies counts:
	//
	//	kindChan, any state            the index of its chanTimer in shard.chanTimers
	//	stateRunningDue                the low 32 bits of the tick at which it came due
	//	armed, on a manual clock       the sequence number of the arming, see nextSeq
	//	armed, kindTask                0
	//	armed, in an ordered runtime   0
	//	armed                          the offset: the deadline, in ticks, minus the tick at
	//	                               which the entry is filed in the wheel
	//	not armed                      no meaning
	//
	// A Reset to a later deadline only changes the offset, see postpone, and leaves the entry
	// at its tick in the wheel. The entry is moved when that tick comes, or when updateNext
	// finds it.
	aux     uint32
	auxHigh uint16 // in stateRunningDue: the 16 bits above those in aux. Otherwise no meaning
	state   state
	kind    kind
}

// A kind says what a timer does when it fires.
type kind uint8

const (
	kindFunc     kind = iota // runs a callback of the user, on the worker or by Options.Go
	kindInternal             // like kindBrief, but not counted by Stats and Options.MaxTimers
	kindBrief                // runs a callback of the runtime for the user, such as that of Sleep, on the worker
	kindGoFunc               // starts a goroutine for its callback, as time.AfterFunc does. For package time
	kindChan                 // sends on a channel, see chantimer.go. For package time
	kindTask                 // makes a task be polled. Its state is stateIdle or stateArmed
)

// callback returns the function that the timer calls when it fires.
func (b *entry) callback() func() {
	if b.kind == kindGoFunc {
		return (*door.Func)(b.ptr).F.Func()
	}
	return *(*func())(unsafe.Pointer(&b.ptr))
}

// pointer returns a func as the pointer that it is, for entry.ptr.
func pointer(f func()) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&f))
}

// nextSeq returns entry.aux for a new arming: the next sequence number on a manual clock,
// otherwise 0.
func (rt *Runtime) nextSeq() uint32 {
	if rt.manual == nil {
		return 0
	}
	return rt.manual.seq.Add(1)
}

// firstSeq returns the sequence number of the arming that is due first, on a manual clock that
// shows the time at. If no timer is due, it raises next and returns false.
func (s *shard) firstSeq(at int64) (n uint32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, _, ok := s.w.Peek(s.rt.floor(at))
	if !ok {
		s.updateNext()
		return 0, false
	}
	return s.w.Value(h).aux, true
}

// lowerNext lowers next to a deadline that has been armed, and reports whether next was later.
// The caller holds the lock. If the result is true, it calls timekeeper.notify after it has
// unlocked the shard.
func (s *shard) lowerNext(at wheel.Tick) bool {
	due := s.rt.nanos(at)
	if due < s.next.Load() {
		s.storeNext(due)
		return true
	}
	return false
}

// reset arms a timer for a tick, and reports whether there is such a timer. If the caller has
// not called enter, reset does that before it changes anything, and returns false if the call
// is foreign. It does so only if the timekeeper must be notified: nothing else in reset can go
// wrong in a foreign call.
func (s *shard) reset(h wheel.Handle, at wheel.Tick, entered bool) bool {
	s.mu.Lock()
	filed, b := s.w.Entry(h)
	if b == nil || !entered && s.rt.nanos(at) < s.next.Load() && s.rt.refuses() {
		s.mu.Unlock()
		return false
	}
	ok, early := s.move(h, b, filed, at)
	s.mu.Unlock()
	if early {
		s.rt.timekeeper.notify(s.rt.nanos(at))
	}
	return ok
}

// move arms a timer for the tick at. b is its entry, filed at the tick filed. The caller holds
// the lock, and calls timekeeper.notify afterwards if early is true.
func (s *shard) move(h wheel.Handle, b *entry, filed, at wheel.Tick) (ok, early bool) {
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
	if b.kind != kindChan {
		b.aux = s.rt.nextSeq()
	}
	s.w.Reschedule(h, at)
	return m.ok, s.lowerNext(at)
}

// postpone records in the entry a deadline that is not before the tick at which the entry is
// filed, and leaves the wheel alone. It returns false if the entry must be moved instead.
//
// A postponed entry is moved to its tick later, and then comes after entries that were armed
// for that tick after it. So an ordered runtime postpones nothing.
func (s *shard) postpone(b *entry, filed, at wheel.Tick) bool {
	if s.rt.ordered || at < filed || at-filed >= 1<<32 {
		return false
	}
	if b.kind != kindChan { // its deadline is in its chanTimer
		b.aux = uint32(at - filed)
	}
	return true
}

// dueAt returns the tick for which an entry is armed: the tick at which it is filed, or a
// later one if it was postponed.
func (s *shard) dueAt(b *entry, filed wheel.Tick) wheel.Tick {
	switch {
	case s.rt.ordered:
		return filed
	case b.kind == kindChan:
		return max(filed, s.rt.ceil(s.chanTimers.at(b.aux).due))
	}
	return filed + wheel.Tick(b.aux)
}

// clearOffset records that an entry is filed at the tick for which it is armed.
func (b *entry) clearOffset() {
	if b.kind != kindChan {
		b.aux = 0
	}
}

// stop handles eventStop and eventFree: it cancels the arming of a timer, if it is armed, and
// frees the timer if it is a one-shot or e is eventFree. It returns the result of Stop or
// Free.
func (s *shard) stop(h wheel.Handle, e event) bool {
	s.mu.Lock()
	ok, dirty := s.cancel(h, s.w.Value(h), e)
	s.mu.Unlock()
	if dirty {
		s.rt.scrubber.start()
	}
	return ok
}

// cancel does what stop does. b is the entry of the timer, nil if there is no such timer. The
// caller holds the lock, and starts the scrubber afterwards if dirty is true.
func (s *shard) cancel(h wheel.Handle, b *entry, e event) (ok, dirty bool) {
	if b == nil {
		return false, false
	}
	m := nextMove(b.state, e)
	if b.state.pending() && b.kind != kindInternal {
		s.armed--
		s.stopped++
	}
	b.state = m.to
	switch m.do {
	case effectPark:
		b.clearOffset()
		s.w.Park(h)
	case effectForget:
		b.aux = 0
	case effectFree:
		switch b.kind {
		case kindInternal:
			s.internal--
		case kindChan:
			s.chanTimers.put(b.aux)
			fallthrough
		default:
			s.rt.quota.release(1)
		}
		s.w.Cancel(h)
	}
	return m.ok, m.ok && (s.scrub.stopped(s) || s.armed == 0)
}

// deadline returns the tick for which a timer is armed, and false if it is not armed.
func (s *shard) deadline(h wheel.Handle) (at wheel.Tick, ok bool) {
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

// A call is a callback to be run, or a task to be polled. The arming that led to it is over:
// Stop cannot cancel it any more.
type call struct {
	fn    func()
	shard *shard
	timer wheel.Handle // of a reusable timer, for which finish is called afterwards; 0: none
	kind  kind         // how fn is run

	sent int64 // how many channel timers pop has fired before it found this call

	task *task  // if fn is nil: the task to be polled
	gen  uint32 // the generation of task
}

// pop takes the next timer that is due at the time now, and returns its callback or task. It
// fires channel timers itself. If no timer is due, it raises next and returns false. It also
// returns false, without raising next, after rescheduleMax entries with nothing to run, such
// as postponed ones; then the caller finds next still due and calls pop again.
func (s *shard) pop(now int64) (c call, ok bool) {
	tick := s.rt.floor(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	rang := int64(0)
	var day time.Time
	for range rescheduleMax {
		if s.prefetched--; s.prefetched < 0 {
			s.w.Peek(tick)
			s.prefetched = s.prefetch() - 1
		}
		h, at, due := s.w.Pop(tick)
		if !due {
			s.prefetched = 0
			s.updateNext()
			return call{sent: rang}, false
		}
		b := s.w.Value(h)
		if b.kind == kindTask {
			b.state = stateIdle
			s.armed--
			s.recordLate(now - s.rt.nanos(at))
			t := (*task)(b.ptr)
			gen, _ := t.word.load()
			return call{shard: s, task: t, gen: gen, sent: rang}, true
		}
		if due := s.dueAt(b, at); due != at {
			b.clearOffset()
			s.w.Requeue(h, due)
			continue
		}
		if b.kind == kindChan {
			if rang == 0 {
				day = time.Now()
			}
			s.fireChan(h, b, now, day)
			rang++
			continue
		}
		m := nextMove(b.state, eventExpire)
		b.state = m.to
		if m.do == effectNone {
			b.aux, b.auxHigh = uint32(at), uint16(at>>32)
			continue
		}
		c = s.start(h, b, m, now-s.rt.nanos(at))
		c.sent = rang
		return c, true
	}
	return call{sent: rang}, false
}

// start updates the counters for a callback that is about to run, and frees a one-shot.
func (s *shard) start(h wheel.Handle, b *entry, m move, late int64) call {
	if b.kind != kindInternal {
		s.armed--
		s.fired++
		s.recordLate(late)
	}
	c := call{fn: b.callback(), shard: s, timer: h, kind: b.kind}
	if m.do == effectFreeAndRun {
		c.timer = 0
		s.w.Cancel(h)
		s.rt.quota.release(1)
	}
	return c
}

// recordLate records how late a timer fires. The caller holds the lock.
func (s *shard) recordLate(ns int64) {
	if s.late == nil {
		s.late = new(hist.Hist)
	}
	s.late.Record(ns)
}

// finish handles eventDone: the callback of a reusable timer has returned. If the timer was
// armed again and has come due, finish returns the call to run next, and true.
func (s *shard) finish(h wheel.Handle, now int64) (c call, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.w.Value(h)
	if b == nil {
		return call{}, false
	}
	m := nextMove(b.state, eventDone)
	b.state = m.to
	if m.do != effectRun {
		return call{}, false
	}
	at := s.wasDue(b)
	b.aux = 0
	return s.start(h, b, m, now-s.rt.nanos(at)), true
}

// wasDue returns the tick at which a timer in stateRunningDue came due. The entry holds the low
// 48 bits of it. The rest follows from the present of the wheel, which is not before that tick
// and less than 2^48 ticks after it.
func (s *shard) wasDue(b *entry) wheel.Tick {
	now := uint64(s.w.Now())
	due := uint64(b.auxHigh)<<32 | uint64(b.aux)
	return wheel.Tick(now - (now-due)&(1<<48-1))
}

// updateNext sets next to the earliest deadline. The caller holds the lock.
//
// It looks at the first entries one by one to find the exact time. The wheel alone only knows
// a lower bound, which would cost a wake-up at which no timer is due. A postponed entry would
// cost such a wake-up, too, so postponed entries at the front are moved to their tick here. If
// there are too many entries to look at, next becomes the lower bound.
func (s *shard) updateNext() {
	if s.rt.ordered {
		at, ok := s.w.Soonest(updateMax)
		s.setNext(at, ok)
		return
	}
	var buf [updateMax]wheel.Handle
	for range updateRounds {
		first := wheel.Never
		moved := false
		near, all := s.w.Nearest(buf[:0])
		for _, h := range near {
			at, b := s.w.Entry(h)
			due := s.dueAt(b, at)
			if due != at {
				b.clearOffset()
				s.w.Reschedule(h, due)
				moved = true
			}
			first = min(first, due)
		}
		if !moved && all {
			s.setNext(first, len(near) > 0)
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
func (s *shard) cascade(now int64) {
	if s.mu.TryLock() {
		s.w.Peek(s.rt.floor(now))
		s.mu.Unlock()
	}
}

// setNext stores the time of a tick in next, or never if ok is false. The caller holds the
// lock.
func (s *shard) setNext(at wheel.Tick, ok bool) {
	due := never
	if ok {
		due = s.rt.nanos(at)
	}
	s.storeNext(due)
}

// storeNext stores a time in next and, if the shard is adopted, moves it in the heap of its
// owner. The caller holds the lock.
func (s *shard) storeNext(at int64) {
	s.next.Store(at)
	if s.adopted {
		s.moved()
	}
}

// updateNextIfEmpty raises next if no timer is armed any more.
func (s *shard) updateNextIfEmpty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed == 0 {
		s.updateNext()
	}
}

// close empties the shard and returns the number of timers that were armed.
func (s *shard) close() (pending int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending = s.armed
	s.closed = true
	s.armed, s.internal = 0, 0
	s.tasks.clear()
	s.w = wheel.Wheel[entry]{}
	s.setNext(0, false)
	return pending
}
