package engine

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// The test does everything that can happen to adopted shards, in random order.
func TestAdoptedShardsAreFoundWhateverHappens(t *testing.T) {
	const most = 12
	eng := newHarness(true).eng
	if err := eng.Resize(most); err != nil {
		t.Fatal(err)
	}
	for _, w := range *eng.workers.Load() {
		w.busy.Store(probeClaim) // so that only this test runs it
	}
	r := rand.New(rand.NewPCG(1, 2))
	timers := make([]Timer, 60)
	items := make([]*testItem, 60)
	ran, itemsRun := 0, 0
	for i := range timers {
		all := *eng.shards.Load()
		eng.openShards.Store(&[]*Shard{all[i%len(all)]})
		timers[i], _ = eng.NewTimer(func() { ran++ })
		items[i] = newItem(t, eng, func(*testItem) { itemsRun++ })
	}
	for step := range 20000 {
		op := ""
		switch i := r.IntN(len(timers)); r.IntN(8) {
		case 0, 1:
			op = "lower or raise"
			timers[i].Reset(time.Duration(r.IntN(20)) * harnessTick)
		case 2:
			op = "stop"
			timers[i].Stop()
			timers[i].s.updateNextIfEmpty()
		case 3, 4:
			op = "push"
			items[i].wake()
		case 5:
			op = "run"
			eng.manual.now.Add(int64(harnessTick))
			workers := *eng.workers.Load()
			w := workers[r.IntN(len(workers))]
			if err := w.runAll(); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		case 6:
			op = "take"
			w := timers[i].s.owner.Load()
			if s := w.adopted.take(); s != nil && s.Ready.Empty() {
				t.Fatalf("step %d: take returns a shard without ready items", step)
			}
		case 7:
			op = "resize"
			if err := eng.Resize(1 + r.IntN(most)); err != nil {
				t.Fatal(err)
			}
		}
		if err := eng.CheckAdopted(); err != nil {
			t.Fatalf("after step %d, %s: %v", step, op, err)
		}
	}
	eng.manual.now.Add(int64(time.Hour))
	for _, w := range *eng.workers.Load() {
		if err := w.runAll(); err != nil {
			t.Fatal(err)
		}
	}
	if got := eng.Stats().Armed; got != 0 {
		t.Errorf("%d timers are armed at the end, want none", got)
	}
	for i, it := range items {
		if it.queued {
			t.Errorf("item %d was not run", i)
		}
	}
	t.Logf("%d callbacks and %d items were run", ran, itemsRun)
}

// runAll runs the worker until nothing is left to do. It returns an error if a shard of the worker
// still has ready items or due timers.
func (w *worker) runAll() error {
	w.run(runMode{claim: w.busy.Load(), span: never})
	for _, s := range w.shards {
		if !s.Ready.Empty() || s.next.Load() <= w.eng.Now() {
			return fmt.Errorf("worker %d has left work in shard %d", w.id, s.number)
		}
	}
	return nil
}

// The test makes it impossible to read retired workers and their shards. Then it runs callbacks and
// items on the worker that is left. The driver falls asleep between them.
func TestCallbacksDoNotReadTheShardsOfRetiredWorkers(t *testing.T) {
	testkit.SkipIfShort(t)
	const before = 256
	eng, err := New(Config{Workers: before})
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Resize(1); err != nil {
		t.Fatal(err)
	}
	w := (*eng.workers.Load())[0]
	if got := len(w.shards); got != before*shardsPerWorker {
		t.Fatalf("the worker has %d shards, want %d", got, before*shardsPerWorker)
	}
	// A goroutine that locks one of these shards blocks. One that reads the lists finds nil instead
	// of shards and workers.
	all, shards, retired := eng.shards.Load(), w.shards, eng.retired
	for _, s := range (*all)[shardsPerWorker:] {
		s.mu.Lock()
	}
	poisoned := slices.Concat(w.own, make([]*Shard, (before-1)*shardsPerWorker))
	eng.mu.Lock()
	eng.shards.Store(&poisoned)
	w.shards = poisoned
	eng.retired = make([]*worker, before-1)
	eng.mu.Unlock()

	done := make(chan struct{}, 2)
	const n = 1000
	callbacks, runs := 0, 0
	var timer Timer
	timer, err = eng.NewTimer(func() {
		if callbacks++; callbacks == n {
			done <- struct{}{}
			return
		}
		timer.Reset(time.Duration(callbacks%3) * 100 * time.Microsecond)
	})
	if err != nil {
		t.Fatal(err)
	}
	timer.Reset(0)
	newItem(t, eng, func(it *testItem) {
		switch runs++; {
		case runs == n:
			done <- struct{}{}
		case runs%2 == 0:
			it.wake()
		default:
			it.wakeAfter(0)
		}
	}).wake()
	for range 2 {
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("a goroutine waits for the lock of a shard of a retired worker")
		}
	}

	eng.mu.Lock()
	eng.shards.Store(all)
	w.shards, eng.retired = shards, retired
	eng.mu.Unlock()
	for _, s := range (*all)[shardsPerWorker:] {
		s.mu.Unlock()
	}
	if st := eng.Stats(); st.Fired != n || st.ItemsRun != n {
		t.Errorf("%d callbacks and %d items were run, want %d of each", st.Fired, st.ItemsRun, n)
	}
	if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
		t.Error(err)
	}
}

// The test claims a worker that has retired, as a goroutine does that loaded the list of workers
// before.
func TestARetiredWorkerIsWatchedWhileItIsBusy(t *testing.T) {
	eng, err := New(Config{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	k := &eng.timekeeper
	checkWatched := func(want int) {
		t.Helper()
		k.mu.Lock()
		defer k.mu.Unlock()
		if got := k.anyBusy(); got != (want > 0) || len(k.retired) != want {
			t.Errorf("anyBusy returns %t, and %d retired workers are watched, want %t and %d",
				got, len(k.retired), want > 0, want)
		}
	}
	workers := *eng.workers.Load()
	was := workers[1].claim(eng.Now(), 0)
	if err := eng.Resize(1); err != nil {
		t.Fatal(err)
	}
	checkWatched(1)
	late := workers[2].claim(eng.Now(), 0)
	checkWatched(2)
	workers[2].since.Store(eng.Now() - 2*patience)
	if blocked, _, _ := k.replaceBlocked(); len(blocked) != 1 || blocked[0].worker != 2 {
		t.Errorf("replaceBlocked returns %v, want worker 2", blocked)
	}
	workers[2].release(late)
	workers[1].release(was)
	testkit.TrueWithin(5*time.Second, func() bool { return workers[2].busy.Load() == 0 })
	checkWatched(0)
	if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
		t.Error(err)
	}
}

// The test counts the entries of the heap that change when a timer of an adopted shard is armed and
// when its callback runs. All other adopted shards have armed timers.
func TestATimerOfAnAdoptedShardMovesFewOthers(t *testing.T) {
	testkit.SkipUnderRace(t, "there is one goroutine")
	testkit.SkipIfShort(t)
	for _, before := range []int{2, 16, 256, 1024} {
		eng, err := New(Config{Workers: before, Resolution: 1})
		if err != nil {
			t.Fatal(err)
		}
		eng.timekeeper.wakeAt.Store(0) // so that no driver is started
		if err := eng.Resize(1); err != nil {
			t.Fatal(err)
		}
		w := (*eng.workers.Load())[0]
		claim := w.claim(eng.Now(), 0)
		var timers []Timer
		ran := 0
		for i, s := range w.shards[shardsPerWorker:] {
			eng.openShards.Store(&[]*Shard{s})
			timer, err := eng.NewTimer(func() { ran++ })
			if err != nil {
				t.Fatal(err)
			}
			timer.Reset(time.Hour + time.Duration(i*7919%1000)*time.Second)
			timers = append(timers, timer)
		}
		most := 0
		changes := func(do func()) {
			was := slices.Clone(w.adopted.heap)
			do()
			n := 0
			for i, e := range w.adopted.heap {
				if i >= len(was) || e != was[i] {
					n++
				}
			}
			most = max(most, n)
		}
		for i := range 2000 {
			timer := timers[i*31%len(timers)]
			changes(func() { timer.Reset(0) })
			changes(func() {
				for ran <= i {
					w.run(runMode{claim: claim, span: never})
				}
			})
			changes(func() { timer.Reset(time.Hour) })
		}
		if err := eng.CheckAdopted(); err != nil {
			t.Error(err)
		}
		if want := bits.Len(uint(len(timers))); most > want {
			t.Errorf("%d of %d entries change, want at most %d", most, len(timers), want)
		}
		t.Logf("%d workers before: %d of %d entries change at most", before, most, len(timers))
		w.release(claim)
		if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
			t.Error(err)
		}
	}
}
