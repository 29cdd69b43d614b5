package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkArmAndStopBesideTurns arms and stops timers while another goroutine takes and ends turns
// of a worker, without callbacks. Neither writes a word that the other one reads.
func BenchmarkArmAndStopBesideTurns(b *testing.B) {
	for _, turns := range []bool{false, true} {
		name := "alone"
		if turns {
			name = "turns"
		}
		b.Run(name, func(b *testing.B) {
			eng, err := New(Config{Workers: 64})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if _, err := eng.Shutdown(context.Background(), func() int { return 0 }); err != nil {
					b.Error(err)
				}
			})
			if _, err := eng.AfterFunc(time.Hour, func() {}); err != nil {
				b.Fatal(err)
			}
			var wg sync.WaitGroup
			stop := make(chan struct{})
			if turns {
				w := (*eng.workers.Load())[0]
				wg.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							w.release(w.claim(eng.Now(), 0))
						}
					}
				})
			}
			for b.Loop() {
				t, err := eng.AfterFunc(2*time.Hour, func() {})
				if err != nil {
					b.Fatal(err)
				}
				t.Stop()
			}
			close(stop)
			wg.Wait()
		})
	}
}

// BenchmarkArmAndStopOnAllProcessors arms and stops timers on a goroutine for each processor.
func BenchmarkArmAndStopOnAllProcessors(b *testing.B) {
	b.Run("foliot", func(b *testing.B) {
		eng, err := New(Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if _, err := eng.Shutdown(context.Background(), func() int { return 0 }); err != nil {
				b.Error(err)
			}
		})
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				t, err := eng.AfterFunc(time.Hour, func() {})
				if err != nil {
					b.Error(err)
					return
				}
				t.Stop()
			}
		})
	})
	b.Run("std", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				time.AfterFunc(time.Hour, func() {}).Stop()
			}
		})
	})
}

// BenchmarkLastOf64Workers fires a timer on each of 64 workers at once, and reports how late the last
// callback begins. A callback sleeps for a short time, so that the callbacks of goroutines that run
// at the same time overlap on any number of processors.
func BenchmarkLastOf64Workers(b *testing.B) {
	eng, err := New(Config{Workers: 64, perWorker: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if _, err := eng.Shutdown(context.Background(), func() int { return 0 }); err != nil {
			b.Error(err)
		}
	})
	withoutDriver(eng)
	var began, last atomic.Int64
	var calls sync.WaitGroup
	var timers []Timer
	open := eng.openShards.Load()
	for _, s := range *open {
		eng.openShards.Store(&[]*Shard{s})
		t, err := eng.NewTimer(func() {
			defer calls.Done()
			now := eng.Now()
			last.Store(max(last.Load(), now-began.Load()))
			time.Sleep(100 * time.Microsecond)
		})
		if err != nil {
			b.Fatal(err)
		}
		timers = append(timers, t)
	}
	eng.openShards.Store(open)
	sum := int64(0)
	for b.Loop() {
		calls.Add(len(timers))
		for _, t := range timers {
			t.Reset(0)
		}
		for eng.timekeeper.earliest() > eng.Now() {
		}
		last.Store(0)
		began.Store(eng.Now())
		eng.timekeeper.runDue(&driver{epoch: 1})
		calls.Wait()
		sum += last.Load()
	}
	b.ReportMetric(float64(sum)/float64(b.N)/1e6, "ms-late/op")
}
