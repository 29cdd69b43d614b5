package foliot

import (
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/engine"
	"github.com/foliot-go/foliot/wheel"
)

// A Queue is a delay queue. A value is pushed with a delay or a deadline and can be fetched when
// it is due. Values are fetched in the order of their deadlines, to the nanosecond. Values with
// equal deadlines are fetched in the order in which they were pushed or last reset. That holds
// for values that are overdue when they are pushed, too. A Queue may be used by several
// goroutines at the same time. It keeps its values in a separate wheel, so values without
// pointers cost the garbage collector nothing.
//
// [Queue.Wait] waits for values that are due and fetches them. [Queue.TryWait] does not wait.
// [Queue.Peek] and [Queue.All] look at values, [Queue.Horizon] counts them by when they are due, and
// [Queue.Drain] removes all of them.
//
// After Shutdown of the runtime Push, PushAt and Wait return ErrClosed, and Reset returns false.
// The other methods work as before, so that no value is lost.
//
// Make a Queue with [NewQueue]. The zero Queue cannot be used.
type Queue[V any] struct {
	rt    *Runtime
	state *queueState

	// These are protected by state.mu.
	w       wheel.Wheel[V] // see tickOf. Its time may be before or after that of the runtime
	waiting []*waiter      // the calls of Wait that wait, the oldest first
	timer   engine.Timer   // calls onTimer when the first value is due. Armed only if a call of Wait waits
	timerAt int64          // the deadline of timer; engine.Never: it is not armed
}

// NewQueue returns an empty queue. Its delays are measured by the clock of rt, and Shutdown of
// rt closes it. NewQueue panics if rt is nil.
func NewQueue[V any](rt *Runtime) *Queue[V] {
	if rt == nil {
		panic("foliot: NewQueue(nil); make a runtime with New, or use Default")
	}
	q := &Queue[V]{
		rt:      rt,
		state:   new(queueState),
		w:       *wheel.New[V](tickOf(0), 0),
		timerAt: engine.Never,
	}
	rt.queues.add(q.state)
	runtime.AddCleanup(q, rt.queues.remove, q.state)
	return q
}

// tickOf returns the tick of a deadline, which is in nanoseconds since the start of the runtime.
// A tick is a nanosecond, whatever the resolution of the runtime is: so the order is exact, and a
// value is due at once if its deadline has passed. Deadlines before the start are negative, so
// tick 0 is 2^63 nanoseconds before the start.
func tickOf(due int64) wheel.Tick { return wheel.Tick(uint64(due) ^ 1<<63) }

// dueOf returns the deadline of a tick.
func dueOf(at wheel.Tick) int64 { return int64(uint64(at) ^ 1<<63) }

// lock locks the queue.
func (q *Queue[V]) lock() {
	q.state.mu.Lock()
}

// unlock updates state.n and unlocks the queue.
func (q *Queue[V]) unlock() {
	q.state.n = q.w.Len()
	q.state.mu.Unlock()
}

// Push adds a value that is due after d. A negative d means that the value has been due for
// that long: it comes before values with later deadlines. Push returns ErrClosed after
// Shutdown. It may return an error in a synctest bubble that the runtime is not part of.
func (q *Queue[V]) Push(d time.Duration, v V) (wheel.Handle, error) {
	now, err := q.rt.eng.Enter()
	if err != nil {
		return 0, err
	}
	return q.push(q.rt.eng.AddSigned(now, d), now, v)
}

// PushAt adds a value that is due at the time at, which may have passed: then the value comes
// before values with later deadlines. Otherwise it is like [Queue.Push]. If at has a monotonic
// reading, PushAt uses it. Times of more than 292 years before or after the start of the runtime
// count as 292 years.
func (q *Queue[V]) PushAt(at time.Time, v V) (wheel.Handle, error) {
	due, now, err := q.rt.eng.AtSigned(at)
	if err != nil {
		return 0, err
	}
	return q.push(due, now, v)
}

// push adds a value that is due at the time due. The time is now.
func (q *Queue[V]) push(due, now int64, v V) (wheel.Handle, error) {
	q.lock()
	defer q.unlock()
	if q.state.closed {
		return 0, ErrClosed
	}
	q.rewindFor(due, now)
	h := q.w.Schedule(tickOf(due), v)
	q.wakeFor(due, now)
	return h, nil
}

// Reset changes the deadline of a value to d from now. A negative d has the same meaning as
// for Push. Reset returns false if h names no value of the queue, for example because the
// value was fetched or removed. It also returns false after Shutdown. It may return false in a
// synctest bubble that the runtime is not part of.
func (q *Queue[V]) Reset(h wheel.Handle, d time.Duration) bool {
	now, err := q.rt.eng.Enter()
	if err != nil {
		return false
	}
	due := q.rt.eng.AddSigned(now, d)
	q.lock()
	defer q.unlock()
	if q.state.closed || q.w.Value(h) == nil {
		return false
	}
	q.rewindFor(due, now)
	q.w.Reschedule(h, tickOf(due))
	q.wakeFor(due, now)
	return true
}

// rewindFor moves the wheel back if it has passed the deadline due, so that a value can be armed for
// it: the wheel arms nothing before its time. Peek and Drain may have moved the wheel ahead of the
// time now. Then it goes back to now, so that the next values need no rewind. The caller holds the
// lock.
func (q *Queue[V]) rewindFor(due, now int64) {
	if tickOf(due) < q.w.Now() {
		q.w.Rewind(tickOf(min(due, now)))
	}
}

// Remove removes a value from the queue, due or not, and returns it. It returns the zero V and
// false if h names no value of the queue.
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

// Peek returns the value that is fetched next, due or not, and its deadline. It leaves the value
// in the queue. It returns false if the queue is empty. It works after Shutdown, too.
//
// Another goroutine may fetch or remove the value at any time. So a program that fetches the
// value afterwards may get another one, or none.
func (q *Queue[V]) Peek() (at time.Time, v V, ok bool) {
	q.lock()
	defer q.unlock()
	h, tick, ok := q.first()
	if !ok {
		return time.Time{}, v, false
	}
	return q.time(tick), *q.w.Value(h), true
}

// first returns the value with the earliest deadline, due or not, and false if the queue is
// empty. It moves the wheel to that deadline, which may be after the time of the runtime. The
// caller holds the lock.
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
	return q.rt.eng.Time(dueOf(at))
}

// All returns an iterator over the values in the queue, due or not, in no particular order. It
// yields the deadline of a value and the value, and leaves the value in the queue. It works
// after Shutdown, too.
//
// The loop body may call all methods of the queue, and so may other goroutines during the loop.
// A value that stays in the queue is yielded once. A value that is pushed during the loop is
// yielded once or not at all, and a value that is removed before its turn is not yielded.
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

// Drain returns an iterator that removes all values from the queue, due or not, in the order of
// their deadlines. It yields the deadline of a value and the value, which has left the queue by
// then. After a break the other values stay in the queue. Drain works after Shutdown, too: with
// it a program saves what it could not work off.
//
// The loop body may call all methods of the queue, and so may other goroutines during the loop.
// A value that is pushed during the loop takes its place among the values that are left. So a
// loop whose body pushes a value for each one that it gets does not end.
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

// yield calls the function yield of an iterator without the lock. The caller holds the lock, and
// holds it again afterwards, also if the loop body panics or calls Goexit.
func (q *Queue[V]) yield(yield func(time.Time, V) bool, at wheel.Tick, v V) bool {
	q.unlock()
	defer q.lock()
	return yield(q.time(at), v)
}

// queues has the queues of a runtime. Its lock is taken before the lock of a queue.
type queues struct {
	mu     sync.Mutex
	all    map[*queueState]struct{}
	closed bool // the runtime is shut down
}

// A queueState is the part of a queue that its runtime holds. The runtime does not hold the
// queue itself, so a queue that is not used any more can be collected.
type queueState struct {
	mu     sync.Mutex // the lock of the queue
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

// close closes all queues. Queues that are made later are closed from the start. It returns
// the number of values in all queues. No value is added afterwards.
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

// each calls f for each queue. It holds the lock of that queue meanwhile.
func (qs *queues) each(f func(q *queueState)) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for q := range qs.all {
		q.mu.Lock()
		f(q)
		q.mu.Unlock()
	}
}
