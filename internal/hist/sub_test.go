package hist

import (
	"math"
	"math/rand/v2"
	"testing"
)

// randomNumbers returns numbers of all magnitudes.
func randomNumbers(rng *rand.Rand, n int) []int64 {
	vs := make([]int64, n)
	for i := range vs {
		vs[i] = rng.Int64() >> rng.IntN(63)
	}
	return vs
}

func TestSubLeavesWhatWasRecordedSince(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		before, since := randomNumbers(rng, rng.IntN(50)), randomNumbers(rng, rng.IntN(50))
		earlier, want := record(before...), record(since...)
		h := record(append(before, since...)...)
		if !h.Sub(earlier) {
			t.Fatalf("Sub returns false for %v after %v", since, before)
		}
		if h.counts != want.counts || h.count != want.count || h.hi != want.hi || h.lo != want.lo {
			t.Fatalf("after %v and Sub, the Hist is not that of %v", before, since)
		}
		if h.max < want.max || h.max-want.max > want.max/16 {
			t.Fatalf("Max is %d, want %d or up to a sixteenth more", h.max, want.max)
		}
		if want.max > earlier.max && h.max != want.max {
			t.Fatalf("Max is %d, want %d: it is larger than all before", h.max, want.max)
		}
		if mean := h.Mean(); mean != want.Mean() || mean > h.max {
			t.Fatalf("Mean is %d and Max %d, want the mean %d", mean, h.max, want.Mean())
		}
	}
}

func TestSubOfItselfIsEmpty(t *testing.T) {
	for _, vs := range [][]int64{nil, {0}, {5, 1 << 40, math.MaxInt64, math.MaxInt64}} {
		h := record(vs...)
		if !h.Sub(record(vs...)) || *h != (Hist{}) {
			t.Errorf("%v minus itself is not empty", vs)
		}
	}
}

func TestSubOfWhatWasNotRecordedChangesNothing(t *testing.T) {
	for _, c := range []struct{ h, earlier []int64 }{
		{nil, []int64{0}},
		{[]int64{5}, []int64{5, 5}},
		{[]int64{5, 6, 7}, []int64{1 << 40}},
		{[]int64{1 << 40}, []int64{1<<40 + 1}},                   // the same bucket, a smaller sum
		{[]int64{1<<40 + 1}, []int64{1 << 40}},                   // the same bucket, a larger sum
		{[]int64{0, 1<<40 + 9, 1<<40 + 9}, []int64{1 << 40, 0}},  // the mean would be larger than the maximum
		{[]int64{1, math.MaxInt64}, []int64{math.MaxInt64 - 99}}, // as before
	} {
		h := record(c.h...)
		if h.Sub(record(c.earlier...)) {
			t.Errorf("%v minus %v: Sub returns true with the sum %d", c.h, c.earlier, h.Sum())
		}
		if *h != *record(c.h...) {
			t.Errorf("%v minus %v: Sub returns false but has changed the Hist", c.h, c.earlier)
		}
	}
}
