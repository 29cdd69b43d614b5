package engine

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/wheel"
)

// A testSource is a Source whose items are functions. Its list of ready items has its own lock.
type testSource struct {
	s     *Shard
	count int // protected by the lock of the shard

	mu    sync.Mutex
	ready []*testItem
}

// A testItem is an item of a testSource.
type testItem struct {
	src    *testSource
	f      func(it *testItem)
	timer  wheel.Handle // protected by the lock of the shard
	queued bool         // it is in ready. Protected by testSource.mu
}

// newItem makes an item in an open shard. It is not ready.
func newItem(t testing.TB, eng *Engine, f func(it *testItem)) *testItem {
	t.Helper()
	s := eng.LockShard()
	defer s.Unlock()
	if err := s.RefusesItems(); err != nil {
		t.Fatal(err)
	}
	if s.Source() == nil {
		s.SetSource(&testSource{s: s})
	}
	src := s.Source().(*testSource)
	src.count++
	return &testItem{src: src, f: f}
}

// wake makes the item ready.
func (it *testItem) wake() {
	if it.src.push(it) {
		it.src.s.Announce()
	}
}

// wakeAfter arms the timer of the item.
func (it *testItem) wakeAfter(d time.Duration) {
	s := it.src.s
	at := s.eng.Ceil(s.eng.Add(s.eng.Now(), d))
	s.Lock()
	if it.timer == 0 {
		it.timer = s.NewItemTimer(unsafe.Pointer(it))
	}
	early := s.ArmItem(it.timer, at)
	s.Unlock()
	if early {
		s.Notify(at)
	}
}

// push adds an item to the ready list, and reports whether Announce must be called.
func (src *testSource) push(it *testItem) (announce bool) {
	src.mu.Lock()
	defer src.mu.Unlock()
	if it.queued {
		return false
	}
	it.queued = true
	src.ready = append(src.ready, it)
	return src.s.Ready.Inbox.Swap(1) == 0
}

// pop takes the first ready item, or returns nil.
func (src *testSource) pop() *testItem {
	src.mu.Lock()
	defer src.mu.Unlock()
	if len(src.ready) == 0 {
		return nil
	}
	it := src.ready[0]
	it.queued = false
	if src.ready = src.ready[1:]; len(src.ready) == 0 {
		src.s.Ready.Inbox.Store(0)
	}
	return it
}

// testWork is the Work of a testSource.
type testWork struct{ running *testItem }

// abandoned counts how often Abandon was called while an item was running.
var abandoned atomic.Int64

func (w *testWork) Abandon(t *Turn) {
	if w.running != nil {
		w.running = nil
		t.Ended()
		abandoned.Add(1)
	}
}

func (src *testSource) Run(t *Turn, limit int, now int64) {
	work, _ := t.Work.(*testWork)
	if work == nil {
		work = new(testWork)
		t.Work = work
	}
	for range limit {
		if !t.Mine() {
			return
		}
		it := src.pop()
		if it == nil {
			return
		}
		t.Took(src.s)
		t.Count(1)
		work.running = it
		it.f(it)
		work.running = nil
		t.Ended()
	}
}

func (src *testSource) Expired(items []unsafe.Pointer) (announce bool) {
	for _, p := range items {
		if src.push((*testItem)(p)) {
			announce = true
		}
	}
	return announce
}

func (src *testSource) Prefetch([]unsafe.Pointer) {}

func (src *testSource) Len() int { return src.count }

func (src *testSource) Close() { src.count = 0 }

func (src *testSource) Name(reflect.Type) string { return "testItem" }

func (src *testSource) Body(item unsafe.Pointer) any { return (*testItem)(item) }

func (src *testSource) NameOf(any) string { return "testItem" }

func TestItemsRunWhenTheyAreWokenAndWhenTheirTimersExpire(t *testing.T) {
	eng, err := New(Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	const items, rounds = 100, 20
	var runs, early atomic.Int64
	done := make(chan struct{})
	for i := range items {
		n, due := 0, int64(0)
		it := newItem(t, eng, func(it *testItem) {
			if eng.Now() < due {
				early.Add(1)
			}
			if runs.Add(1) == items*rounds {
				close(done)
			}
			if n++; n == rounds {
				return
			}
			if (n+i)%2 == 0 {
				it.wake()
				return
			}
			d := time.Duration(i%7) * time.Millisecond
			due = eng.Now() + int64(d)
			it.wakeAfter(d)
		})
		it.wake()
	}
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%d items were run, want %d", runs.Load(), items*rounds)
	}
	if n := early.Load(); n > 0 {
		t.Errorf("%d items were run early, want none", n)
	}
	st := eng.Stats()
	if st.ItemsRun < items*rounds-itemBatch || st.Items != items || st.Slots != 0 {
		t.Errorf("Stats has %d items run, %d items and %d slots, want %d, %d and none",
			st.ItemsRun, st.Items, st.Slots, items*rounds, items)
	}
	if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
		t.Error(err)
	}
	if n := eng.Stats().Items; n != 0 {
		t.Errorf("Stats has %d items after Shutdown, want none", n)
	}
}

func TestAnItemThatEndsItsGoroutineIsAbandonedAndTheOthersRun(t *testing.T) {
	var panics atomic.Int64
	for _, end := range []struct {
		name string
		do   func()
	}{
		{"panic", func() { panic("on purpose") }},
		{"Goexit", runtime.Goexit},
	} {
		t.Run(end.name, func(t *testing.T) {
			eng, err := New(Config{Workers: 1, OnPanic: func(any, []byte) { panics.Add(1) }})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			w := (*eng.workers.Load())[0]
			claim := w.claim(eng.Now(), 0) // so that both items are ready before one is run
			first := newItem(t, eng, func(*testItem) { end.do() })
			second := newItem(t, eng, func(*testItem) { close(done) })
			first.wake()
			second.wake()
			w.release(claim)
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("the second item was not run in 20 seconds")
			}
			if n := abandoned.Swap(0); n != 1 {
				t.Errorf("%d items were abandoned, want 1", n)
			}
			if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
				t.Error(err)
			}
		})
	}
	if panics.Load() != 1 {
		t.Errorf("OnPanic was called %d times, want once", panics.Load())
	}
}

// The worker has several shards, and each of them always has a ready item.
func TestAWorkerRunsTheItemsOfAllItsShards(t *testing.T) {
	eng, err := New(Config{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Shutdown(t.Context(), func() int { return 0 })
	if err := eng.Resize(1); err != nil {
		t.Fatal(err)
	}
	w := (*eng.workers.Load())[0]
	claim := w.claim(eng.Now(), 0)
	runs := make([]int, len(w.shards))
	for i, s := range w.shards {
		eng.openShards.Store(&[]*Shard{s})
		newItem(t, eng, func(it *testItem) {
			runs[i]++
			it.wake()
		}).wake()
	}
	w.run(runMode{claim: claim, span: int64(20 * time.Millisecond)})
	for i, n := range runs {
		if n == 0 {
			t.Errorf("no item of shard %d of %d was run: %v", i, len(runs), runs)
		}
	}
}
