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

// manyGoroutines is how many goroutines use a runtime at the same time, so that all shards
// are used: the shard depends on the goroutine.
const manyGoroutines = 48

// fromManyGoroutines calls fn once from each of many goroutines, which are all alive when the first call is made.
func (f *foreignTest) fromManyGoroutines(fn func()) {
	var alive, over sync.WaitGroup
	alive.Add(manyGoroutines)
	for range manyGoroutines {
		over.Go(func() {
			alive.Done()
			alive.Wait()
			fn()
		})
	}
	over.Wait()
}

// wantWorks checks that everything works, in the place of the runtime.
func (f *foreignTest) wantWorks(t *testing.T) {
	t.Helper()
	before := f.rt.Stats()
	f.wantTasksWork(t) // first: a timer that fires has its worker poll tasks, too
	f.wantTimersWork(t)
	f.wantSleepWorks(t)
	f.wantQueuesWork(t)
	f.within(t, "nothing runs", func() bool { return f.rt.Stats().Running == 0 })
	after := f.rt.Stats()
	if after.Armed != before.Armed || after.Slots != before.Slots || after.Tasks != before.Tasks {
		t.Errorf("Stats has %d, %d, %d for Armed, Slots, Tasks after the use of the runtime, and %d, %d, %d before",
			after.Armed, after.Slots, after.Tasks, before.Armed, before.Slots, before.Tasks)
	}
	if after.Armed < 0 || after.Slots < 0 || after.Tasks < 0 {
		t.Errorf("Stats has negative numbers: %d, %d, %d", after.Armed, after.Slots, after.Tasks)
	}
	if n := after.Stopped - before.Stopped; n != manyGoroutines {
		t.Errorf("Stats has %d timers stopped, want %d", n, manyGoroutines)
	}
	if n := after.Polls - before.Polls; n != 3*manyGoroutines {
		t.Errorf("Stats has %d polls, want %d", n, 3*manyGoroutines)
	}
}

// notBefore returns a function that notes a problem if it is called before d has passed.
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
	var once, again, stopped atomic.Int64
	var mu sync.Mutex
	var timers []foliot.Timer
	f.fromManyGoroutines(func() {
		early := f.notBefore("AfterFunc", millisecond)
		if _, err := f.rt.AfterFunc(millisecond, func() { early(); once.Add(1) }); err != nil {
			f.problem("AfterFunc: %v", err)
		}
		if timer, err := f.rt.AfterFunc(hour, func() { f.problem("a stopped timer fires") }); err != nil {
			f.problem("AfterFunc: %v", err)
		} else if timer.Stop() && !timer.Stop() {
			stopped.Add(1)
		}
		reset := f.notBefore("Reset", millisecond)
		timer, err := f.rt.NewTimer(func() { reset(); again.Add(1) })
		if err != nil || !timer.Reset(millisecond) {
			f.problem("NewTimer: %v, or Reset returns false", err)
		}
		mu.Lock()
		defer mu.Unlock()
		timers = append(timers, timer)
	})
	f.within(t, "AfterFunc fires", func() bool { return once.Load() == manyGoroutines })
	f.within(t, "NewTimer and Reset fire", func() bool { return again.Load() == manyGoroutines })
	if n := stopped.Load(); n != manyGoroutines {
		t.Errorf("Stop of %d timers returns true and then false, want %d", n, manyGoroutines)
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
	f.within(t, "Spawn is polled", func() bool { return polls.Load() == manyGoroutines })
	for round := int64(2); round <= 3; round++ {
		for _, h := range tasks {
			if !h.Wake() {
				t.Error("Wake returns false")
			}
		}
		f.within(t, "Wake is polled", func() bool { return polls.Load() == round*manyGoroutines })
	}
	for _, h := range tasks {
		f.within(t, "a task is done", func() bool { return !h.Alive() })
	}
}

func (f *foreignTest) wantSleepWorks(t *testing.T) {
	t.Helper()
	var over atomic.Int64
	for range 8 {
		go func() {
			early := f.notBefore("Sleep", millisecond)
			if err := f.rt.Sleep(context.Background(), millisecond); err != nil {
				f.problem("Sleep: %v", err)
			}
			early()
			over.Add(1)
		}()
	}
	f.within(t, "Sleep returns", func() bool { return over.Load() == 8 })
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

// A dueTime is when a value comes out: the earliest time, and the latest if nobody is slow.
type dueTime struct{ from, to time.Time }

// newQueue makes a queue in the place where it is called.
func (f *foreignTest) newQueue() *checkedQueue {
	q := &checkedQueue{Queue: foliot.NewQueue[int](f.rt), f: f, due: map[int]dueTime{}}
	f.queues = append(f.queues, q)
	return q
}

// expect notes that a value comes out after d or later. It is called in the place of the runtime.
func (q *checkedQueue) expect(d time.Duration, v int) {
	q.note(v, dueTime{q.f.now().Add(d), q.f.now().Add(100 * hour)})
}

func (q *checkedQueue) note(v int, due dueTime) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.due[v] = due
}

// push puts a value in, in the place of the runtime.
func (q *checkedQueue) push(t *testing.T, d time.Duration, v int) wheel.Handle {
	t.Helper()
	q.expect(d, v)
	from := q.f.now().Add(d)
	h, err := q.Push(d, v)
	if err != nil {
		t.Errorf("Push: %v", err)
	}
	q.note(v, dueTime{from, q.f.now().Add(d + millisecond/10)}) // it is rounded up to the resolution
	return h
}

// fetched checks that a value has not come out too early.
func (q *checkedQueue) fetched(v int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if left := q.due[v].from.Sub(q.f.now()); left > 0 {
		q.f.problem("the queue delivers %d %v early", v, left)
	}
}

// ordered checks that values have come out in the order of their deadlines, and that they are
// those that are wanted.
func (q *checkedQueue) ordered(t *testing.T, got []int, want ...int) {
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
				t.Errorf("the queue delivers %v: %d comes before %d, which is due earlier", got, v, later)
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

// wantValues checks that the queue delivers these values in this order, and not early.
func (q *checkedQueue) wantValues(t *testing.T, want ...int) {
	t.Helper()
	w := q.wait()
	q.f.within(t, "the queue delivers all values", func() bool { return len(w.values()) >= len(want) })
	_ = w.end(t)
	q.ordered(t, w.values(), want...)
}
