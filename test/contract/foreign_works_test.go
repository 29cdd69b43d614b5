package contract_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/wheel"
)

// manyGoroutines is the number of goroutines that use a runtime at the same time. The shard of a
// timer depends on the goroutine, so with so many all shards are used.
const manyGoroutines = 48

// fromManyGoroutines calls fn once on each of manyGoroutines goroutines. All of them exist before
// the first call.
func (f *foreignTest) fromManyGoroutines(fn func()) {
	var alive, returned sync.WaitGroup
	alive.Add(manyGoroutines)
	for range manyGoroutines {
		returned.Go(func() {
			alive.Done()
			alive.Wait()
			fn()
		})
	}
	returned.Wait()
}

// wantWorks checks that the runtime works in its own place.
func (f *foreignTest) wantWorks(t *testing.T) {
	t.Helper()
	before := f.rt.Stats()
	// Tasks are first, since a timer that fires would start a worker, which polls tasks too.
	f.wantTasksWork(t)
	f.wantTimersWork(t)
	f.wantSleepWorks(t)
	f.wantQueuesWork(t)
	f.within(t, "nothing runs", func() bool { return f.rt.Stats().Running == 0 })
	after := f.rt.Stats()
	if after.Armed != before.Armed || after.Slots != before.Slots || after.Tasks != before.Tasks {
		t.Errorf("Armed, Slots, Tasks are %d, %d, %d afterwards, want %d, %d, %d as before",
			after.Armed, after.Slots, after.Tasks, before.Armed, before.Slots, before.Tasks)
	}
	if after.Armed < 0 || after.Slots < 0 || after.Tasks < 0 {
		t.Errorf("Armed, Slots, Tasks are %d, %d, %d, want no negative numbers",
			after.Armed, after.Slots, after.Tasks)
	}
	if n := after.Stopped - before.Stopped; n != manyGoroutines {
		t.Errorf("Stopped has grown by %d, want %d", n, manyGoroutines)
	}
	if n := after.Polls - before.Polls; n != 3*manyGoroutines {
		t.Errorf("Polls has grown by %d, want %d", n, 3*manyGoroutines)
	}
}

// notBefore returns a function that reports a problem if it is called before d has passed.
func (f *foreignTest) notBefore(what string, d time.Duration) func() {
	due := f.now().Add(d)
	return func() {
		if left := due.Sub(f.now()); left > 0 {
			f.problem("%s is %v early, in the place of the runtime", what, left)
		}
	}
}

func (f *foreignTest) wantTimersWork(t *testing.T) {
	t.Helper()
	var oneShots, reset, stopped atomic.Int64
	var mu sync.Mutex
	var timers []foliot.Timer
	f.fromManyGoroutines(func() {
		checkAfterFunc := f.notBefore("AfterFunc", millisecond)
		_, err := f.rt.AfterFunc(millisecond, func() { checkAfterFunc(); oneShots.Add(1) })
		if err != nil {
			f.problem("AfterFunc: %v", err)
		}
		timer, err := f.rt.AfterFunc(hour, func() { f.problem("a stopped timer fires") })
		if err != nil {
			f.problem("AfterFunc: %v", err)
		} else if timer.Stop() && !timer.Stop() {
			stopped.Add(1)
		}
		checkReset := f.notBefore("Reset", millisecond)
		timer, err = f.rt.NewTimer(func() { checkReset(); reset.Add(1) })
		if err != nil || !timer.Reset(millisecond) {
			f.problem("NewTimer: %v, or Reset returns false", err)
		}
		mu.Lock()
		defer mu.Unlock()
		timers = append(timers, timer)
	})
	f.within(t, "AfterFunc fires", func() bool { return oneShots.Load() == manyGoroutines })
	f.within(t, "NewTimer and Reset fire", func() bool { return reset.Load() == manyGoroutines })
	if n := stopped.Load(); n != manyGoroutines {
		t.Errorf("two calls of Stop return true and false for %d timers, want %d",
			n, manyGoroutines)
	}
	for _, timer := range timers {
		if !timer.Free() {
			t.Error("Free returns false")
		}
	}
}

func (f *foreignTest) wantTasksWork(t *testing.T) {
	t.Helper()
	var polls atomic.Int64
	var mu sync.Mutex
	var tasks []foliot.TaskHandle
	f.fromManyGoroutines(func() {
		n := 0
		h, err := f.rt.Spawn(foliot.TaskFunc(func(*foliot.Context) foliot.Status {
			polls.Add(1)
			if n++; n == 3 {
				return foliot.Done
			}
			return foliot.Pending
		}))
		if err != nil {
			f.problem("Spawn: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		tasks = append(tasks, h)
	})
	f.within(t, "the tasks are polled after Spawn", func() bool { return polls.Load() == manyGoroutines })
	for round := int64(2); round <= 3; round++ {
		for _, h := range tasks {
			if !h.Wake() {
				t.Error("Wake returns false")
			}
		}
		f.within(t, "the tasks are polled after Wake", func() bool {
			return polls.Load() == round*manyGoroutines
		})
	}
	for _, h := range tasks {
		f.within(t, "a task is done", func() bool { return !h.Alive() })
	}
}

func (f *foreignTest) wantSleepWorks(t *testing.T) {
	t.Helper()
	var returned atomic.Int64
	for range 8 {
		go func() {
			checkSleep := f.notBefore("Sleep", millisecond)
			if err := f.rt.Sleep(context.Background(), millisecond); err != nil {
				f.problem("Sleep: %v", err)
			}
			checkSleep()
			returned.Add(1)
		}()
	}
	f.within(t, "Sleep returns", func() bool { return returned.Load() == 8 })
}

func (f *foreignTest) wantQueuesWork(t *testing.T) {
	t.Helper()
	q := f.newQueue()
	for _, v := range []int{3, 1, 4, 2} {
		q.push(t, time.Duration(v)*millisecond/2, v)
	}
	q.wantValues(t, 1, 2, 3, 4)
	if n := q.Len(); n != 0 {
		t.Errorf("Len is %d, want 0", n)
	}
}

// A checkedQueue is a queue that knows when its values are due.
type checkedQueue struct {
	*foliot.Queue[int]
	f *foreignTest

	mu  sync.Mutex
	due map[int]dueTime
}

// A dueTime has the earliest and the latest deadline that a value may have.
type dueTime struct{ from, to time.Time }

// newQueue makes a queue in the place where it is called.
func (f *foreignTest) newQueue() *checkedQueue {
	q := &checkedQueue{Queue: foliot.NewQueue[int](f.rt), f: f, due: map[int]dueTime{}}
	f.queues = append(f.queues, q)
	return q
}

// expect says that a value is due after d or later. It is called in the place of the runtime.
func (q *checkedQueue) expect(d time.Duration, v int) {
	q.setDue(v, dueTime{q.f.now().Add(d), q.f.now().Add(100 * hour)})
}

func (q *checkedQueue) setDue(v int, due dueTime) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due[v] = due
}

// push pushes a value in the place of the runtime.
func (q *checkedQueue) push(t *testing.T, d time.Duration, v int) wheel.Handle {
	t.Helper()
	q.expect(d, v)
	from := q.f.now().Add(d)
	h, err := q.Push(d, v)
	if err != nil {
		t.Errorf("Push: %v", err)
	}
	// Deadlines are rounded up to the resolution.
	q.setDue(v, dueTime{from, q.f.now().Add(d + millisecond/10)})
	return h
}

// fetched checks that Wait has not returned a value too early.
func (q *checkedQueue) fetched(v int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if left := q.due[v].from.Sub(q.f.now()); left > 0 {
		q.f.problem("the queue delivers %d %v early", v, left)
	}
}

// wantOrdered checks that got has the values of want, in the order of their deadlines.
func (q *checkedQueue) wantOrdered(t *testing.T, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("the queue delivers %v, want %v", got, want)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, v := range got {
		for _, later := range got[i+1:] {
			if q.due[v].from.After(q.due[later].to) {
				t.Errorf("the queue delivers %v: %d comes before %d, which is due earlier",
					got, v, later)
			}
		}
	}
}

// A queueWaiter is a goroutine that fetches values, in the place of the runtime.
type queueWaiter struct {
	q      *checkedQueue
	cancel context.CancelFunc
	ended  atomic.Bool

	mu  sync.Mutex
	got []int
	err error
}

// wait starts a goroutine that fetches values until end is called.
func (q *checkedQueue) wait() *queueWaiter {
	ctx, cancel := context.WithCancel(context.Background())
	w := &queueWaiter{q: q, cancel: cancel}
	go func() {
		defer w.ended.Store(true)
		buf := make([]int, 2)
		for {
			n, err := q.Wait(ctx, buf)
			w.mu.Lock()
			for _, v := range buf[:n] {
				w.got = append(w.got, v)
				q.fetched(v)
			}
			w.err = err
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return w
}

func (w *queueWaiter) values() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got)
}

// end ends the goroutine and returns the error of Wait.
func (w *queueWaiter) end(t *testing.T) error {
	t.Helper()
	w.cancel()
	w.q.f.within(t, "Queue.Wait returns when its context has ended", w.ended.Load)
	return w.err
}

// wantValues checks that the queue delivers these values in the order of their deadlines, not
// early.
func (q *checkedQueue) wantValues(t *testing.T, want ...int) {
	t.Helper()
	w := q.wait()
	q.f.within(t, "the queue delivers all values", func() bool { return len(w.values()) >= len(want) })
	_ = w.end(t)
	q.wantOrdered(t, w.values(), want...)
}
