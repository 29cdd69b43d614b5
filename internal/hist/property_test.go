package hist

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// check compares h with the numbers that it should have recorded, and returns the first difference. It sorts vs.
func check(h *Hist, vs []int64, qs []float64) error {
	for i := range vs {
		vs[i] = max(vs[i], 0)
	}
	slices.Sort(vs)
	if h.Count() != uint64(len(vs)) {
		return fmt.Errorf("Count is %d, want %d", h.Count(), len(vs))
	}
	if len(vs) == 0 {
		if *h != (Hist{}) {
			return fmt.Errorf("not empty: Sum %d, Max %d", h.Sum(), h.Max())
		}
		return nil
	}
	if want := vs[len(vs)-1]; h.Max() != want {
		return fmt.Errorf("Max is %d, want %d", h.Max(), want)
	}
	sum := new(big.Int)
	for _, v := range vs {
		sum.Add(sum, big.NewInt(v))
	}
	want := int64(math.MaxInt64)
	if sum.IsInt64() {
		want = sum.Int64()
	}
	if h.Sum() != want {
		return fmt.Errorf("Sum is %d, want %d", h.Sum(), want)
	}
	if want := sum.Quo(sum, big.NewInt(int64(len(vs)))).Int64(); h.Mean() != want {
		return fmt.Errorf("Mean is %d, want %d", h.Mean(), want)
	}
	for _, q := range qs {
		if err := checkQuantile(h, vs, q); err != nil {
			return err
		}
	}
	return checkAll(h, vs)
}

func checkQuantile(h *Hist, sorted []int64, q float64) error {
	got := h.Quantile(q)
	if math.IsNaN(q) {
		if got != 0 {
			return fmt.Errorf("Quantile(NaN) is %d", got)
		}
		return nil
	}
	// The smallest number such that at least the share q of all numbers does not exceed it.
	rank := 0
	for rank < len(sorted)-1 && float64(rank+1) < q*float64(len(sorted)) {
		rank++
	}
	exact := sorted[rank]
	atMost := int64(math.MaxInt64)
	if exact <= math.MaxInt64-exact/16-1 {
		atMost = exact + exact/16
	}
	atMost = min(atMost, sorted[len(sorted)-1])
	if q >= 1 {
		atMost = exact
	}
	if got < exact || got > atMost {
		return fmt.Errorf("Quantile(%v) of %d is %d, want %d to %d", q, len(sorted), got, exact, atMost)
	}
	return nil
}

func checkAll(h *Hist, sorted []int64) error {
	last := int64(-1)
	for up, n := range h.All() {
		if up <= last {
			return fmt.Errorf("All yields %d after %d", up, last)
		}
		if n == 0 || n > uint64(len(sorted)) {
			return fmt.Errorf("All yields %d numbers up to %d, but only %d are left", n, up, len(sorted))
		}
		if in := sorted[:n]; in[0] <= last || in[n-1] > up {
			return fmt.Errorf("All yields %d numbers in %d to %d, but they are %d to %d", n, last+1, up, in[0], in[n-1])
		}
		sorted = sorted[n:]
		last = up
	}
	if len(sorted) > 0 {
		return fmt.Errorf("All leaves out %d numbers from %d on", len(sorted), sorted[0])
	}
	return nil
}

var someQuantiles = []float64{-1, 0, 1e-9, 0.01, 0.1, 0.25, 1. / 3, 0.5, 0.9, 0.95, 0.99, 0.999, 1 - 1e-9, 1, 2, math.NaN()}

// draws are functions that return random numbers of some distribution.
var draws = map[string]func(r *rand.Rand) int64{
	"small":       func(r *rand.Rand) int64 { return r.Int64N(40) },
	"all sizes":   func(r *rand.Rand) int64 { return r.Int64() >> r.IntN(63) },
	"signed":      func(r *rand.Rand) int64 { return int64(r.Uint64()) >> r.IntN(63) },
	"exponential": func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 80_000) },
	"two peaks":   func(r *rand.Rand) int64 { return int64(max(r.NormFloat64()*9000, r.NormFloat64()*2e6+3e6)) },
	"huge":        func(r *rand.Rand) int64 { return math.MaxInt64 - r.Int64N(1<<60) },
	"the edges":   func(r *rand.Rand) int64 { e := edges(); return e[r.IntN(len(e))] },
	"one number":  func(*rand.Rand) int64 { return 123_456_789 },
}

func TestAHistAgreesWithASortedSlice(t *testing.T) {
	for name, draw := range draws {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			vs := make([]int64, r.IntN(1+1<<(seed/2)))
			for i := range vs {
				vs[i] = draw(r)
			}
			qs := someQuantiles
			for range 10 {
				qs = append(qs[:len(qs):len(qs)], r.Float64())
			}
			if err := check(record(vs...), vs, qs); err != nil {
				t.Errorf("%s, seed %d: %v", name, seed, err)
			}
		}
	}
}

func TestMergingIsTheSameAsRecordingEverything(t *testing.T) {
	for name, draw := range draws {
		for seed := range uint64(10) {
			r := rand.New(rand.NewPCG(seed, 2))
			parts := make([]Hist, 1+r.IntN(5))
			var all, merged Hist
			for range r.IntN(1000) {
				v := draw(r)
				all.Record(v)
				parts[r.IntN(len(parts))].Record(v)
			}
			before := slices.Clone(parts)
			for i := range parts {
				merged.Merge(&parts[i])
			}
			if merged != all {
				t.Errorf("%s, seed %d: %d parts make Count %d, Sum %d, Max %d, want %d, %d, %d", name, seed, len(parts),
					merged.Count(), merged.Sum(), merged.Max(), all.Count(), all.Sum(), all.Max())
			}
			if !slices.Equal(parts, before) {
				t.Errorf("%s, seed %d: Merge has changed its argument", name, seed)
			}
		}
	}
}

func TestMergingAHistWithItselfDoublesIt(t *testing.T) {
	h, want := record(0, 5, 77, math.MaxInt64), record(0, 5, 77, math.MaxInt64, 0, 5, 77, math.MaxInt64)
	h.Merge(h)
	if *h != *want {
		t.Errorf("Count %d, Mean %d, want %d, %d", h.Count(), h.Mean(), want.Count(), want.Mean())
	}
}

// FuzzHist reads data as numbers of eight bytes each. The lowest six bits of a number say how far it is shifted, so that
// numbers of all sizes occur. The numbers from index cut on are recorded in a second Hist and merged.
func FuzzHist(f *testing.F) {
	words := func(vs ...uint64) []byte {
		var b []byte
		for _, v := range vs {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	f.Add([]byte{}, 0.5, uint8(0))
	f.Add(words(0, 1<<63, 1<<62, 1<<62|1<<5, 12345<<6), 0.99, uint8(2))
	f.Add(words(math.MaxUint64, math.MaxInt64&^63, math.MaxInt64&^63, 1<<40), 0.3, uint8(3))
	f.Add(words(1<<20, 2<<20, 3<<20, 4<<20, 5<<20, 6<<20, 7<<20), 1./7, uint8(9))
	f.Add(words(40<<6, 41<<6), math.NaN(), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, q float64, cut uint8) {
		var h, rest Hist
		var vs []int64
		for ; len(data) >= 8 && len(vs) < 500; data = data[8:] {
			word := binary.LittleEndian.Uint64(data)
			v := int64(word) >> (word & 63)
			if len(vs) < int(cut) {
				h.Record(v)
			} else {
				rest.Record(v)
			}
			vs = append(vs, v)
		}
		h.Merge(&rest)
		if err := check(&h, vs, append(someQuantiles[:len(someQuantiles):len(someQuantiles)], q)); err != nil {
			t.Error(err)
		}
	})
}
