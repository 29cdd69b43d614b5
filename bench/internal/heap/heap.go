// Package heap is the timer that everybody writes first, kept to be raced against: container/heap, a mutex,
// and one goroutine that sleeps until the first deadline and calls what is due.
package heap

import (
	"container/heap"
	"sync"
	"time"
)

// Timers call functions after a delay. Make them with New; all methods are safe for concurrent use.
type Timers struct {
	mu    sync.Mutex
	queue queue         // guarded by mu
	wake  chan struct{} // holds a token when the first deadline is earlier than the goroutine knows
	done  chan struct{}
	base  time.Time
}

// A Timer is one function that is to be called.
type Timer struct {
	at    time.Duration // since base; guarded by mu, as is index
	index int           // place in the queue; -1: it is not armed
	f     func()
}

// New returns timers with a goroutine that runs until Close.
func New() *Timers {
	t := &Timers{wake: make(chan struct{}, 1), done: make(chan struct{}), base: time.Now()}
	go t.run()
	return t
}

// Close ends the goroutine. Nothing is called any more, but for a function that is due right now.
func (t *Timers) Close() { close(t.done) }

// AfterFunc has f called after d, on the goroutine of the timers.
func (t *Timers) AfterFunc(d time.Duration, f func()) *Timer {
	e := &Timer{f: f, index: -1}
	t.Reset(e, d)
	return e
}

// Reset arms a timer anew, and tells whether it was armed.
func (t *Timers) Reset(e *Timer, d time.Duration) bool {
	at := time.Since(t.base) + d
	t.mu.Lock()
	e.at = at
	armed := e.index >= 0
	if armed {
		heap.Fix(&t.queue, e.index)
	} else {
		heap.Push(&t.queue, e)
	}
	first := e.index == 0
	t.mu.Unlock()
	if first {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
	return armed
}

// Stop tells whether the timer was armed, and will not be called.
func (t *Timers) Stop(e *Timer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.index < 0 {
		return false
	}
	heap.Remove(&t.queue, e.index)
	return true
}

func (t *Timers) run() {
	const never = time.Duration(1<<63 - 1)
	sleep := time.NewTimer(never)
	defer sleep.Stop()
	for {
		sleep.Reset(t.fire(never))
		select {
		case <-sleep.C:
		case <-t.wake:
		case <-t.done:
			return
		}
	}
}

// fire calls what is due and returns how long it is until the next, or never.
func (t *Timers) fire(never time.Duration) time.Duration {
	for {
		now := time.Since(t.base)
		t.mu.Lock()
		if len(t.queue) == 0 {
			t.mu.Unlock()
			return never
		}
		if wait := t.queue[0].at - now; wait > 0 {
			t.mu.Unlock()
			return wait
		}
		e := heap.Pop(&t.queue).(*Timer)
		t.mu.Unlock()
		e.f()
	}
}

// A queue is ordered by deadline.
type queue []*Timer

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at < q[j].at }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(x any) {
	e := x.(*Timer)
	e.index = len(*q)
	*q = append(*q, e)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.index = -1
	return e
}
