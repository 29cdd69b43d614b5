package foliot

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// checkAdopted returns what is wrong with the heaps and lists of adopted shards. Nothing else may happen meanwhile.
func checkAdopted(rt *Runtime) error {
	heaps, lists := 0, 0
	for _, workers := range [][]*worker{*rt.workers.Load(), rt.retired} {
		for _, w := range workers {
			if err := w.adopted.check(w); err != nil {
				return fmt.Errorf("worker %d: %w", w.id, err)
			}
			heaps += len(w.adopted.heap)
			for s := w.adopted.ready.Load(); s != nil; s = s.places.after {
				lists++
			}
		}
	}
	for _, s := range *rt.shards.Load() {
		w := s.owner.Load()
		armed := s.adopted && s.next.Load() != never
		switch {
		case !slices.Contains(*rt.workers.Load(), w):
			return fmt.Errorf("shard %d belongs to worker %d, which has retired", s.number, w.id)
		case s.adopted != (w != s.maker):
			return fmt.Errorf("shard %d: adopted is %t", s.number, s.adopted)
		case armed != (s.places.heap != 0):
			return fmt.Errorf("shard %d has timers: %t; it is in a heap: %t", s.number, armed, !armed)
		case !s.adopted && s.places.listed:
			return fmt.Errorf("shard %d is in a list and not adopted", s.number)
		case s.adopted && !s.ready.empty() && !s.places.listed:
			return fmt.Errorf("shard %d has tasks to be polled and is in no list", s.number)
		}
		if s.places.heap != 0 {
			heaps--
		}
		if s.places.listed {
			lists--
		}
	}
	if heaps != 0 || lists != 0 {
		return fmt.Errorf("there are %d too many in heaps and %d in lists", heaps, lists)
	}
	return nil
}

func (a *adopted) check(w *worker) error {
	first := never
	for i, e := range a.heap {
		switch {
		case i > 0 && a.heap[(i-1)/2].at > e.at:
			return fmt.Errorf("entry %d of the heap comes before the one above", i)
		case e.s.places.heap != i+1:
			return fmt.Errorf("entry %d of the heap has the place %d", i, e.s.places.heap)
		case e.at != e.s.next.Load():
			return fmt.Errorf("entry %d of the heap has the time %d, and the shard %d", i, e.at, e.s.next.Load())
		case e.s.owner.Load() != w:
			return fmt.Errorf("entry %d of the heap belongs to another", i)
		}
		first = min(first, e.at)
	}
	if got := a.first.Load(); got != first {
		return fmt.Errorf("first is %d, want %d", got, first)
	}
	var last *shard
	for s := a.ready.Load(); s != nil; s = s.places.after {
		if s.owner.Load() != w || !s.places.listed || s.places.before != last {
			return fmt.Errorf("shard %d is in the list by mistake", s.number)
		}
		last = s
	}
	if a.last != last {
		return fmt.Errorf("the end of the list is not where it is said to be")
	}
	return nil
}

// TestAdoptedShardsAreFoundWhateverHappens does all that can happen to adopted shards, in random order.
func TestAdoptedShardsAreFoundWhateverHappens(t *testing.T) {
	const most = 12
	y := newHarness(true)
	rt := y.rt
	if err := rt.Resize(most); err != nil {
		t.Fatal(err)
	}
	for _, w := range *rt.workers.Load() {
		w.busy.Store(1 << 40) // nobody runs it but this test
	}
	r := rand.New(rand.NewPCG(1, 2))
	timers := make([]Timer, 60)
	tasks := make([]TaskHandle, 60)
	ran, polled := 0, 0
	for i := range timers {
		all := *rt.shards.Load()
		rt.openShards.Store(&[]*shard{all[i%len(all)]})
		timers[i], _ = rt.NewTimer(func() { ran++ })
		tasks[i], _ = rt.Spawn(TaskFunc(func(*Context) Status { polled++; return Pending }))
	}
	for step := range 20000 {
		what := ""
		switch i := r.IntN(len(timers)); r.IntN(8) {
		case 0, 1:
			what = "lower or raise"
			timers[i].Reset(time.Duration(r.IntN(20)) * yardTick)
		case 2:
			what = "stop"
			timers[i].Stop()
			timers[i].s.updateNextIfEmpty()
		case 3, 4:
			what = "push"
			tasks[i].Wake()
		case 5:
			what = "run"
			rt.manual.now.Add(int64(yardTick))
			team := *rt.workers.Load()
			w := team[r.IntN(len(team))]
			if err := w.runAll(); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		case 6:
			what = "take"
			w := timers[i].s.owner.Load()
			if s := w.adopted.take(); s != nil && s.ready.empty() {
				t.Fatalf("step %d: a shard without tasks is taken", step)
			}
		case 7:
			what = "resize"
			if err := rt.Resize(1 + r.IntN(most)); err != nil {
				t.Fatal(err)
			}
		}
		if err := checkAdopted(rt); err != nil {
			t.Fatalf("after step %d, %s: %v", step, what, err)
		}
	}
	rt.manual.now.Add(int64(time.Hour))
	for _, w := range *rt.workers.Load() {
		if err := w.runAll(); err != nil {
			t.Fatal(err)
		}
	}
	if got := rt.Stats().Armed; got != 0 {
		t.Errorf("%d timers are armed in the end", got)
	}
	for i, h := range tasks {
		if _, s := h.t.word.load(); s == taskScheduled {
			t.Errorf("task %d is not polled in the end", i)
		}
	}
	t.Logf("%d callbacks, %d polls", ran, polled)
}

// runAll runs all that a worker has to do, and returns an error if it leaves any of it.
func (w *worker) runAll() error {
	w.run(runMode{claim: w.busy.Load(), span: never})
	for _, s := range w.shards {
		if !s.ready.empty() || s.next.Load() <= w.rt.now() {
			return fmt.Errorf("shard %d of worker %d is not looked at", s.number, w.id)
		}
	}
	return nil
}

// TestACallbackLooksAtNoShardOfThePast makes it impossible to look at retired workers and at their shards. Then it runs
// callbacks and polls on the worker that is left, and has the timekeeper go to sleep between them.
func TestACallbackLooksAtNoShardOfThePast(t *testing.T) {
	const past = 256
	rt, err := New(Options{Workers: past})
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Resize(1); err != nil {
		t.Fatal(err)
	}
	w := (*rt.workers.Load())[0]
	if got := len(w.shards); got != past*shardsPerWorker {
		t.Fatalf("the worker has %d shards", got)
	}
	// Who locks one of these shards waits for ever. Who reads the lists finds nil in place of shards and workers.
	all, shards, retired := rt.shards.Load(), w.shards, rt.retired
	for _, s := range (*all)[shardsPerWorker:] {
		s.mu.Lock()
	}
	poisoned := slices.Concat(w.own, make([]*shard, (past-1)*shardsPerWorker))
	rt.mu.Lock()
	rt.shards.Store(&poisoned)
	w.shards = poisoned
	rt.retired = make([]*worker, past-1)
	rt.mu.Unlock()

	done := make(chan struct{}, 2)
	const n = 1000
	callbacks, polls := 0, 0
	var timer Timer
	timer, err = rt.NewTimer(func() {
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
	_, err = rt.Spawn(TaskFunc(func(cx *Context) Status {
		if polls++; polls == n {
			done <- struct{}{}
			return Done
		}
		if polls%2 == 0 {
			cx.Handle().Wake()
		} else {
			cx.WakeAfter(0)
		}
		return Pending
	}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("somebody waits for the lock of a shard of a retired worker")
		}
	}

	rt.mu.Lock()
	rt.shards.Store(all)
	w.shards, rt.retired = shards, retired
	rt.mu.Unlock()
	for _, s := range (*all)[shardsPerWorker:] {
		s.mu.Unlock()
	}
	if st := rt.Stats(); st.Fired != n || st.Polls != n {
		t.Errorf("%d callbacks and %d polls, want %d of each", st.Fired, st.Polls, n)
	}
	if _, err := rt.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestARetiredWorkerIsWatchedWhileItIsBusy claims a worker that has retired, as a goroutine does that read the team
// before.
func TestARetiredWorkerIsWatchedWhileItIsBusy(t *testing.T) {
	rt, err := New(Options{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	k := &rt.timekeeper
	busy := func(want int) {
		t.Helper()
		k.mu.Lock()
		defer k.mu.Unlock()
		if got := k.anyBusy(); got != (want > 0) || len(k.retired) != want {
			t.Errorf("anyBusy is %t, and %d workers are watched, want %d", got, len(k.retired), want)
		}
	}
	team := *rt.workers.Load()
	was := team[1].claim(rt.now(), 0)
	if err := rt.Resize(1); err != nil {
		t.Fatal(err)
	}
	busy(1)
	late := team[2].claim(rt.now(), 0)
	busy(2)
	team[2].since.Store(rt.now() - 2*patience)
	if blocked, _, _ := k.replaceBlocked(); len(blocked) != 1 || blocked[0].worker != 2 {
		t.Errorf("%v are replaced, want worker 2", blocked)
	}
	team[2].release(late)
	team[1].release(was)
	for end := time.Now().Add(5 * time.Second); team[2].busy.Load() != 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	busy(0)
	if _, err := rt.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestATimerOfThePastMovesFewOthers counts the places in the heap that change when a timer of a retired worker's shard
// is armed and when its callback runs, with timers armed in all other such shards.
func TestATimerOfThePastMovesFewOthers(t *testing.T) {
	for _, past := range []int{2, 16, 256, 1024} {
		rt, err := New(Options{Workers: past, Resolution: 1})
		if err != nil {
			t.Fatal(err)
		}
		rt.timekeeper.wakeAt.Store(0) // nobody wakes the timekeeper
		if err := rt.Resize(1); err != nil {
			t.Fatal(err)
		}
		w := (*rt.workers.Load())[0]
		claim := w.claim(rt.now(), 0)
		var timers []Timer
		ran := 0
		for i, s := range w.shards[shardsPerWorker:] {
			rt.openShards.Store(&[]*shard{s})
			timer, err := rt.NewTimer(func() { ran++ })
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
		if err := checkAdopted(rt); err != nil {
			t.Error(err)
		}
		if want := bits.Len(uint(len(timers))); most > want {
			t.Errorf("%d places of %d change, want at most %d", most, len(timers), want)
		}
		t.Logf("once %d workers: %d places of %d change at most", past, most, len(timers))
		w.release(claim)
		if _, err := rt.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
