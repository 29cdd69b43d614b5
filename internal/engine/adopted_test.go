package engine

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestAdoptedShardsAreFoundWhateverHappens does all that can happen to adopted shards, in random order.
func TestAdoptedShardsAreFoundWhateverHappens(t *testing.T) {
	const most = 12
	y := newHarness(true)
	eng := y.eng
	if err := eng.Resize(most); err != nil {
		t.Fatal(err)
	}
	for _, w := range *eng.workers.Load() {
		w.busy.Store(1 << 40) // nobody runs it but this test
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
		what := ""
		switch i := r.IntN(len(timers)); r.IntN(8) {
		case 0, 1:
			what = "lower or raise"
			timers[i].Reset(time.Duration(r.IntN(20)) * harnessTick)
		case 2:
			what = "stop"
			timers[i].Stop()
			timers[i].s.updateNextIfEmpty()
		case 3, 4:
			what = "push"
			items[i].wake()
		case 5:
			what = "run"
			eng.manual.now.Add(int64(harnessTick))
			team := *eng.workers.Load()
			w := team[r.IntN(len(team))]
			if err := w.runAll(); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		case 6:
			what = "take"
			w := timers[i].s.owner.Load()
			if s := w.adopted.take(); s != nil && s.Ready.Empty() {
				t.Fatalf("step %d: a shard without items is taken", step)
			}
		case 7:
			what = "resize"
			if err := eng.Resize(1 + r.IntN(most)); err != nil {
				t.Fatal(err)
			}
		}
		if err := eng.CheckAdopted(); err != nil {
			t.Fatalf("after step %d, %s: %v", step, what, err)
		}
	}
	eng.manual.now.Add(int64(time.Hour))
	for _, w := range *eng.workers.Load() {
		if err := w.runAll(); err != nil {
			t.Fatal(err)
		}
	}
	if got := eng.Stats().Armed; got != 0 {
		t.Errorf("%d timers are armed in the end", got)
	}
	for i, it := range items {
		if it.queued {
			t.Errorf("item %d is not run in the end", i)
		}
	}
	t.Logf("%d callbacks, %d items run", ran, itemsRun)
}

// runAll runs all that a worker has to do, and returns an error if it leaves any of it.
func (w *worker) runAll() error {
	w.run(runMode{claim: w.busy.Load(), span: never})
	for _, s := range w.shards {
		if !s.Ready.Empty() || s.next.Load() <= w.eng.Now() {
			return fmt.Errorf("shard %d of worker %d is not looked at", s.number, w.id)
		}
	}
	return nil
}

// TestACallbackLooksAtNoShardOfThePast makes it impossible to look at retired workers and at their shards. Then it runs
// callbacks and polls on the worker that is left, and has the timekeeper go to sleep between them.
func TestACallbackLooksAtNoShardOfThePast(t *testing.T) {
	const past = 256
	eng, err := New(Config{Workers: past})
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Resize(1); err != nil {
		t.Fatal(err)
	}
	w := (*eng.workers.Load())[0]
	if got := len(w.shards); got != past*shardsPerWorker {
		t.Fatalf("the worker has %d shards", got)
	}
	// Who locks one of these shards waits for ever. Who reads the lists finds nil in place of shards and workers.
	all, shards, retired := eng.shards.Load(), w.shards, eng.retired
	for _, s := range (*all)[shardsPerWorker:] {
		s.mu.Lock()
	}
	poisoned := slices.Concat(w.own, make([]*Shard, (past-1)*shardsPerWorker))
	eng.mu.Lock()
	eng.shards.Store(&poisoned)
	w.shards = poisoned
	eng.retired = make([]*worker, past-1)
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
			t.Fatal("somebody waits for the lock of a shard of a retired worker")
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
		t.Errorf("%d callbacks and %d items run, want %d of each", st.Fired, st.ItemsRun, n)
	}
	if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
		t.Error(err)
	}
}

// TestARetiredWorkerIsWatchedWhileItIsBusy claims a worker that has retired, as a goroutine does that read the team
// before.
func TestARetiredWorkerIsWatchedWhileItIsBusy(t *testing.T) {
	eng, err := New(Config{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	k := &eng.timekeeper
	busy := func(want int) {
		t.Helper()
		k.mu.Lock()
		defer k.mu.Unlock()
		if got := k.anyBusy(); got != (want > 0) || len(k.retired) != want {
			t.Errorf("anyBusy is %t, and %d workers are watched, want %d", got, len(k.retired), want)
		}
	}
	team := *eng.workers.Load()
	was := team[1].claim(eng.Now(), 0)
	if err := eng.Resize(1); err != nil {
		t.Fatal(err)
	}
	busy(1)
	late := team[2].claim(eng.Now(), 0)
	busy(2)
	team[2].since.Store(eng.Now() - 2*patience)
	if blocked, _, _ := k.replaceBlocked(); len(blocked) != 1 || blocked[0].worker != 2 {
		t.Errorf("%v are replaced, want worker 2", blocked)
	}
	team[2].release(late)
	team[1].release(was)
	for end := time.Now().Add(5 * time.Second); team[2].busy.Load() != 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	busy(0)
	if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
		t.Error(err)
	}
}

// TestATimerOfThePastMovesFewOthers counts the places in the heap that change when a timer of a retired worker's shard
// is armed and when its callback runs, with timers armed in all other such shards.
func TestATimerOfThePastMovesFewOthers(t *testing.T) {
	for _, past := range []int{2, 16, 256, 1024} {
		eng, err := New(Config{Workers: past, Resolution: 1})
		if err != nil {
			t.Fatal(err)
		}
		eng.timekeeper.wakeAt.Store(0) // nobody wakes the timekeeper
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
			t.Errorf("%d places of %d change, want at most %d", most, len(timers), want)
		}
		t.Logf("once %d workers: %d places of %d change at most", past, most, len(timers))
		w.release(claim)
		if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
			t.Error(err)
		}
	}
}
