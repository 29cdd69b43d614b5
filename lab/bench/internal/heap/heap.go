// Package heap has the timers that a programmer writes first, as a baseline for benchmarks: a priority queue
// from container/heap, a mutex, and one goroutine that sleeps until the first deadline and calls what is due.
package heap

import (
	"container/heap"
	"sync"
	"time"
)

// Timers call functions after a delay. Make them with New. All methods are safe for concurrent use.
type Timers struct {
	mu    sync.Mutex
	queue Queue[func()] // guarded by mu; deadlines are nanoseconds since base
	wake  chan struct{} // holds a token when the first deadline is earlier than the goroutine knows
	done  chan struct{}
	base  time.Time
}

// A Timer is one function to be called. It is armed while it is in the queue.
type Timer = Entry[func()]

// New returns Timers with a goroutine that runs until Close.
func New() *Timers {
	t := &Timers{wake: make(chan struct{}, 1), done: make(chan struct{}), base: time.Now()}
	go t.run()
	return t
}

// Close ends the goroutine. After Close no function is called, except one that is already due.
func (t *Timers) Close() { close(t.done) }

// AfterFunc arms a timer that calls f after d, on the goroutine of the timers.
func (t *Timers) AfterFunc(d time.Duration, f func()) *Timer {
	e := &Timer{value: f, index: -1}
	t.Reset(e, d)
	return e
}

// Reset arms a timer anew, and reports whether it was armed.
func (t *Timers) Reset(e *Timer, d time.Duration) bool {
	at := int64(time.Since(t.base) + d)
	t.mu.Lock()
	armed := e.index >= 0
	if armed {
		t.queue.Move(e, at)
	} else {
		e.at = at
		heap.Push(&t.queue.entries, e)
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

// Stop disarms a timer, and reports whether it was armed.
func (t *Timers) Stop(e *Timer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.index < 0 {
		return false
	}
	t.queue.Remove(e)
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

// fire calls what is due and returns the time until the next deadline, or never.
func (t *Timers) fire(never time.Duration) time.Duration {
	for {
		now := int64(time.Since(t.base))
		t.mu.Lock()
		if len(t.queue.entries) == 0 {
			t.mu.Unlock()
			return never
		}
		if wait := t.queue.entries[0].at - now; wait > 0 {
			t.mu.Unlock()
			return time.Duration(wait)
		}
		e := heap.Pop(&t.queue.entries).(*Timer)
		t.mu.Unlock()
		e.value()
	}
}
