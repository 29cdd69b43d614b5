package foliot

import (
	"context"
	"errors"
	"runtime"
	"weak"

	"github.com/foliot-go/foliot/internal/engine"
)

var errNoBuffer = errors.New("foliot: Queue.Wait with an empty buffer; pass one with room for at least one value")

// soonestMax limits how many values a Queue or an Expirer examines to find the first deadline.
const soonestMax = 64

// A waiter is a call to Wait that is blocked.
type waiter struct {
	wake chan struct{} // tells the call to look for due values again. Has room for one
}

// Wait moves due values from the queue into buf, in deadline order, and returns how many there are.
// If none is due, it blocks until one is. Wait returns ctx.Err() if ctx ends first, and ErrClosed
// once the runtime is shut down. Values that are due take precedence over ctx: Wait returns them
// even if ctx has ended. It returns an error if buf is empty, and in a synctest bubble that the
// runtime is not part of.
//
// On a manual clock, Wait panics if it would have to block in a callback or a poll, because the
// clock does not move until that callback or poll returns.
func (q *Queue[V]) Wait(ctx context.Context, buf []V) (int, error) {
	if len(buf) == 0 {
		return 0, errNoBuffer
	}
	now, err := q.rt.eng.CheckedNowToBlock()
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

// TryWait is like [Queue.Wait], but does not block: it returns 0 if no value is due or buf is
// empty. It may be called in a callback or a poll, and also works after Shutdown. It may return 0
// in a synctest bubble that the runtime is not part of.
func (q *Queue[V]) TryWait(buf []V) int {
	now, err := q.rt.eng.CheckedNow()
	if err != nil {
		return 0
	}
	q.lock()
	defer q.unlock()
	return q.take(buf, now)
}

// fetch removes values that are due at now. If there are none, it adds joins to the waiters, unless
// joins is nil, and arms the timer if anyone is waiting.
func (q *Queue[V]) fetch(joins *waiter, buf []V, now int64) (n int, err error) {
	q.lock()
	defer q.unlock()
	if q.state.closed {
		return 0, ErrClosed
	}
	if n = q.take(buf, now); n > 0 {
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

// take removes values that are due at now, earliest deadline first. The caller holds the lock.
func (q *Queue[V]) take(buf []V, now int64) (n int) {
	if len(buf) == 0 {
		return 0
	}
	q.w.Rewind(queueTick(now)) // Peek and Drain move the wheel ahead of the clock
	for _, v := range q.w.Advance(queueTick(now)) {
		buf[n] = v
		if n++; n == len(buf) {
			break
		}
	}
	return n
}

// stopWaiting removes me from the waiters. It wakes another one, because there may be more to
// fetch, and me may have received the wake-up for it.
func (q *Queue[V]) stopWaiting(me *waiter) {
	q.lock()
	defer q.unlock()
	for i, w := range q.waiting {
		if w == me {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			break
		}
	}
	switch {
	case len(q.waiting) > 0:
		q.wakeOne()
	case q.timerAt != engine.Never: // the call gave up: nobody is left to wake
		q.timer.Stop()
		q.timerAt = engine.Never
	}
}

// wakeFor makes sure that a waiter fetches a value that was just added: immediately if its deadline
// has passed, otherwise when it comes. The caller holds the lock.
func (q *Queue[V]) wakeFor(due, now int64) {
	switch {
	case len(q.waiting) == 0:
	case due <= now:
		q.wakeOne()
	case due < q.timerAt:
		if err := q.setTimer(); err != nil {
			q.wakeOne() // it will get the same error
		}
	}
}

// setTimer arms the timer for the first deadline in the wheel, unless it is already armed for that
// time or an earlier one. The caller holds the lock.
func (q *Queue[V]) setTimer() error {
	at, ok := q.w.Soonest(soonestMax)
	if !ok {
		return nil
	}
	due := max(queueDue(at), 0) // negative if a value just pushed was overdue at the start
	if due >= q.timerAt {
		return nil
	}
	if q.timer == (engine.Timer{}) {
		// A strong reference in the callback would keep the queue alive, because the timer is freed
		// only once the queue has been collected.
		weakly := weak.Make(q)
		t, err := q.rt.eng.NewQueueTimer(func() {
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
	if !q.timer.ResetTick(q.rt.eng.Ceil(due), -1) {
		return ErrClosed
	}
	return nil
}

// onTimer is the timer's callback.
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
