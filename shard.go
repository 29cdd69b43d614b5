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
	// never is the deadline of nothing, in nanoseconds since the start of the runtime,
	// and that of a timer armed for longer than can be counted: 292 years.
	never int64 = 1<<63 - 1

	// refileMax bounds how many pushed-back timers are put in their new place in one
	// go, under the lock.
	rescheduleMax = 64

	// settleMax and settleTurns bound how many entries are looked at to find the next
	// deadline.
	updateMax    = 64
	updateRounds = 8
)

// A shard is a wheel behind a lock, and holds the timers that were made by the
// goroutines that call it home. The lock decides everything about its timers. It is
// held for tens of nanoseconds, now and then for some microseconds, and never while a
// callback of the user's runs.
type shard struct {
	rt     *Runtime
	number uint32 // its place in Runtime.all, counted from 1

	// next is a time before which nothing in the wheel is due; never if it is empty. It
	// is lowered by whoever arms an earlier deadline and raised by the worker that found
	// nothing due, both with the lock held; the timekeeper reads it without.
	next atomic.Int64

	mu     sync.Mutex
	w      wheel.Wheel[entry]
	closed bool // the runtime is shut down and the wheel empty

	adopted bool // the owner is not the maker

	armed      int // pending armings: those in the wheel and those of state runningDue
	fired      uint64
	stopped    uint64
	rearmed    uint64
	late       *hist.Hist // made with the first callback
	prefetched int        // how many of the entries that are due next ahead has looked at
	sink       uint64     // where it leaves what it read, so that it is not optimised away

	scrub    scrub
	internal int // timers of the runtime's own

	chanTimers chanTimers

	tasks        taskArena
	ready        readyList              // of tasks
	maker        *worker                // the worker that it was made for. Does not change
	owner        atomic.Pointer[worker] // the worker that runs it. Written under Runtime.mu and mu; adopted.mu of the old owner too if that is not the maker
	lastPollTime atomic.Int64           // the latest time that one was told. Raised by compare-and-swap

	places places

	_ [128]byte // the next shard's lock is on a line of its own
}

// A body is what the wheel keeps for a timer. With it a slot has 32 bytes.
type entry struct {
	// what is the callback, a func(): that is a pointer. Of a drop-in's timer it is the
	// *door.Func that has it, of one with a bell nil, of the timer of a task the *task.
	ptr unsafe.Pointer

	// later is by how many ticks the deadline lies behind the tick that the entry is
	// filed at: a deadline that is pushed back stays where it is in the wheel, and moves
	// when that tick comes. On a manual clock, where nothing is pushed back so, it is the
	// number of the arming. In the state runningDue: the low bits of the tick it was due. Of
	// a timer with a bell: the number of the bell.
	aux     uint32
	auxHigh uint16 // in the state runningDue: the bits above those in later
	state   state
	kind    kind
}

// A kind is whose a timer is, and with it how its callback is run.
type kind uint8

const (
	kindFunc     kind = iota // the user's: on the worker, or by Options.Go
	kindInternal             // the runtime's own: on the worker, and not counted among the user's
	kindBrief                // made for the user, with a callback of the runtime's own: on the worker
	kindGoFunc               // a drop-in's: on a goroutine of its own, as time.AfterFunc does
	kindChan                 // a drop-in's with a channel: there is none, see bell.go
	kindTask                 // a task's: idle or armed, and when it expires the task is polled
)

// callback returns the function to be called.
func (b *entry) callback() func() {
	if b.kind == kindGoFunc {
		return (*door.Func)(b.ptr).F.Func()
	}
	return *(*func())(unsafe.Pointer(&b.ptr))
}

// pointer returns what a body keeps of a func.
func pointer(f func()) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&f))
}

// arming returns the first value of body.later for an arming.
func (rt *Runtime) nextSeq() uint32 {
	if rt.manual == nil {
		return 0
	}
	return rt.manual.seq.Add(1)
}

// order returns the number of the arming that is due first, on a manual clock that shows
// the time at. It answers false, and raises next, if nothing is due.
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

// expect lowers next to a deadline that has been armed. The caller holds the lock,
// and tells the timekeeper afterwards, without it, if expect answers true.
func (s *shard) lowerNext(at wheel.Tick) bool {
	due := s.rt.nanos(at)
	if due < s.next.Load() {
		s.storeNext(due)
		return true
	}
	return false
}

// reset arms a timer for a tick. If the caller has not been through enter, it is checked here,
// before anything changes, in the one case that matters: that the timekeeper is to be told.
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

// move arms a timer that is there, for a tick; filed is the one that it is filed at. The
// caller holds the lock, and tells the timekeeper afterwards if it is early.
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

// postpone notes a deadline that is no earlier than the tick the entry is filed at, and
// leaves the wheel alone. It answers false if the entry has to be moved instead.
//
// A timer so pushed back takes its place among those of its tick when it is moved there,
// and so behind some that were armed later. Where that is not allowed, nothing is postponed.
func (s *shard) postpone(b *entry, filed, at wheel.Tick) bool {
	if s.rt.ordered || at < filed || at-filed >= 1<<32 {
		return false
	}
	if b.kind != kindChan { // a bell knows when it is due
		b.aux = uint32(at - filed)
	}
	return true
}

// dueAt returns the tick that an entry is armed for: the one that it is filed at, or a later
// one if it was postponed.
func (s *shard) dueAt(b *entry, filed wheel.Tick) wheel.Tick {
	switch {
	case s.rt.ordered:
		return filed
	case b.kind == kindChan:
		return max(filed, s.rt.ceil(s.chanTimers.at(b.aux).due))
	}
	return filed + wheel.Tick(b.aux)
}

// arrived notes that an entry is filed at the tick that it is due at.
func (b *entry) clearOffset() {
	if b.kind != kindChan {
		b.aux = 0
	}
}

// stop calls off what is armed, and frees the timer if it is a one-shot or freeing is
// what the event is about.
func (s *shard) stop(h wheel.Handle, e event) bool {
	s.mu.Lock()
	ok, dirty := s.cancel(h, s.w.Value(h), e)
	s.mu.Unlock()
	if dirty {
		s.rt.scrubber.start()
	}
	return ok
}

// callOff does what stop does; b is the body of the timer, nil if there is none. The caller
// holds the lock, and starts the scrubber afterwards if the shard is dirty.
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

// deadline returns the tick that a timer is armed for.
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

// A call is a callback that has to be run: its arming is used up.
type call struct {
	fn    func()
	shard *shard
	timer wheel.Handle // of a reusable timer, which wants to know when it is over; 0: none
	kind  kind         // how fn is run

	sent int64 // how many bells have rung before

	task *task // instead of fn: a task to be polled
	gen  uint32
}

// pop takes the next timer that is due at the time now. When there is none it raises
// next and answers false. When it has spent its turn on timers that were pushed back it
// answers neither: next is still due, and the caller comes back.
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

// start accounts for a callback that is about to run.
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

// lateness notes how late a callback or a poll is.
func (s *shard) recordLate(ns int64) {
	if s.late == nil {
		s.late = new(hist.Hist)
	}
	s.late.Record(ns)
}

// finish notes that the callback of a reusable timer is over. If it has come due again
// meanwhile, it is to be run once more.
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

// wasDue returns the tick at which a timer in the state runningDue came due. The entry has
// the low 48 bits of it; the wheel had got there when it came due, and has not moved on by
// 2^48 ticks since.
func (s *shard) wasDue(b *entry) wheel.Tick {
	now := uint64(s.w.Now())
	due := uint64(b.auxHigh)<<32 | uint64(b.aux)
	return wheel.Tick(now - (now-due)&(1<<48-1))
}

// settle sets next to the deadline that comes first.
//
// A few entries are looked at one by one, for the exact time: a lower bound, which is all
// that the wheel knows for sure, would cost a wake-up for nothing. So would an entry whose
// deadline was pushed back, so those that stand in front are moved on right away.
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

// prepare leads the wheel on to the time now, when nothing is due yet, so that there is
// less to do when something is: entries move down the levels of the wheel on the way.
func (s *shard) cascade(now int64) {
	if s.mu.TryLock() {
		s.w.Peek(s.rt.floor(now))
		s.mu.Unlock()
	}
}

func (s *shard) setNext(at wheel.Tick, ok bool) {
	due := never
	if ok {
		due = s.rt.nanos(at)
	}
	s.storeNext(due)
}

// storeNext stores a time in next, and moves the shard in the heap of its owner if it is
// adopted. The caller holds the lock.
func (s *shard) storeNext(at int64) {
	s.next.Store(at)
	if s.adopted {
		s.moved()
	}
}

// review raises next if nothing is armed any more.
func (s *shard) updateNextIfEmpty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed == 0 {
		s.updateNext()
	}
}

// close empties the shard and returns how many armings were pending.
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
