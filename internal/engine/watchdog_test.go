package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Whoever claims a worker must find the watchdog set, or be found by the goroutine that is about to stop
// the watchdog because nothing is left to watch. With many workers, finding out that none is busy takes
// long enough for a claim to come in between.
func TestAWorkerIsNeverClaimedWithoutAWatchdog(t *testing.T) {
	eng, err := New(Config{Workers: 512})
	if err != nil {
		t.Fatal(err)
	}
	k := &eng.timekeeper
	w := (*eng.workers.Load())[0]
	var falling atomic.Int64 // how often the driver has begun to fall asleep
	var wg sync.WaitGroup
	var over atomic.Bool
	wg.Go(func() { // a driver that falls asleep again and again
		for !over.Load() {
			k.mu.Lock()
			now := eng.Now()
			k.setWatchdog(int64(time.Hour), now) // it seems to fire soon
			falling.Add(1)
			k.scheduleWatchdog(never, now)
			k.mu.Unlock()
			runtime.Gosched()
		}
	})
	for i := range 5_000 {
		for seen := falling.Load(); falling.Load() == seen; {
			runtime.Gosched()
		}
		for range i % 100 { // come in at another point each time
			w.busy.Load()
		}
		now := eng.Now()
		w.claim(now, 0)
		k.ensureWatchdog(now)
		k.mu.Lock()
		at := k.watchdogAt.Load()
		k.mu.Unlock()
		w.busy.Store(0)
		if at == never {
			t.Errorf("a worker was claimed, and no watchdog is set, in round %d", i)
			break
		}
	}
	over.Store(true)
	wg.Wait()
	k.watchdog.stop()
}

// ManualClock.mu comes before Shard.mu: Waiters and its like lock shards while they hold it.
func TestSpawnHoldsNoShardWhileItWaitsForTheManualClock(t *testing.T) {
	clock := NewManualClock(time.Time{})
	clock.ShowsEnd = true
	eng, err := New(Config{Workers: 1, Manual: clock})
	if err != nil {
		t.Fatal(err)
	}
	s := (*eng.openShards.Load())[0]
	clock.target.Store(1) // an Advance is running
	clock.mu.Lock()
	spawned := make(chan error)
	go func() {
		_, err := eng.Spawn(nil, func(any, *TaskContext) bool { return true })
		spawned <- err
	}()
	time.Sleep(5 * time.Millisecond)
	if !s.mu.TryLock() {
		t.Error("Spawn waits for ManualClock.mu with a shard locked")
	} else {
		s.unlock()
	}
	clock.mu.Unlock()
	if err := <-spawned; err != nil {
		t.Error(err)
	}
}
