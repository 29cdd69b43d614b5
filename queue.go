package foliot

import (
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
	iwheel "github.com/foliot-go/foliot/internal/wheel"
	"github.com/foliot-go/foliot/wheel"
)

// A Queue is a delay queue: values are pushed with a delay or a deadline, and can be received once
// they are due. Values come out in deadline order, to the nanosecond, including those that were
// already overdue when they were pushed. Values with equal deadlines come out in the order in which
// they were pushed or last reset. A Queue may be used by several goroutines at the same time.
// Values without pointers cost the garbage collector nothing.
//
// [Queue.Wait] receives values that are due, and waits for one if there are none; [Queue.TryWait]
// does not wait. [Queue.Peek] and [Queue.All] inspect values, [Queue.Horizon] counts them by
// deadline, and [Queue.Drain] removes all of them.
//
// After the runtime's Shutdown, Push, PushAt and Wait return ErrClosed, and Reset returns false.
// The other methods keep working, so that no value is lost.
//
// Create a Queue with [NewQueue]. The zero Queue is not usable.
type Queue[V any] struct {
	rt    *Runtime
	state *queueState

	// Protected by state.mu.
	w       iwheel.Wheel[V] // see queueTick. Its time may be before or after the runtime's
	waiting []*waiter       // the calls to Wait that are blocked, oldest first
	timer   engine.Timer    // calls onTimer when the first value is due. Armed when Wait blocks
	timerAt int64           // the deadline of timer; engine.Never: not armed
}

// NewQueue returns an empty queue. It measures delays on rt's clock, and is closed by rt's
// Shutdown. NewQueue panics if rt is nil.
func NewQueue[V any](rt *Runtime) *Queue[V] {
	if rt == nil {
		panic("foliot: NewQueue(nil); make a runtime with New, or use Default")
	}
	q := &Queue[V]{
		rt:      rt,
		state:   new(queueState),
		w:       *iwheel.New[V](queueTick(0), 0),
		timerAt: engine.Never,
	}
	rt.queues.add(q.state)
	runtime.AddCleanup(q, rt.queues.remove, q.state)
	return q
}

// queueTick returns the tick of a deadline, which is in nanoseconds since the runtime's start. A
// tick is a nanosecond, whatever the runtime's resolution, so that the order is exact and a value
// is due as soon as its deadline has passed. Deadlines before the start are negative, so tick 0 is
// 2^63 nanoseconds before the start.
func queueTick(due int64) wheel.Tick { return wheel.Tick(uint64(due) ^ 1<<63) }

// queueDue returns the deadline of a tick.
func queueDue(at wheel.Tick) int64 { return int64(uint64(at) ^ 1<<63) }

// lock locks the queue.
func (q *Queue[V]) lock() {
	q.state.mu.Lock()
}

// unlock updates state.n and unlocks the queue.
func (q *Queue[V]) unlock() {
	q.state.n = q.w.Len()
	q.state.mu.Unlock()
}

// Push adds a value that is due after d. A negative d means that the value has already been due for
// that long, so that it comes out before values with later deadlines. Push returns ErrClosed after
// Shutdown. It may return an error in a synctest bubble that the runtime is not part of.
func (q *Queue[V]) Push(d time.Duration, v V) (wheel.Handle, error) {
	now, err := q.rt.eng.CheckedNow()
	if err != nil {
		return 0, err
	}
	return q.push(q.rt.eng.PastDeadline(now, d), now, v)
}

// PushAt is like [Queue.Push], but takes a point in time, which may be in the past. If at has a
// monotonic clock reading, PushAt uses it. Times more than 292 years before or after the runtime's
// start count as 292 years.
func (q *Queue[V]) PushAt(at time.Time, v V) (wheel.Handle, error) {
	due, now, err := q.rt.eng.DeadlineAt(at)
	if err != nil {
		return 0, err
	}
	return q.push(due, now, v)
}

// push adds a value that is due at due. The current time is now.
func (q *Queue[V]) push(due, now int64, v V) (wheel.Handle, error) {
	q.lock()
	defer q.unlock()
	if q.state.closed {
		return 0, ErrClosed
	}
	q.rewindFor(due, now)
	h := q.w.Schedule(queueTick(due), v)
	q.wakeFor(due, now)
	return h, nil
}

// Reset changes a value's deadline to d from now. A negative d means the same as for Push. Reset
// returns false after Shutdown, and if h names no value in the queue, for example because it was
// received or removed. It may return false in a synctest bubble that the runtime is not part of.
func (q *Queue[V]) Reset(h wheel.Handle, d time.Duration) bool {
	now, err := q.rt.eng.CheckedNow()
	if err != nil {
		return false
	}
	due := q.rt.eng.PastDeadline(now, d)
	q.lock()
	defer q.unlock()
	if q.state.closed || q.w.Value(h) == nil {
		return false
	}
	q.rewindFor(due, now)
	q.w.Reschedule(h, queueTick(due))
	q.wakeFor(due, now)
	return true
}

// rewindFor moves the wheel back if it is past the deadline due, because a wheel arms nothing
// before its own time. If Peek or Drain moved the wheel ahead of now, it goes back to now, so that
// the next values need no rewind. The caller holds the lock.
func (q *Queue[V]) rewindFor(due, now int64) {
	if queueTick(due) < q.w.Now() {
		q.w.Rewind(queueTick(min(due, now)))
	}
}

// Remove removes a value from the queue, due or not, and returns it. It returns the zero V and
// false if h names no value in the queue.
func (q *Queue[V]) Remove(h wheel.Handle) (V, bool) {
	q.lock()
	defer q.unlock()
	return q.w.Cancel(h)
}

// Len returns the number of values in the queue, due or not.
func (q *Queue[V]) Len() int {
	q.lock()
	defer q.unlock()
	return q.w.Len()
}

// Peek returns the next value to be received, due or not, and its deadline, without removing it. It
// returns false if the queue is empty. It also works after Shutdown.
//
// Another goroutine may receive or remove the value at any time, so a caller that then receives a
// value may get a different one, or none.
func (q *Queue[V]) Peek() (at time.Time, v V, ok bool) {
	q.lock()
	defer q.unlock()
	h, tick, ok := q.first()
	if !ok {
		return time.Time{}, v, false
	}
	return q.time(tick), *q.w.Value(h), true
}

// first returns the value with the earliest deadline, due or not, or false if the queue is empty.
// It moves the wheel to that deadline, which may be ahead of the runtime's clock. The caller holds
// the lock.
func (q *Queue[V]) first() (h wheel.Handle, at wheel.Tick, ok bool) {
	for {
		next, ok := q.w.Next()
		if !ok {
			return 0, 0, false
		}
		if h, at, ok := q.w.Peek(next); ok {
			return h, at, true
		}
	}
}

// time returns the time of a tick.
func (q *Queue[V]) time(at wheel.Tick) time.Time {
	return q.rt.eng.Time(queueDue(at))
}

// All returns an iterator over the values in the queue, due or not, and their deadlines, in no
// particular order. The values stay in the queue. All also works after Shutdown.
//
// The loop body may call any method of the queue, and so may other goroutines during the loop. A
// value that stays in the queue is yielded once. A value pushed during the loop is yielded once or
// not at all, and a value removed before its turn is not yielded.
func (q *Queue[V]) All() iter.Seq2[time.Time, V] {
	return func(yield func(time.Time, V) bool) {
		q.lock()
		defer q.unlock()
		for h, v := range q.w.All() {
			if at, _ := q.w.Entry(h); !q.yield(yield, at, v) {
				return
			}
		}
	}
}

// Drain returns an iterator that removes all values from the queue, due or not, in deadline order.
// It yields the deadline and the value, which has already left the queue. After a break the
// remaining values stay in the queue. Drain also works after Shutdown, for a program that saves
// what it did not get to.
//
// The loop body may call any method of the queue, and so may other goroutines during the loop. A
// value pushed during the loop takes its place among those that are left, so a loop whose body
// pushes a value for each one it gets does not end.
func (q *Queue[V]) Drain() iter.Seq2[time.Time, V] {
	return func(yield func(time.Time, V) bool) {
		q.lock()
		defer q.unlock()
		for {
			h, at, ok := q.first()
			if !ok {
				return
			}
			if v, _ := q.w.Cancel(h); !q.yield(yield, at, v) {
				return
			}
		}
	}
}

// yield calls an iterator's yield function without the lock. The caller holds the lock, and gets it
// back even if the loop body panics or calls Goexit.
func (q *Queue[V]) yield(yield func(time.Time, V) bool, at wheel.Tick, v V) bool {
	q.unlock()
	defer q.lock()
	return yield(q.time(at), v)
}

// queues holds a runtime's queues. Its lock is acquired before a queue's.
type queues struct {
	mu     sync.Mutex
	all    map[*queueState]struct{}
	closed bool // the runtime is shut down
}

// A queueState is the part of a queue that its runtime refers to. The runtime does not refer to the
// queue itself, so that an unused queue can be garbage collected.
type queueState struct {
	mu     sync.Mutex // the queue's lock
	n      int        // values in the queue. Protected by mu
	closed bool       // the runtime is shut down. Protected by mu
}

// add adds a new queue.
func (qs *queues) add(q *queueState) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.all == nil {
		qs.all = map[*queueState]struct{}{}
	}
	qs.all[q] = struct{}{}
	q.closed = qs.closed
}

func (qs *queues) remove(q *queueState) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	delete(qs.all, q)
}

// count returns the number of values in all queues.
func (qs *queues) count() (n int) {
	qs.each(func(q *queueState) { n += q.n })
	return n
}

// close closes all queues, including those that are created later. It returns the number of values
// in all queues, to which none is added afterwards.
func (qs *queues) close() (n int) {
	qs.mu.Lock()
	qs.closed = true
	qs.mu.Unlock()
	qs.each(func(q *queueState) {
		n += q.n
		q.closed = true
	})
	return n
}

// each calls f for each queue, with that queue's lock held.
func (qs *queues) each(f func(q *queueState)) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for q := range qs.all {
		q.mu.Lock()
		f(q)
		q.mu.Unlock()
	}
}
