package foliot

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/foliot-go/foliot/wheel"
)

var errNoBuffer = errors.New("foliot: Queue.Wait with an empty buffer: it would have nowhere to put a value")

// A Queue is a delay queue: values go in with a delay and come out when it is over, in the
// order of their deadlines. It is safe for concurrent use, and has a wheel of its own: values
// without pointers cost the garbage collector nothing.
type Queue[V any] struct {
	rt    *Runtime
	state *queueState

	// What follows belongs to the holder of state.mu.
	w       wheel.Wheel[V]
	overdue overdueValues
	waiting []*waiter // those in Wait, the one that has waited longest first
	timer   Timer     // rings when the first value is due; armed only while somebody waits
	timerAt int64     // when it rings; never: it is not armed
}

// A queueState is the part of a queue that its runtime knows. It is apart, so that the
// runtime does not keep a queue alive that nobody uses any more.
type queueState struct {
	mu     sync.Mutex // the lock of the queue
	n      int        // how many values are in the queue
	closed bool       // the runtime is shut down
}

// queues are the queues of a runtime.
type queues struct {
	mu     sync.Mutex
	all    map[*queueState]struct{}
	closed bool // the runtime is shut down
}

// add enters a queue.
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

// count returns how many values there are in all queues.
func (qs *queues) count() (n int) {
	qs.each(func(q *queueState) { n += q.n })
	return n
}

// close closes all queues, and those that are made later. It returns how many values there
// are: none is added afterwards.
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

// each calls f for each queue, with the lock of that queue held.
func (qs *queues) each(f func(q *queueState)) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for q := range qs.all {
		q.mu.Lock()
		f(q)
		q.mu.Unlock()
	}
}

// A waiter is a call of Wait. It is told to look again through its channel, which has
// room for one.
type waiter struct {
	wake chan struct{}
}

// NewQueue returns an empty queue whose time is that of rt.
func NewQueue[V any](rt *Runtime) *Queue[V] {
	q := &Queue[V]{rt: rt, state: new(queueState), timerAt: never}
	rt.queues.add(q.state)
	runtime.AddCleanup(q, rt.queues.remove, q.state)
	return q
}

// lock locks the queue.
func (q *Queue[V]) lock() {
	q.state.mu.Lock()
}

// unlock notes how many values there are and unlocks the queue.
func (q *Queue[V]) unlock() {
	q.state.n = q.w.Len()
	q.state.mu.Unlock()
}

// Push puts a value in, to come out after d. A negative d means that it is overdue by that
// much: it comes out before those whose deadlines are later.
func (q *Queue[V]) Push(d time.Duration, v V) (wheel.Handle, error) {
	now, err := q.rt.enter()
	if err != nil {
		return 0, err
	}
	due := q.rt.addSigned(now, d)
	q.lock()
	defer q.unlock()
	if q.state.closed {
		return 0, ErrClosed
	}
	var h wheel.Handle
	if at, ok := q.tick(due); ok {
		h = q.w.Schedule(at, v)
	} else {
		h = q.w.Reserve(v)
		q.overdue.add(h, due)
	}
	q.notice(due, now)
	return h, nil
}

// Reset makes a value come out after d from now instead. It returns false if h names no
// value: it has come out or been removed, or never was.
func (q *Queue[V]) Reset(h wheel.Handle, d time.Duration) bool {
	now, err := q.rt.enter()
	if err != nil {
		return false
	}
	due := q.rt.addSigned(now, d)
	q.lock()
	defer q.unlock()
	if q.state.closed || q.w.Value(h) == nil {
		return false
	}
	q.overdue.remove(h)
	if at, ok := q.tick(due); ok {
		q.w.Reschedule(h, at)
	} else {
		q.w.Park(h)
		q.overdue.add(h, due)
	}
	q.notice(due, now)
	return true
}

// tick returns the tick to file a deadline at. It returns false if that is before the present
// of the wheel.
func (q *Queue[V]) tick(due int64) (at wheel.Tick, ok bool) {
	if due < 0 {
		return 0, false
	}
	at = q.rt.ceil(due)
	return at, at >= q.w.Now()
}

// Remove takes a value out before it is due, or before anyone has fetched it. It returns the
// zero V and false if h names none.
func (q *Queue[V]) Remove(h wheel.Handle) (V, bool) {
	q.lock()
	defer q.unlock()
	q.overdue.remove(h)
	return q.w.Cancel(h)
}

// Len returns the number of values in the queue, due or not.
func (q *Queue[V]) Len() int {
	q.lock()
	defer q.unlock()
	return q.w.Len()
}

// Wait fetches values that are due, as many as there are or fit into buf, in the order of
// their deadlines, and returns their number. If none is due, it waits for the first. It
// returns early with the error of ctx when that ends, or with ErrClosed when the runtime
// is shut down. Values that are due are returned even if ctx has ended.
//
// On a manual clock Wait panics if it would have to wait in a callback or a poll: the clock
// does not go on before that has returned.
func (q *Queue[V]) Wait(ctx context.Context, buf []V) (int, error) {
	if len(buf) == 0 {
		return 0, errNoBuffer
	}
	now, err := q.rt.enterToWait()
	if err != nil {
		return 0, err
	}
	if n, err := q.fetch(nil, buf, now); n > 0 || err != nil {
		return n, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	q.rt.mustNotBlock("Queue.Wait")
	me := &waiter{make(chan struct{}, 1)}
	defer q.leave(me)
	for joins := me; ; joins = nil {
		n, err := q.fetch(joins, buf, q.rt.now())
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-me.wake:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-q.rt.done:
			return 0, ErrClosed
		}
	}
}

// fetch takes what is due at the time now. If that is nothing, joins is entered among those
// who wait, unless it is nil, and the timer is set if anybody waits.
func (q *Queue[V]) fetch(joins *waiter, buf []V, now int64) (n int, err error) {
	q.lock()
	defer q.unlock()
	if q.state.closed {
		return 0, ErrClosed
	}
	if n = q.take(buf, q.rt.floor(now)); n > 0 {
		return n, nil
	}
	if joins != nil {
		q.waiting = append(q.waiting, joins)
	}
	if len(q.waiting) == 0 {
		return 0, nil
	}
	return 0, q.setTimer()
}

// take takes values that are due at a tick, by deadline.
func (q *Queue[V]) take(buf []V, now wheel.Tick) (n int) {
	for n < len(buf) {
		item, ok := q.overdue.first()
		if !ok {
			break
		}
		h, at, due := q.w.Peek(now)
		if !due || item.due < q.rt.nanos(at) {
			h = item.h
			q.overdue.remove(h)
		}
		buf[n], _ = q.w.Cancel(h)
		n++
	}
	if n == len(buf) {
		return n
	}
	for _, v := range q.w.Advance(now) {
		buf[n] = v
		if n++; n == len(buf) {
			break
		}
	}
	return n
}

// leave ends the waiting of me. If there may be more to fetch, another is told.
func (q *Queue[V]) leave(me *waiter) {
	q.lock()
	defer q.unlock()
	for i, w := range q.waiting {
		if w == me {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			break
		}
	}
	if len(q.waiting) > 0 {
		q.wakeOne()
	}
}

// expect has those who wait look at a deadline that has been put in: at once if it has
// passed, or else when it comes. The caller holds the lock.
func (q *Queue[V]) notice(due, now int64) {
	switch {
	case len(q.waiting) == 0:
	case due < 0 || q.rt.ceil(due) <= q.rt.floor(now):
		q.wakeOne()
	case due < q.timerAt:
		if err := q.setTimer(); err != nil {
			q.wakeOne() // it finds the same error
		}
	}
}

// setAlarm arms the timer for the first deadline in the wheel. The caller holds the lock.
func (q *Queue[V]) setTimer() error {
	at, ok := q.w.Soonest(updateMax)
	if !ok {
		return nil
	}
	due := q.rt.nanos(at)
	if due >= q.timerAt {
		return nil
	}
	if q.timer == (Timer{}) {
		// The runtime does not keep a queue alive that nobody waits for.
		weakly := weak.Make(q)
		t, err := q.rt.newOwn(func() {
			if q := weakly.Value(); q != nil {
				q.onTimer()
			}
		})
		if err != nil {
			return err
		}
		q.timer = t
		runtime.AddCleanup(q, func(t Timer) { t.Free() }, t)
	}
	q.timerAt = due
	if !q.timer.s.reset(q.timer.h, at, true) {
		return ErrClosed
	}
	return nil
}

// rang is the callback of the timer.
func (q *Queue[V]) onTimer() {
	q.lock()
	defer q.unlock()
	q.timerAt = never
	q.wakeOne()
}

// ring tells the one that has waited longest to look. The caller holds the lock.
func (q *Queue[V]) wakeOne() {
	for _, w := range q.waiting {
		select {
		case w.wake <- struct{}{}:
			return
		default: // told already
		}
	}
}
