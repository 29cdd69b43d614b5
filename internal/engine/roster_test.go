package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/foliot-go/foliot/internal/testkit"
)

// The test does everything that can happen to shards that are handed on, in random order.
func TestShardsAreFoundWhateverHappens(t *testing.T) {
	const most = 12
	eng := newHarness(true).eng
	if err := eng.Resize(most); err != nil {
		t.Fatal(err)
	}
	for _, w := range *eng.everyone.Load() {
		w.busy.Store(probeClaim) // so that only this test runs it
	}
	r := rand.New(rand.NewPCG(1, 2))
	timers := make([]Timer, 60)
	tasks := make([]*testTask, 60)
	ran, polls := 0, 0
	for i := range timers {
		all := *eng.shards.Load()
		eng.openShards.Store(&[]*Shard{all[i%len(all)]})
		timers[i], _ = eng.NewTimer(func() { ran++ })
		tasks[i] = newTestTask(t, eng, func(*testTask) { polls++ })
	}
	for step := range 20000 {
		op := ""
		switch i := r.IntN(len(timers)); r.IntN(7) {
		case 0, 1:
			op = "lower or raise"
			timers[i].Reset(time.Duration(r.IntN(20)) * harnessTick)
		case 2:
			op = "stop"
			timers[i].Stop()
			timers[i].s.updateNextIfEmpty()
		case 3, 4:
			op = "push"
			tasks[i].wake()
		case 5:
			op = "run"
			eng.manual.now.Add(int64(harnessTick))
			workers := *eng.workers.Load()
			w := workers[r.IntN(len(workers))]
			if err := w.runAll(); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		case 6:
			op = "resize"
			owners := ownersOf(eng)
			if err := eng.Resize(1 + r.IntN(most)); err != nil {
				t.Fatal(err)
			}
			if err := checkMoves(eng, owners); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		}
		if err := eng.CheckOwners(); err != nil {
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
	for i, it := range tasks {
		if _, state := it.t.word.load(); state != taskIdle {
			t.Errorf("task %d was not polled", i)
		}
	}
	t.Logf("%d callbacks and %d polls were run", ran, polls)
}

// ownersOf returns the ids of the owners of all shards.
func ownersOf(eng *Engine) (ids []int) {
	for _, s := range *eng.shards.Load() {
		ids = append(ids, s.owner.Load().id)
	}
	return ids
}

// checkMoves returns an error if a Resize has moved a shard that it should have left where it was.
// before has the owners before the Resize.
func checkMoves(eng *Engine, before []int) error {
	size := len(*eng.workers.Load())
	for i, owner := range ownersOf(eng) {
		switch home := i / eng.perWorker; {
		case home < size && owner != home:
			return fmt.Errorf("worker %d owns shard %d, but its home is worker %d, which has not retired", owner, i, home)
		case home >= size && before[i] < size && owner != before[i]:
			return fmt.Errorf("shard %d moves from worker %d, which has not retired, to worker %d", i, before[i], owner)
		}
	}
	return nil
}

// runAll runs the worker until nothing is left to do. It returns an error if a shard of the worker
// still has ready tasks or due timers.
func (w *worker) runAll() error {
	t := w.newTurn(w.busy.Load())
	t.run((*turn).loop, t.restart)
	t.leave()
	for _, s := range *w.shards.Load() {
		if !s.ready.empty() || s.next.Load() <= w.eng.Now() {
			return fmt.Errorf("worker %d has left work in shard %d", w.id, s.number)
		}
	}
	return nil
}

// The test claims a worker that has retired, as a goroutine does that loaded the list of workers
// before.
func TestARetiredWorkerIsWatchedWhileItIsBusy(t *testing.T) {
	eng, err := New(Config{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	k := &eng.timekeeper
	checkBusy := func(want bool) {
		t.Helper()
		k.mu.Lock()
		defer k.mu.Unlock()
		if got := k.anyBusy(); got != want {
			t.Errorf("anyBusy returns %t, want %t", got, want)
		}
	}
	workers := *eng.workers.Load()
	was := workers[1].claim(eng.Now(), 0)
	if err := eng.Resize(1); err != nil {
		t.Fatal(err)
	}
	checkBusy(true)
	late := workers[2].claim(eng.Now(), 0)
	checkBusy(true)
	workers[2].since.Store(eng.Now() - 2*blockedAfter)
	if blocked, _, _ := k.replaceBlocked(); len(blocked) != 1 || blocked[0].worker != 2 {
		t.Errorf("replaceBlocked returns %v, want worker 2", blocked)
	}
	workers[2].release(late)
	workers[1].release(was)
	testkit.TrueWithin(5*time.Second, func() bool { return workers[2].busy.Load() == 0 })
	checkBusy(false)
	if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
		t.Error(err)
	}
}

// Shards go to the workers with the fewest armed timers, and Resize counts those timers.
func TestShardsGoToTheWorkersWithTheFewestTimers(t *testing.T) {
	eng, err := New(Config{Workers: 4, perWorker: 2})
	if err != nil {
		t.Fatal(err)
	}
	withoutDriver(eng)
	for i, n := range []int{8, 0, 1, 0, 5, 2, 1, 1} { // by shard; the workers have 8, 1, 7 and 2
		eng.openShards.Store(&[]*Shard{(*eng.shards.Load())[i]})
		for range n {
			if _, err := eng.AfterFunc(time.Hour, func() {}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := eng.Resize(2); err != nil {
		t.Fatal(err)
	}
	if got, want := ownersOf(eng), []int{0, 0, 1, 1, 1, 1, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("the shards belong to the workers %v, want %v", got, want)
	}
	if st := eng.Stats(); st.Migrated != 9 || st.Armed != 18 {
		t.Errorf("%d timers have migrated and %d are armed, want 9 and 18", st.Migrated, st.Armed)
	}
	eng.timekeeper.wakeAt.Store(never)
	if _, err := eng.Shutdown(t.Context(), func() int { return 0 }); err != nil {
		t.Error(err)
	}
}
