package engine

import (
	"fmt"
	"testing"
	"time"
)

// An adoptedBench is an engine with one worker that had more workers before. The benchmark has the
// turn of the worker and runs its callbacks, so that it measures nothing else.
type adoptedBench struct {
	eng    *Engine
	w      *worker
	claim  uint64
	shards []*Shard // the shards of the retired workers; if there are none, the worker's own
}

func newAdoptedBench(b *testing.B, workers int) *adoptedBench {
	eng, err := New(Config{Workers: workers, Resolution: 1, shards: shardsPerWorker})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if _, err := eng.Shutdown(b.Context(), func() int { return 0 }); err != nil {
			b.Log(err)
		}
	})
	if err := eng.Resize(1); err != nil {
		b.Fatal(err)
	}
	eng.timekeeper.wakeAt.Store(0) // so that no driver is started
	ab := &adoptedBench{eng: eng, w: (*eng.workers.Load())[0], shards: *eng.shards.Load()}
	if workers > 1 {
		ab.shards = ab.shards[shardsPerWorker:]
	}
	ab.claim = ab.w.claim(eng.Now(), 0)
	b.Cleanup(func() { ab.w.release(ab.claim) })
	return ab
}

// run runs the worker until n callbacks or items have run. These count themselves in ran.
func (ab *adoptedBench) run(ran *int, n int) {
	for *ran < n {
		ab.w.run(runMode{claim: ab.claim, span: never})
	}
	*ran = 0
}

// timers makes a reusable timer in each of the shards.
func (ab *adoptedBench) timers(b *testing.B, f func()) (all []Timer) {
	open := ab.eng.openShards.Load()
	for _, s := range ab.shards {
		ab.eng.openShards.Store(&[]*Shard{s})
		t, err := ab.eng.NewTimer(f)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, t)
	}
	ab.eng.openShards.Store(open)
	return all
}

// eachWorkers runs a benchmark for several numbers of workers before Resize.
func eachWorkers(b *testing.B, f func(b *testing.B, ab *adoptedBench)) {
	for _, workers := range []int{1, 16, 256, 4096} {
		b.Run(fmt.Sprintf("before=%d", workers), func(b *testing.B) { f(b, newAdoptedBench(b, workers)) })
	}
}

// BenchmarkAdoptedCallback runs callbacks of the own shards of the worker that is left.
func BenchmarkAdoptedCallback(b *testing.B) {
	eachWorkers(b, func(b *testing.B, ab *adoptedBench) {
		const batch = 256
		ran := 0
		b.ResetTimer()
		for n := 0; n < b.N; n += batch {
			b.StopTimer()
			calls, err := ab.eng.NewBatch(batch)
			if err != nil {
				b.Fatal(err)
			}
			for range batch {
				calls.AfterFunc(0, func() { ran++ })
			}
			calls.End()
			b.StartTimer()
			ab.run(&ran, batch)
		}
	})
}

// BenchmarkAdoptedTimer resets a timer in a shard of a retired worker and runs its callback. It
// always uses the same number of shards, so that it does not measure the caches of the processor.
// With far=true, a far timer is armed in each shard of a retired worker.
func BenchmarkAdoptedTimer(b *testing.B) {
	for _, far := range []bool{false, true} {
		b.Run(fmt.Sprintf("far=%t", far), func(b *testing.B) {
			eachWorkers(b, func(b *testing.B, ab *adoptedBench) {
				ran := 0
				timers := ab.timers(b, func() { ran++ })
				if far {
					for i, t := range ab.timers(b, func() {}) {
						t.Reset(time.Hour + time.Duration(i)*time.Second)
					}
				}
				i := 0
				for b.Loop() {
					timers[i%shardsPerWorker].Reset(0)
					ab.run(&ran, 1)
					i++
				}
			})
		})
	}
}

// BenchmarkAdoptedTimers resets timers in all shards of retired workers, at least 256 timers, and
// runs their callbacks.
func BenchmarkAdoptedTimers(b *testing.B) {
	eachWorkers(b, func(b *testing.B, ab *adoptedBench) {
		ran := 0
		timers := ab.timers(b, func() { ran++ })
		for len(timers) < 256 {
			timers = append(timers, ab.timers(b, func() { ran++ })...)
		}
		b.ResetTimer()
		for n := 0; n < b.N; n += len(timers) {
			for _, t := range timers {
				t.Reset(0)
			}
			ab.run(&ran, len(timers))
		}
	})
}

// BenchmarkAdoptedItem wakes an item in a shard of a retired worker and runs it.
func BenchmarkAdoptedItem(b *testing.B) {
	eachWorkers(b, func(b *testing.B, ab *adoptedBench) {
		ran := 0
		items := []*testItem{}
		for _, s := range ab.shards {
			ab.eng.openShards.Store(&[]*Shard{s})
			items = append(items, newItem(b, ab.eng, func(*testItem) { ran++ }))
		}
		i := 0
		for b.Loop() {
			items[i%len(items)].wake()
			ab.run(&ran, 1)
			i += 7
		}
	})
}

// BenchmarkAdoptedAnyBusy calls anyBusy, as the driver does before it sleeps.
func BenchmarkAdoptedAnyBusy(b *testing.B) {
	eachWorkers(b, func(b *testing.B, ab *adoptedBench) {
		ab.w.release(ab.claim)
		ab.eng.timekeeper.mu.Lock()
		defer ab.eng.timekeeper.mu.Unlock()
		for b.Loop() {
			if ab.eng.timekeeper.anyBusy() {
				b.Fatal("anyBusy returns true, want false")
			}
		}
	})
}
