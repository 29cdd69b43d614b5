package hist

import (
	"math"
	"slices"
	"testing"
	"unsafe"
)

// edges returns 0, 2^k - 1, 2^k and 2^k + 1 for every k, and the largest int64.
func edges() []int64 {
	e := []int64{0, math.MaxInt64}
	for k := range 63 {
		e = append(e, 1<<k-1, 1<<k, 1<<k+1)
	}
	slices.Sort(e)
	return slices.Compact(e)
}

// record returns a Hist of the given numbers.
func record(vs ...int64) *Hist {
	var h Hist
	for _, v := range vs {
		h.Record(v)
	}
	return &h
}

func TestEveryBucketEndsWhereTheNextBegins(t *testing.T) {
	lower := int64(0)
	for i := range buckets {
		up := upper(i)
		if up < lower {
			t.Fatalf("bucket %d is %d to %d", i, lower, up)
		}
		for _, v := range []int64{lower, lower + (up-lower)/2, up} {
			if got := index(uint64(v)); got != i {
				t.Fatalf("%d is in bucket %d, which is not %d to %d", v, got, lower, up)
			}
		}
		if i < 2*subs && up != lower {
			t.Errorf("bucket %d is %d to %d, want one number", i, lower, up)
		}
		if width := up - lower + 1; width > max(lower/16, 1) {
			t.Errorf("bucket %d from %d on is %d wide, more than a sixteenth", i, lower, width)
		}
		if i == buckets-1 {
			if up != math.MaxInt64 {
				t.Errorf("the last bucket ends at %d", up)
			}
			break
		}
		lower = up + 1
	}
}

func TestAHistIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Hist{}); size > 8<<10 {
		t.Errorf("a Hist has %d bytes, want at most 8 KiB", size)
	}
}

func TestAnEmptyHistIsAllZero(t *testing.T) {
	var h Hist
	if h.Count() != 0 || h.Sum() != 0 || h.Max() != 0 || h.Mean() != 0 {
		t.Errorf("Count %d, Sum %d, Max %d, Mean %d", h.Count(), h.Sum(), h.Max(), h.Mean())
	}
	for _, q := range []float64{math.Inf(-1), -1, 0, 0.5, 1, 2, math.Inf(1), math.NaN()} {
		if got := h.Quantile(q); got != 0 {
			t.Errorf("Quantile(%v) is %d", q, got)
		}
	}
	for range h.All() {
		t.Error("All yields a bucket")
	}
	h.Merge(new(Hist))
	if h != (Hist{}) {
		t.Error("merging an empty Hist has changed it")
	}
}

func TestNegativeNumbersCountAsZero(t *testing.T) {
	h := record(-1, math.MinInt64, -1000)
	if *h != *record(0, 0, 0) {
		t.Errorf("Count %d, Sum %d, Max %d", h.Count(), h.Sum(), h.Max())
	}
	if h.Count() != 3 || h.Sum() != 0 || h.Max() != 0 || h.Quantile(0.5) != 0 {
		t.Errorf("Count %d, Sum %d, Max %d, median %d", h.Count(), h.Sum(), h.Max(), h.Quantile(0.5))
	}
}

func TestASingleNumberIsExact(t *testing.T) {
	for _, v := range edges() {
		h := record(v)
		if h.Count() != 1 || h.Sum() != v || h.Max() != v || h.Mean() != v {
			t.Errorf("%d: Count %d, Sum %d, Max %d, Mean %d", v, h.Count(), h.Sum(), h.Max(), h.Mean())
		}
		for _, q := range []float64{-1, 0, 0.5, 1} {
			if got := h.Quantile(q); got != v {
				t.Errorf("%d: Quantile(%v) is %d", v, q, got)
			}
		}
	}
}

func TestQuantilesAtAndBeyondTheEnds(t *testing.T) {
	h := record(100, 1000, 5000, 1_000_003)
	for _, tt := range []struct {
		q    float64
		want int64
	}{
		{math.Inf(-1), 103},
		{-0.5, 103},
		{math.Copysign(0, -1), 103},
		{0, 103},
		{math.SmallestNonzeroFloat64, 103},
		{0.25, 103},
		{math.Nextafter(0.25, 1), 1023},
		{0.5, 1023},
		{0.75, 5119},
		{math.Nextafter(1, 0), 1_000_003},
		{1, 1_000_003},
		{1.5, 1_000_003},
		{math.Inf(1), 1_000_003},
		{math.NaN(), 0},
	} {
		if got := h.Quantile(tt.q); got != tt.want {
			t.Errorf("Quantile(%v) is %d, want %d", tt.q, got, tt.want)
		}
	}
}

func TestTheMeanIsExactEvenIfTheSumOverflows(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 1000} {
		var h Hist
		for range n {
			h.Record(math.MaxInt64)
		}
		if h.Sum() != math.MaxInt64 || h.Mean() != math.MaxInt64 {
			t.Errorf("%d times the largest int64: Sum %d, Mean %d", n, h.Sum(), h.Mean())
		}
		for range n {
			h.Record(1)
		}
		if h.Sum() != math.MaxInt64 || h.Mean() != 1<<62 {
			t.Errorf("%d times 2^63: Sum %d, Mean %d, want %d", n, h.Sum(), h.Mean(), int64(1<<62))
		}
	}
}

func TestTheMeanIsRoundedDown(t *testing.T) {
	if got := record(1, 2, 2).Mean(); got != 1 {
		t.Errorf("the mean of 1, 2, 2 is %d, want 1", got)
	}
}

func TestTheSumIsAtMostTheLargestInt64(t *testing.T) {
	h := record(math.MaxInt64-1, 1)
	if h.Sum() != math.MaxInt64 {
		t.Errorf("Sum is %d", h.Sum())
	}
	for range 4 {
		h.Record(1 << 62)
		if h.Sum() != math.MaxInt64 {
			t.Errorf("Sum is %d", h.Sum())
		}
	}
}

func TestCountsMayExceedAUint32(t *testing.T) {
	h := record(10)
	for range 62 { // each doubles the count
		h.Merge(h)
	}
	h.Record(20)
	if h.Count() != 1<<62+1 || h.Quantile(0.999999) != 10 || h.Quantile(1) != 20 || h.Mean() != 10 {
		t.Errorf("Count %d, Quantile %d, Max %d, Mean %d", h.Count(), h.Quantile(0.999999), h.Max(), h.Mean())
	}
}

func TestAllYieldsTheBucketsInOrderAndAllowsBreak(t *testing.T) {
	type bucket struct {
		upper int64
		count uint64
	}
	h := record(7, 64, 67, 68, 7, math.MaxInt64, 0)
	want := []bucket{{0, 1}, {7, 2}, {67, 2}, {71, 1}, {math.MaxInt64, 1}}
	var got []bucket
	for up, n := range h.All() {
		got = append(got, bucket{up, n})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got = nil
	for up, n := range h.All() {
		got = append(got, bucket{up, n})
		if up == 7 {
			break
		}
	}
	if !slices.Equal(got, want[:2]) {
		t.Errorf("got %v before break, want %v", got, want[:2])
	}
}

func TestNothingAllocates(t *testing.T) {
	var h, other Hist
	other.Record(12345)
	v := int64(1)
	// AllocsPerRun rounds the average per run down, so the whole loop is a single run.
	if n := testing.AllocsPerRun(1, func() {
		for range 1000 {
			v = v*3 + 1
			h.Record(v)
			h.Merge(&other)
			var count uint64
			for _, n := range h.All() {
				count += n
			}
			if count != h.Count() || h.Quantile(0.5) > h.Max() || h.Mean() > h.Sum() {
				t.Fatal("count, median or mean is wrong")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations in 1000 runs, want none", n)
	}
}
