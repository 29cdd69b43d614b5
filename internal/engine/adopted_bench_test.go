package engine

import (
	"fmt"
	"testing"
	"time"
)

// A pastBench is a runtime with one worker that once had more. The benchmark has the turn of the worker and runs its
// callbacks itself, so that nothing is measured but that.
type pastBench struct {
	eng   *Engine
	w     *worker
	claim uint64
	old   []*Shard // of the workers that have retired, or else its own
}

func newPastBench(b *testing.B, workers int) *pastBench {
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
	eng.timekeeper.wakeAt.Store(0) // nobody wakes the timekeeper
	p := &pastBench{eng: eng, w: (*eng.workers.Load())[0], old: *eng.shards.Load()}
	if workers > 1 {
		p.old = p.old[shardsPerWorker:]
	}
	p.claim = p.w.claim(eng.Now(), 0)
	b.Cleanup(func() { p.w.release(p.claim) })
	return p
}

// run runs what is due until n callbacks have run or n tasks are polled. ran counts them.
func (p *pastBench) run(ran *int, n int) {
	for *ran < n {
		p.w.run(runMode{claim: p.claim, span: never})
	}
	*ran = 0
}

// timers makes a reusable timer on each of the old shards.
func (p *pastBench) timers(b *testing.B, f func()) (all []Timer) {
	homes := p.eng.openShards.Load()
	for _, s := range p.old {
		p.eng.openShards.Store(&[]*Shard{s})
		t, err := p.eng.NewTimer(f)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, t)
	}
	p.eng.openShards.Store(homes)
	return all
}

// pasts are the numbers of workers that there once were.
var pasts = []int{1, 16, 256, 4096}

func eachPast(b *testing.B, f func(b *testing.B, p *pastBench)) {
	for _, workers := range pasts {
		b.Run(fmt.Sprintf("once=%d", workers), func(b *testing.B) { f(b, newPastBench(b, workers)) })
	}
}

// BenchmarkPastCallback runs callbacks of the shards of the one worker that is left.
func BenchmarkPastCallback(b *testing.B) {
	eachPast(b, func(b *testing.B, p *pastBench) {
		const batch = 256
		ran := 0
		b.ResetTimer()
		for n := 0; n < b.N; n += batch {
			b.StopTimer()
			calls, err := p.eng.NewBatch(batch)
			if err != nil {
				b.Fatal(err)
			}
			for range batch {
				calls.AfterFunc(0, func() { ran++ })
			}
			calls.End()
			b.StartTimer()
			p.run(&ran, batch)
		}
	})
}

// BenchmarkPastTimer resets a timer on a shard of a retired worker and runs its callback. It uses four shards, whatever
// the past, so that it is not caches that are measured. Far says that all of the old shards have other timers armed.
func BenchmarkPastTimer(b *testing.B) {
	for _, far := range []bool{false, true} {
		b.Run(fmt.Sprintf("far=%t", far), func(b *testing.B) {
			eachPast(b, func(b *testing.B, p *pastBench) {
				ran := 0
				timers := p.timers(b, func() { ran++ })
				if far {
					for i, t := range p.timers(b, func() {}) {
						t.Reset(time.Hour + time.Duration(i)*time.Second)
					}
				}
				i := 0
				for b.Loop() {
					timers[i%shardsPerWorker].Reset(0)
					p.run(&ran, 1)
					i++
				}
			})
		})
	}
}

// BenchmarkPastTimers resets timers on all shards of retired workers, or at least 256, and runs their callbacks.
func BenchmarkPastTimers(b *testing.B) {
	eachPast(b, func(b *testing.B, p *pastBench) {
		ran := 0
		timers := p.timers(b, func() { ran++ })
		for len(timers) < 256 {
			timers = append(timers, p.timers(b, func() { ran++ })...)
		}
		b.ResetTimer()
		for n := 0; n < b.N; n += len(timers) {
			for _, t := range timers {
				t.Reset(0)
			}
			p.run(&ran, len(timers))
		}
	})
}

// BenchmarkPastItem wakes an item on a shard of a retired worker and runs it.
func BenchmarkPastItem(b *testing.B) {
	eachPast(b, func(b *testing.B, p *pastBench) {
		ran := 0
		items := []*testItem{}
		for _, s := range p.old {
			p.eng.openShards.Store(&[]*Shard{s})
			items = append(items, newItem(b, p.eng, func(*testItem) { ran++ }))
		}
		i := 0
		for b.Loop() {
			items[i%len(items)].wake()
			p.run(&ran, 1)
			i += 7
		}
	})
}

// BenchmarkPastWakeup looks whether anybody runs callbacks, which the timekeeper does before it goes to sleep.
func BenchmarkPastWakeup(b *testing.B) {
	eachPast(b, func(b *testing.B, p *pastBench) {
		p.w.release(p.claim)
		p.eng.timekeeper.mu.Lock()
		defer p.eng.timekeeper.mu.Unlock()
		for b.Loop() {
			if p.eng.timekeeper.anyBusy() {
				b.Fatal("somebody is busy")
			}
		}
	})
}
