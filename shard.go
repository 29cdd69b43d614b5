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
	refileMax = 64

	// settleMax and settleTurns bound how many entries are looked at to find the next
	// deadline.
	settleMax   = 64
	settleTurns = 8
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
	w      wheel.Wheel[body]
	closed bool // the runtime is shut down and the wheel empty

	adopted bool // the owner is not the maker

	armed   int // pending armings: those in the wheel and those of state runningDue
	fired   uint64
	stopped uint64
	rearmed uint64
	late    *hist.Hist // made with the first callback
	seen    int        // how many of the entries that are due next ahead has looked at
	glanced uint64     // where it leaves what it read, so that it is not optimised away

	scrub scrub
	owned int // timers of the runtime's own

	bells bells

	tasks taskArena
	ready queue                  // of tasks
	maker *worker                // the worker that it was made for. Does not change
	owner atomic.Pointer[worker] // the worker that runs it. Written under Runtime.mu and mu; adopted.mu of the old owner too if that is not the maker
	told  atomic.Int64           // the latest time that one was told. Raised by compare-and-swap

	places places

	_ [128]byte // the next shard's lock is on a line of its own
}

// A body is what the wheel keeps for a timer. With it a slot has 32 bytes.
type body struct {
	// what is the callback, a func(): that is a pointer. Of a drop-in's timer it is the
	// *door.Func that has it, of one with a bell nil, of the timer of a task the *task.
	what unsafe.Pointer

	// later is by how many ticks the deadline lies behind the tick that the entry is
	// filed at: a deadline that is pushed back stays where it is in the wheel, and moves
	// when that tick comes. On a manual clock, where nothing is pushed back so, it is the
	// number of the arming. In the state runningDue: the low bits of the tick it was due. Of
	// a timer with a bell: the number of the bell.
	later uint32
	above uint16 // in the state runningDue: the bits above those in later
	state state
	kind  kind
}

// A kind is whose a timer is, and with it how its callback is run.
type kind uint8

const (
	plain kind = iota // the user's: on the worker, or by Options.Go
	own               // the runtime's own: on the worker, and not counted among the user's
	brief             // made for the user, with a callback of the runtime's own: on the worker
	apart             // a drop-in's: on a goroutine of its own, as time.AfterFunc does
	bell              // a drop-in's with a channel: there is none, see bell.go
	ofTask            // a task's: idle or armed, and when it expires the task is polled
)

// callback returns the function to be called.
func (b *body) callback() func() {
	if b.kind == apart {
		return (*door.Func)(b.what).F.Func()
	}
	return *(*func())(unsafe.Pointer(&b.what))
}

// pointer returns what a body keeps of a func.
func pointer(f func()) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&f))
}

// arming returns the first value of body.later for an arming.
func (rt *Runtime) arming() uint32 {
	if rt.manual == nil {
		return 0
	}
	return rt.manual.armed.Add(1)
}

// order returns the number of the arming that is due first, on a manual clock that shows
// the time at. It answers false, and raises next, if nothing is due.
func (s *shard) order(at int64) (n uint32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, _, ok := s.w.Peek(s.rt.floor(at))
	if !ok {
		s.settle()
		return 0, false
	}
	return s.w.Value(h).later, true
}

// expect lowers next to a deadline that has been armed. The caller holds the lock,
// and tells the timekeeper afterwards, without it, if expect answers true.
func (s *shard) expect(at wheel.Tick) bool {
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
		s.rt.keeper.notice(s.rt.nanos(at))
	}
	return ok
}

// move arms a timer that is there, for a tick; filed is the one that it is filed at. The
// caller holds the lock, and tells the timekeeper afterwards if it is early.
func (s *shard) move(h wheel.Handle, b *body, filed, at wheel.Tick) (ok, early bool) {
	pending := b.state.pending()
	m := next(b.state, arm)
	b.state = m.to
	if pending && b.kind != own {
		s.rearmed++
	}
	switch m.do {
	case refile:
		if s.postpone(b, filed, at) {
			return m.ok, false
		}
	case file:
		if !pending && b.kind != own {
			s.armed++
		}
	default:
		return m.ok, false
	}
	if b.kind != bell {
		b.later = s.rt.arming()
	}
	s.w.Reschedule(h, at)
	return m.ok, s.expect(at)
}

// postpone notes a deadline that is no earlier than the tick the entry is filed at, and
// leaves the wheel alone. It answers false if the entry has to be moved instead.
//
// A timer so pushed back takes its place among those of its tick when it is moved there,
// and so behind some that were armed later. Where that is not allowed, nothing is postponed.
func (s *shard) postpone(b *body, filed, at wheel.Tick) bool {
	if s.rt.ordered || at < filed || at-filed >= 1<<32 {
		return false
	}
	if b.kind != bell { // a bell knows when it is due
		b.later = uint32(at - filed)
	}
	return true
}

// dueAt returns the tick that an entry is armed for: the one that it is filed at, or a later
// one if it was postponed.
func (s *shard) dueAt(b *body, filed wheel.Tick) wheel.Tick {
	switch {
	case s.rt.ordered:
		return filed
	case b.kind == bell:
		return max(filed, s.rt.ceil(s.bells.at(b.later).due))
	}
	return filed + wheel.Tick(b.later)
}

// arrived notes that an entry is filed at the tick that it is due at.
func (b *body) arrived() {
	if b.kind != bell {
		b.later = 0
	}
}

// stop calls off what is armed, and frees the timer if it is a one-shot or freeing is
// what the event is about.
func (s *shard) stop(h wheel.Handle, e event) bool {
	s.mu.Lock()
	ok, dirty := s.callOff(h, s.w.Value(h), e)
	s.mu.Unlock()
	if dirty {
		s.rt.scrubber.start()
	}
	return ok
}

// callOff does what stop does; b is the body of the timer, nil if there is none. The caller
// holds the lock, and starts the scrubber afterwards if the shard is dirty.
func (s *shard) callOff(h wheel.Handle, b *body, e event) (ok, dirty bool) {
	if b == nil {
		return false, false
	}
	m := next(b.state, e)
	if b.state.pending() && b.kind != own {
		s.armed--
		s.stopped++
	}
	b.state = m.to
	switch m.do {
	case park:
		b.arrived()
		s.w.Park(h)
	case forget:
		b.later = 0
	case drop:
		switch b.kind {
		case own:
			s.owned--
		case bell:
			s.bells.put(b.later)
			fallthrough
		default:
			s.rt.room.give(1)
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
	case b.state == runningDue:
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

	rang int64 // how many bells have rung before

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
	for range refileMax {
		if s.seen--; s.seen < 0 {
			s.w.Peek(tick)
			s.seen = s.ahead() - 1
		}
		h, at, due := s.w.Pop(tick)
		if !due {
			s.seen = 0
			s.settle()
			return call{rang: rang}, false
		}
		b := s.w.Value(h)
		if b.kind == ofTask {
			b.state = idle
			s.armed--
			s.lateness(now - s.rt.nanos(at))
			t := (*task)(b.what)
			gen, _ := t.word.load()
			return call{shard: s, task: t, gen: gen, rang: rang}, true
		}
		if due := s.dueAt(b, at); due != at {
			b.arrived()
			s.w.Requeue(h, due)
			continue
		}
		if b.kind == bell {
			if rang == 0 {
				day = time.Now()
			}
			s.ring(h, b, now, day)
			rang++
			continue
		}
		m := next(b.state, expire)
		b.state = m.to
		if m.do == stay {
			b.later, b.above = uint32(at), uint16(at>>32)
			continue
		}
		c = s.start(h, b, m, now-s.rt.nanos(at))
		c.rang = rang
		return c, true
	}
	return call{rang: rang}, false
}

// start accounts for a callback that is about to run.
func (s *shard) start(h wheel.Handle, b *body, m move, late int64) call {
	if b.kind != own {
		s.armed--
		s.fired++
		s.lateness(late)
	}
	c := call{fn: b.callback(), shard: s, timer: h, kind: b.kind}
	if m.do == runDrop {
		c.timer = 0
		s.w.Cancel(h)
		s.rt.room.give(1)
	}
	return c
}

// lateness notes how late a callback or a poll is.
func (s *shard) lateness(ns int64) {
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
	m := next(b.state, done)
	b.state = m.to
	if m.do != run {
		return call{}, false
	}
	at := s.wasDue(b)
	b.later = 0
	return s.start(h, b, m, now-s.rt.nanos(at)), true
}

// wasDue returns the tick at which a timer in the state runningDue came due. The entry has
// the low 48 bits of it; the wheel had got there when it came due, and has not moved on by
// 2^48 ticks since.
func (s *shard) wasDue(b *body) wheel.Tick {
	now := uint64(s.w.Now())
	due := uint64(b.above)<<32 | uint64(b.later)
	return wheel.Tick(now - (now-due)&(1<<48-1))
}

// settle sets next to the deadline that comes first.
//
// A few entries are looked at one by one, for the exact time: a lower bound, which is all
// that the wheel knows for sure, would cost a wake-up for nothing. So would an entry whose
// deadline was pushed back, so those that stand in front are moved on right away.
func (s *shard) settle() {
	if s.rt.ordered {
		at, ok := s.w.Soonest(settleMax)
		s.setNext(at, ok)
		return
	}
	var buf [settleMax]wheel.Handle
	for range settleTurns {
		first := wheel.Never
		moved := false
		near, all := s.w.Nearest(buf[:0])
		for _, h := range near {
			at, b := s.w.Entry(h)
			due := s.dueAt(b, at)
			if due != at {
				b.arrived()
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
func (s *shard) prepare(now int64) {
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
func (s *shard) review() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed == 0 {
		s.settle()
	}
}

// close empties the shard and returns how many armings were pending.
func (s *shard) close() (pending int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending = s.armed
	s.closed = true
	s.armed, s.owned = 0, 0
	s.tasks.clear()
	s.w = wheel.Wheel[body]{}
	s.setNext(0, false)
	return pending
}
