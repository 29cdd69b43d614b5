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
	rt *Runtime

	mu      sync.Mutex
	w       wheel.Wheel[V]
	waiting []*waiter // those in Wait, the one who has waited longest first
	timer   Timer     // rings when the first value is due; armed only while somebody waits
	alarm   int64     // when it rings; never: it is not armed
}

// A waiter is a call of Wait. It is told to look again through its channel, which has
// room for one.
type waiter struct {
	look chan struct{}
}

// NewQueue returns an empty queue whose time is that of rt.
func NewQueue[V any](rt *Runtime) *Queue[V] {
	return &Queue[V]{rt: rt, alarm: never}
}

// Push puts a value in, to come out after d.
func (q *Queue[V]) Push(d time.Duration, v V) (wheel.Handle, error) {
	due, err := q.rt.after(d)
	if err != nil {
		return 0, err
	}
	if q.rt.closed.Load() {
		return 0, ErrClosed
	}
	at := q.rt.ceil(due)
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.w.Schedule(at, v)
	q.expect(q.rt.nanos(at))
	return h, nil
}

// Reset makes a value come out after d from now instead. It answers false if h names no
// value: it has come out or been removed, or never was.
func (q *Queue[V]) Reset(h wheel.Handle, d time.Duration) bool {
	due, err := q.rt.after(d)
	if err != nil || q.rt.closed.Load() {
		return false
	}
	at := q.rt.ceil(due)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.w.Reschedule(h, at) {
		return false
	}
	q.expect(q.rt.nanos(at))
	return true
}

// Remove takes a value out before it is due, or before anyone has fetched it. It answers
// false, and the zero V, if h names none.
func (q *Queue[V]) Remove(h wheel.Handle) (V, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.w.Cancel(h)
}

// Len returns the number of values in the queue, due or not.
func (q *Queue[V]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.w.Len()
}

// Wait fetches values that are due, as many as there are or fit into buf, in the order of
// their deadlines, and returns their number. If none is due, it waits for the first. It
// returns early with the error of ctx when that ends, or with ErrClosed when the runtime
// is shut down.
func (q *Queue[V]) Wait(ctx context.Context, buf []V) (int, error) {
	if len(buf) == 0 {
		return 0, errNoBuffer
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	me := &waiter{make(chan struct{}, 1)}
	defer q.leave(me)
	for first := true; ; first = false {
		n, err := q.fetch(me, buf, first)
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-me.look:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-q.rt.done:
			return 0, ErrClosed
		}
	}
}

// fetch takes what is due. If that is nothing, it makes sure that somebody rings the one
// who waits.
func (q *Queue[V]) fetch(me *waiter, buf []V, join bool) (n int, err error) {
	if q.rt.closed.Load() {
		return 0, ErrClosed
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, v := range q.w.Advance(q.rt.floor(q.rt.now())) {
		buf[n] = v
		if n++; n == len(buf) {
			break
		}
	}
	if n > 0 {
		return n, nil
	}
	if join {
		q.waiting = append(q.waiting, me)
	}
	return 0, q.setAlarm()
}

// leave ends the waiting of me. If there may be more to fetch, another is told.
func (q *Queue[V]) leave(me *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w == me {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			break
		}
	}
	if len(q.waiting) > 0 {
		q.ring()
	}
}

// expect has those who wait look at a deadline that has been put in. The caller holds the
// lock.
func (q *Queue[V]) expect(due int64) {
	if len(q.waiting) > 0 && due < q.alarm {
		if err := q.setAlarm(); err != nil {
			q.ring() // it finds the same error
		}
	}
}

// setAlarm arms the timer for the first deadline. The caller holds the lock.
func (q *Queue[V]) setAlarm() error {
	at, ok := q.w.Soonest(settleMax)
	if !ok {
		return nil
	}
	due := q.rt.nanos(at)
	if due >= q.alarm {
		return nil
	}
	if q.timer == (Timer{}) {
		// The runtime does not keep a queue alive that nobody waits for.
		weakly := weak.Make(q)
		t, err := q.rt.newOwn(func() {
			if q := weakly.Value(); q != nil {
				q.rang()
			}
		})
		if err != nil {
			return err
		}
		q.timer = t
		runtime.AddCleanup(q, func(t Timer) { t.Free() }, t)
	}
	q.alarm = due
	if !q.timer.s.reset(q.timer.h, at) {
		return ErrClosed
	}
	return nil
}

// rang is the callback of the timer.
func (q *Queue[V]) rang() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.alarm = never
	q.ring()
}

// ring tells the one who has waited longest to look. The caller holds the lock.
func (q *Queue[V]) ring() {
	for _, w := range q.waiting {
		select {
		case w.look <- struct{}{}:
			return
		default: // told already
		}
	}
}
