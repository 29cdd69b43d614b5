package engine

import (
	"sync"
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
				if _, err := eng.Shutdown(b.Context(), func() int { return 0 }); err != nil {
					b.Log(err)
				}
			})
			if _, err := eng.AfterFunc(time.Hour, func() {}, false); err != nil {
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
				t, err := eng.AfterFunc(2*time.Hour, func() {}, false)
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
			if _, err := eng.Shutdown(b.Context(), func() int { return 0 }); err != nil {
				b.Log(err)
			}
		})
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				t, err := eng.AfterFunc(time.Hour, func() {}, false)
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
