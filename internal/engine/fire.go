package engine

import (
	"unsafe"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A call is a callback to be run, or a task to be polled apart from its worker. Stop can no longer
// cancel it, because the arming that led to it is over.
type call struct {
	fn    func()
	shard *Shard
	timer wheel.Handle // of a reusable timer, to be passed to finish afterwards; 0: none
	kind  kind         // how fn is run

	gen  uint32 // if fn is nil: the task to be polled, and its generation
	task *task
}

// pop carries out the event expire for timers that are due at t.now, until one of them has a callback
// to run. It returns that callback, if there is one, and the number of tasks it woke, and counts the
// timers that fired in t.fired. If no timer is due, pop raises next.
//
// pop may also return early without a callback, to limit how long it holds the lock or to let tasks
// be polled first; next is then still due, and the caller calls pop again. If the caller is the
// driver, it keeps the functions of GoFuncs while it has room. pop also flushes t.ran.
func (s *Shard) pop(t *turn) (c call, woke int) {
	s.mu.Lock()
	if t.ran.n > 0 {
		s.recordRan(t)
	}
	var woken taskChain
	w, tick := s.front(), s.eng.Floor(t.now)
	for n := 0; n < rescheduleMax && c.fn == nil; n++ {
		if s.ahead.n--; s.ahead.n < 0 {
			w.Peek(tick)
			s.ahead.n = s.prefetch() - 1
		}
		if woken.n > 0 && s.pollsFirst(woken.n, tick) {
			break
		}
		h, at, ok := w.Pop(tick)
		if !ok {
			s.ahead.n = 0
			s.updateNext()
			break
		}
		e := s.w.Value(h)
		if due := s.dueAt(e, at); due != at {
			e.aux = 0
			s.w.Requeue(h, due)
			continue
		}
		if m := s.move(e, eventExpire); m.do != effectNone { // otherwise it waits for its callback to return
			t.fired++
			c = s.expire(h, e, m, t.now, at, t.drv, &woken)
		}
	}
	if woken.n > 0 {
		s.tasks.raise(t.now) // before a goroutine that read the clock earlier can poll them
		if s.ready.pushChain(&woken) {
			s.after |= afterWake
		}
	}
	s.unlock()
	return c, woken.n
}

// raiseNext raises next after some of the timers due at now have fired, so that the worker's shards
// take turns by deadline. It reports whether the next timer is due and has a user callback.
func (s *Shard) raiseNext(now int64) (due bool) {
	s.mu.Lock()
	defer s.unlock()
	h, at, ok := s.front().Peek(s.eng.Floor(now))
	if !ok {
		s.updateNext()
		return false
	}
	s.setNext(at, true)
	return s.w.Value(h).kind.isUser()
}

// pollsFirst reports whether the n tasks whose timers expired should be polled before another timer
// is popped. They should if there are batchSize of them, or if the order of firing matters and the
// next timer is not a task's. On a manual clock, the next timer may belong to another engine.
func (s *Shard) pollsFirst(n int, tick wheel.Tick) bool {
	switch {
	case n == batchSize || s.eng.manual != nil:
		return true
	case !s.eng.ordered:
		return false
	}
	h, _, due := s.front().Peek(tick)
	return due && s.w.Value(h).kind != kindTask
}

// expire starts what an expired timer does. now is the time, at the timer's deadline, and m its move.
// expire returns the callback to run, if there is one. The driver keeps a GoFunc's function instead,
// if it has room, and a task is added to woken. The caller holds the lock.
func (s *Shard) expire(h wheel.Handle, e *entry, m move, now int64, at wheel.Tick, drv *driver, woken *taskChain) (c call) {
	s.noteFired(e.kind, now-s.eng.Nanos(at))
	c = call{shard: s, timer: h, kind: e.kind}
	switch e.kind { // the one place that decides what a timer does
	case kindTask:
		s.move(e, eventDone)
		woken.wake((*task)(e.ptr))
		return call{}
	case kindGoFunc:
		t := (*GoFunc)(e.ptr)
		t.slot = 0
		if f := t.F.Func(); !drv.add(f) {
			c.fn = f
		}
	case kindEvery:
		c.kind = kindFunc
		fallthrough
	case kindTick:
		r := (*repeat)(e.ptr)
		c.fn = r.f
		r.due = s.eng.nextOnGrid(r.due, r.period, now)
		s.arm(h, e, wheel.Never, s.eng.Ceil(r.due), eventRepeat)
	default:
		c.fn = e.callback()
	}
	if m.do == effectFreeAndRun {
		c.timer = 0
		s.noteFreed(h, e.kind)
		s.w.Cancel(h)
	}
	return c
}

// finish carries out the event done for a reusable timer whose callback returned. If the timer was
// armed again and is due, finish returns the call to run next, and true.
func (s *Shard) finish(h wheel.Handle, now int64) (c call, again bool) {
	s.mu.Lock()
	defer s.unlock()
	e := s.w.Value(h)
	if e == nil {
		return call{}, false
	}
	m := s.move(e, eventDone)
	if m.do != effectRun {
		return call{}, false
	}
	return s.expire(h, e, m, now, s.w.Popped(h), nil, nil), true
}

// prefetchMax is how many entries are read together: about as many cache misses as a processor can
// have in flight.
const prefetchMax = 16

// ahead is the state of a shard's prefetching.
type ahead struct {
	n    int    // how many of the next entries prefetch has read and pop has not reached
	sink uint64 // depends on what prefetch read, so that the loads are not optimized away
}

// prefetch reads what the next callbacks and polls will need: closures and tasks, each of them a
// cache miss or two. Without prefetch these misses come one by one as the callbacks run. Here, those
// of sixteen entries overlap, and a task among a million takes half the time. prefetch returns how
// many entries it read. The caller holds the lock.
func (s *Shard) prefetch() int {
	var buf [prefetchMax]*entry
	var user [prefetchMax]unsafe.Pointer
	var tasks [prefetchMax]*task
	n := 0
	ahead := s.front().Ahead(buf[:0])
	for i, b := range ahead {
		switch b.kind {
		case kindTask:
			tasks[n] = (*task)(b.ptr)
			n++
		case kindGoFunc:
			user[i] = pointer(b.callback())
		default:
			user[i] = b.ptr
		}
	}
	sum := touchTasks(tasks[:n])
	for i := range ahead {
		sum += touch(user[i])
	}
	s.ahead.sink += sum
	return len(ahead)
}

// touchTasks reads the tasks' slots and the values in their bodies. Each is a cache miss, and a value
// is found only through its slot, so touchTasks reads all slots before the first value.
func touchTasks(tasks []*task) (sum uint64) {
	var values [prefetchMax]unsafe.Pointer
	for i, t := range tasks {
		sum += t.word.w.Load() + uint64(t.timer) // the first and the last word: the slot may span two cache lines
		values[i] = (*interfaceWords)(unsafe.Pointer(&t.body)).data
	}
	for i := range tasks {
		sum += touch(values[i])
	}
	return sum
}

const (
	pageSize = 4096 // the real page size is this or a multiple

	// touchSpan is the distance to the second byte that touch reads. A struct that begins near the
	// end of a cache line continues on the next one, which this fetches as well.
	touchSpan = 48
)

// touch reads one or two bytes at p, which usually points to user memory: a closure, a repeat or the
// value in an interface. The result means nothing, because the owner may be writing there at the same
// time. The entry or task refers to p, so the first byte is valid memory. The second byte may belong
// to another object, but it is on the same page, so it can be read.
//
//go:norace
//go:nocheckptr
func touch(p unsafe.Pointer) uint64 {
	if p == nil || sanitized {
		return 0
	}
	sum := *(*uint8)(p)
	if uintptr(p)%pageSize < pageSize-touchSpan {
		sum += *(*uint8)(unsafe.Add(p, touchSpan))
	}
	return uint64(sum)
}
