package hist

import (
	"math/rand/v2"
	"testing"
)

// lateness returns how late some timers are: 80 µs on average, and every hundredth much more.
func lateness() []int64 {
	r := rand.New(rand.NewPCG(1, 1))
	vs := make([]int64, 1<<12)
	for i := range vs {
		vs[i] = int64(r.ExpFloat64() * 80_000)
		if i%100 == 0 {
			vs[i] *= 1000
		}
	}
	return vs
}

func BenchmarkRecord(b *testing.B) {
	vs := lateness()
	var h Hist
	i := 0
	for b.Loop() {
		h.Record(vs[i&(1<<12-1)])
		i++
	}
}

func BenchmarkMerge(b *testing.B) {
	h := record(lateness()...)
	var sum Hist
	for b.Loop() {
		sum.Merge(h)
	}
}

func BenchmarkQuantile(b *testing.B) {
	h := record(lateness()...)
	for b.Loop() {
		h.Quantile(0.99)
	}
}
