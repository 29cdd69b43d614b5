package stripe

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
)

// BenchmarkAdd compares a Counter with one atomic variable, and with a Counter whose stripes are
// picked at random. Run it with -cpu=1,2,4,8.
func BenchmarkAdd(b *testing.B) {
	b.Run("striped", func(b *testing.B) {
		c := New(0)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.Add(1)
			}
		})
	})
	b.Run("atomic", func(b *testing.B) {
		var c struct {
			_ [line]byte
			n atomic.Int64
			_ [line]byte
		}
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.n.Add(1)
			}
		})
	})
	b.Run("random", func(b *testing.B) {
		c := New(0)
		var seed atomic.Uint64
		b.RunParallel(func(pb *testing.PB) {
			r := rand.NewPCG(seed.Add(1), 0)
			for pb.Next() {
				c.stripes[r.Uint64()&uint64(len(c.stripes)-1)].n.Add(1)
			}
		})
	})
}

func BenchmarkSum(b *testing.B) {
	c := New(64)
	var sum int64
	for b.Loop() {
		sum += c.Sum()
	}
	runtime.KeepAlive(sum)
}

func BenchmarkHint(b *testing.B) {
	var sum uint32
	for b.Loop() {
		sum += Hint()
	}
	runtime.KeepAlive(sum)
}

func BenchmarkPick(b *testing.B) {
	sum, n := 0, 12
	for b.Loop() {
		sum += Pick(n)
	}
	runtime.KeepAlive(sum)
}
