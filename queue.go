package foliot

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/foliot-go/foliot/internal/engine"
	"github.com/foliot-go/foliot/wheel"
)

var errNoBuffer = errors.New("foliot: Queue.Wait with an empty buffer; pass one with room for at least one value")

// soonestMax bounds how many values setTimer looks at for the first deadline.
const soonestMax = 64

// A Queue is a delay queue. A value is pushed with a delay and can be fetched when the delay
// is over. Values are fetched in the order of their deadlines. A Queue may be used by several
// goroutines at the same time. It keeps its values in a separate wheel, so values without
// pointers cost the garbage collector nothing.
type Queue[V any] struct {
	rt    *Runtime
	state *queueState

	// These are protected by state.mu.
	w       wheel.Wheel[V]
	overdue overdueValues
	waiting []*waiter    // the calls of Wait that wait, the oldest first
	timer   engine.Timer // calls onTimer when the first value is due. Armed only if a call of Wait waits
	timerAt int64        // the deadline of timer; engine.Never: it is not armed
}

// A queueState is the part of a queue that its runtime holds. The runtime does not hold the
// queue itself, so a queue that is not used any more can be collected.
type queueState struct {
	mu     sync.Mutex // the lock of the queue
	n      int        // values in the queue. Protected by mu
	closed bool       // the runtime is shut down. Protected by mu
}

// queues has the queues of a runtime. Its lock is taken before the lock of a queue.
type queues struct {
	mu     sync.Mutex
	all    map[*queueState]struct{}
	closed bool // the runtime is shut down
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

// A waiter is a call of Wait that waits.
type waiter struct {
	wake chan struct{} // a value makes the call look for due values again. Has room for one
}

// NewQueue returns an empty queue. Its delays are measured by the clock of rt, and Shutdown of
// rt closes it.
func NewQueue[V any](rt *Runtime) *Queue[V] {
	q := &Queue[V]{rt: rt, state: new(queueState), timerAt: engine.Never}
	rt.queues.add(q.state)
	runtime.AddCleanup(q, rt.queues.remove, q.state)
	return q
}

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
	due := q.rt.eng.AddSigned(now, d)
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
	q.overdue.remove(h)
	if at, ok := q.tick(due); ok {
		q.w.Reschedule(h, at)
	} else {
		q.w.Park(h)
		q.overdue.add(h, due)
	}
	q.wakeFor(due, now)
	return true
}

// tick returns the tick of a deadline. It returns false if that tick is before the current
// tick of the wheel.
func (q *Queue[V]) tick(due int64) (at wheel.Tick, ok bool) {
	if due < 0 {
		return 0, false
	}
	at = q.rt.eng.Ceil(due)
	return at, at >= q.w.Now()
}

// Remove removes a value from the queue, due or not, and returns it. It returns the zero V and
// false if h names no value of the queue.
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

// Wait removes values that are due from the queue and stores them in buf, in the order of
// their deadlines. It returns their number. If no value is due, it waits for the first one. It
// stops waiting with the error of ctx when ctx ends, and with ErrClosed when the runtime is
// shut down. If values are due, Wait returns them even if ctx has ended. It returns an error
// if buf is empty, and in a synctest bubble that the runtime is not part of.
//
// On a manual clock, Wait panics if no value is due and it is called in a callback or a poll:
// the clock does not move until that callback or poll has returned.
func (q *Queue[V]) Wait(ctx context.Context, buf []V) (int, error) {
	if len(buf) == 0 {
		return 0, errNoBuffer
	}
	now, err := q.rt.eng.EnterToWait()
	if err != nil {
		return 0, err
	}
	if n, err := q.fetch(nil, buf, now); n > 0 || err != nil {
		return n, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	q.rt.eng.MustNotBlock("Queue.Wait")
	me := &waiter{make(chan struct{}, 1)}
	defer q.stopWaiting(me)
	for joins := me; ; joins = nil {
		n, err := q.fetch(joins, buf, q.rt.eng.Now())
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-me.wake:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-q.rt.eng.Done():
			return 0, ErrClosed
		}
	}
}

// fetch removes values that are due at the time now. If there are none, it adds joins to the
// waiters, unless joins is nil, and arms the timer if there are waiters.
func (q *Queue[V]) fetch(joins *waiter, buf []V, now int64) (n int, err error) {
	q.lock()
	defer q.unlock()
	if q.state.closed {
		return 0, ErrClosed
	}
	if n = q.take(buf, q.rt.eng.Floor(now)); n > 0 {
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

// take removes values that are due at a tick, the earliest deadline first. The caller holds
// the lock.
func (q *Queue[V]) take(buf []V, now wheel.Tick) (n int) {
	for n < len(buf) {
		item, ok := q.overdue.first()
		if !ok {
			break
		}
		h, at, due := q.w.Peek(now)
		if !due || item.due < q.rt.eng.Nanos(at) {
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

// stopWaiting removes me from the waiters. It wakes another one: there may be more to fetch, and me
// may have been woken for it.
func (q *Queue[V]) stopWaiting(me *waiter) {
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

// wakeFor makes sure that a waiter looks for a deadline that was just added: at once if it has
// passed, otherwise when it comes. The caller holds the lock.
func (q *Queue[V]) wakeFor(due, now int64) {
	switch {
	case len(q.waiting) == 0:
	case due < 0 || q.rt.eng.Ceil(due) <= q.rt.eng.Floor(now):
		q.wakeOne()
	case due < q.timerAt:
		if err := q.setTimer(); err != nil {
			q.wakeOne() // it will get the same error
		}
	}
}

// setTimer arms the timer for the first deadline in the wheel, unless it is armed for that
// time or an earlier one. The caller holds the lock.
func (q *Queue[V]) setTimer() error {
	at, ok := q.w.Soonest(soonestMax)
	if !ok {
		return nil
	}
	due := q.rt.eng.Nanos(at)
	if due >= q.timerAt {
		return nil
	}
	if q.timer == (engine.Timer{}) {
		// A strong reference in the callback would keep the queue alive: the timer is freed
		// only when the queue has been collected.
		weakly := weak.Make(q)
		t, err := q.rt.eng.NewInternalTimer(func() {
			if q := weakly.Value(); q != nil {
				q.onTimer()
			}
		})
		if err != nil {
			return err
		}
		q.timer = t
		runtime.AddCleanup(q, func(t engine.Timer) { t.Free() }, t)
	}
	q.timerAt = due
	if !q.timer.ResetTick(at) {
		return ErrClosed
	}
	return nil
}

// onTimer is the callback of the timer.
func (q *Queue[V]) onTimer() {
	q.lock()
	defer q.unlock()
	q.timerAt = engine.Never
	q.wakeOne()
}

// wakeOne wakes the oldest waiter that has not been woken yet. The caller holds the lock.
func (q *Queue[V]) wakeOne() {
	for _, w := range q.waiting {
		select {
		case w.wake <- struct{}{}:
			return
		default: // woken already
		}
	}
}
