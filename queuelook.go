package foliot

import (
	"iter"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

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
