package engine

import (
	"sync"
	"sync/atomic"
	"testing"
)

// BenchmarkSpawned compares what a callback on its own goroutine costs, on all processors at the
// same time, with what its two changes of counters.spawned cost: by one atomic variable, and by one
// for each goroutine, which is the best that a striped counter could do.
func BenchmarkSpawned(b *testing.B) {
	b.Run("callback", func(b *testing.B) {
		eng, err := New(Config{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if _, err := eng.Shutdown(b.Context(), func() int { return 0 }); err != nil {
				b.Log(err)
			}
		})
		w := (*eng.workers.Load())[0]
		s := w.own[0]
		b.RunParallel(func(pb *testing.PB) {
			var ran sync.WaitGroup
			for pb.Next() {
				ran.Add(1)
				w.spawn(call{fn: ran.Done, shard: s})
				ran.Wait()
			}
		})
	})
	b.Run("one counter", func(b *testing.B) {
		var n atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				n.Add(1)
				n.Add(-1)
			}
		})
	})
	b.Run("a counter for each", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			var n struct {
				_ [128]byte
				atomic.Int64
				_ [128]byte
			}
			for pb.Next() {
				n.Add(1)
				n.Add(-1)
			}
		})
	})
}
