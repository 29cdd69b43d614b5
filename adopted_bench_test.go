package foliot

import (
	"fmt"
	"testing"
	"time"
)

// A pastBench is a runtime with one worker that once had more. The benchmark has the turn of the worker and runs its
// callbacks itself, so that nothing is measured but that.
type pastBench struct {
	rt    *Runtime
	w     *worker
	claim uint64
	old   []*shard // of the workers that have retired, or else its own
}

func newPastBench(b *testing.B, workers int) *pastBench {
	rt, err := New(Options{Workers: workers, Resolution: 1, shards: shardsPerWorker})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if _, err := rt.Shutdown(b.Context()); err != nil {
			b.Log(err)
		}
	})
	if err := rt.Resize(1); err != nil {
		b.Fatal(err)
	}
	rt.timekeeper.wakeAt.Store(0) // nobody wakes the timekeeper
	p := &pastBench{rt: rt, w: (*rt.workers.Load())[0], old: *rt.shards.Load()}
	if workers > 1 {
		p.old = p.old[shardsPerWorker:]
	}
	p.claim = p.w.claim(rt.now(), 0)
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
	homes := p.rt.openShards.Load()
	for _, s := range p.old {
		p.rt.openShards.Store(&[]*shard{s})
		t, err := p.rt.NewTimer(f)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, t)
	}
	p.rt.openShards.Store(homes)
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
		calls := make([]Call, batch)
		for i := range calls {
			calls[i].Func = func() { ran++ }
		}
		timers := []Timer{}
		b.ResetTimer()
		for n := 0; n < b.N; n += batch {
			b.StopTimer()
			var err error
			if timers, err = p.rt.AfterFuncBatch(timers[:0], calls); err != nil {
				b.Fatal(err)
			}
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

// BenchmarkPastTask wakes a task on a shard of a retired worker and polls it.
func BenchmarkPastTask(b *testing.B) {
	eachPast(b, func(b *testing.B, p *pastBench) {
		polled := 0
		tasks := []TaskHandle{}
		for _, s := range p.old {
			p.rt.openShards.Store(&[]*shard{s})
			h, err := p.rt.Spawn(TaskFunc(func(*Context) Status { polled++; return Pending }))
			if err != nil {
				b.Fatal(err)
			}
			tasks = append(tasks, h)
		}
		p.run(&polled, len(tasks))
		i := 0
		for b.Loop() {
			tasks[i%len(tasks)].Wake()
			p.run(&polled, 1)
			i += 7
		}
	})
}

// BenchmarkPastWakeup looks whether anybody runs callbacks, which the timekeeper does before it goes to sleep.
func BenchmarkPastWakeup(b *testing.B) {
	eachPast(b, func(b *testing.B, p *pastBench) {
		p.w.release(p.claim)
		p.rt.timekeeper.mu.Lock()
		defer p.rt.timekeeper.mu.Unlock()
		for b.Loop() {
			if p.rt.timekeeper.anyBusy() {
				b.Fatal("somebody is busy")
			}
		}
	})
}
