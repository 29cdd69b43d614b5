package prometheus

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/foliot-go/foliot"
)

// record returns a histogram of the durations.
func record(ds ...time.Duration) foliot.Histogram {
	return foliot.Histogram{}.Add(ds...)
}

// bucketBound returns the longest duration of the bucket of d in a foliot.Histogram.
func bucketBound(d time.Duration) time.Duration {
	for bound := range record(d).All() {
		return bound
	}
	return -1
}

// edges returns durations at the ends of buckets of each kind.
func edges() []time.Duration {
	ds := []time.Duration{0, math.MaxInt64}
	for k := range 62 {
		ds = append(ds, 1<<k-1, 1<<k, 1<<k+1)
	}
	for _, b := range bounds {
		ds = append(ds, b-1, b, b+1)
	}
	for i := -30 << schema; i < 10<<schema; i++ {
		if d := time.Duration(math.Exp2(float64(i)/(1<<schema)) * 1e9); d > 0 {
			ds = append(ds, d-1, d, d+1)
		}
	}
	slices.Sort(ds)
	return slices.Compact(ds)
}

// samples returns n durations of a distribution, which differs from seed to seed.
func samples(seed uint64, n int) []time.Duration {
	r := rand.New(rand.NewPCG(seed, 1))
	scale, spread := math.Exp(r.Float64()*20), r.Float64()*3
	ds := make([]time.Duration, n)
	for i := range ds {
		ds[i] = time.Duration(scale * math.Exp(r.NormFloat64()*spread))
		if r.IntN(20) == 0 {
			ds[i] = 0
		}
	}
	return ds
}

// A histogram of client_golang that gets the bounds of the buckets must look the same.
func TestTheBucketsAreThoseOfClientGolang(t *testing.T) {
	inputs := [][]time.Duration{nil, {0}, {1}, edges()}
	for _, d := range edges() {
		inputs = append(inputs, []time.Duration{d})
	}
	for seed := range uint64(50) {
		inputs = append(inputs, samples(seed, 1000))
	}
	var les []float64
	for _, b := range bounds {
		les = append(les, b.Seconds())
	}
	for _, ds := range inputs {
		reference := client.NewHistogram(client.HistogramOpts{Name: "reference", Buckets: les, NativeHistogramBucketFactor: 1.1})
		for _, d := range ds {
			reference.Observe(bucketBound(d).Seconds())
		}
		var m dto.Metric
		if err := reference.Write(&m); err != nil {
			t.Fatal(err)
		}
		want := m.GetHistogram()
		want.CreatedTimestamp = nil
		if last := want.Bucket[len(want.Bucket)-1]; math.IsInf(last.GetUpperBound(), 1) {
			want.Bucket = want.Bucket[:len(want.Bucket)-1]
		}
		got := convert(record(ds...), bounds[:])
		want.SampleSum = got.SampleSum // that of got is exact, see below
		if !proto.Equal(got, want) {
			t.Fatalf("%d durations from %v on:\ngot  %v\nwant %v", len(ds), ds[:min(len(ds), 5)], got, want)
		}
	}
}

// nativeCounts returns the counts of native buckets by index.
func nativeCounts(h *dto.Histogram) map[int]int64 {
	counts := map[int]int64{}
	var index int
	var count int64
	deltas := h.GetPositiveDelta()
	for _, s := range h.GetPositiveSpan() {
		index += int(s.GetOffset())
		for range s.GetLength() {
			count += deltas[0]
			deltas = deltas[1:]
			counts[index] = count
			index++
		}
	}
	return counts
}

func TestCountAndSumAreExact(t *testing.T) {
	for seed := range uint64(100) {
		ds := samples(seed, 500)
		var sum time.Duration
		for _, d := range ds {
			sum += d
		}
		h := convert(record(ds...), bounds[:])
		if h.GetSampleCount() != 500 || h.GetSampleSum() != sum.Seconds() {
			t.Errorf("count %d, sum %v, want %v", h.GetSampleCount(), h.GetSampleSum(), sum.Seconds())
		}
		native := h.GetZeroCount()
		for index, n := range nativeCounts(h) {
			if n < 0 {
				t.Errorf("bucket %d has a count of %d", index, n)
			}
			native += uint64(n)
		}
		if native != 500 {
			t.Errorf("the native buckets have %d durations", native)
		}
		var before uint64
		for i, b := range h.GetBucket() {
			if b.GetUpperBound() != bounds[i].Seconds() || b.GetCumulativeCount() < before {
				t.Errorf("%d durations up to %v, and %d up to the next bound", before, bounds[max(i-1, 0)], b.GetCumulativeCount())
			}
			before = b.GetCumulativeCount()
		}
	}
}

// A bucket has no duration above its bound, and misses none that is at least a sixteenth below it.
func TestABucketMissesOnlyDurationsJustBelowItsBound(t *testing.T) {
	for seed := range uint64(100) {
		ds := samples(seed, 500)
		for _, b := range convert(record(ds...), bounds[:]).GetBucket() {
			var certain, possible uint64
			for _, d := range ds {
				if d.Seconds() <= b.GetUpperBound() {
					possible++
				}
				if d.Seconds()*(1+1.0/16) <= b.GetUpperBound() {
					certain++
				}
			}
			if n := b.GetCumulativeCount(); n < certain || n > possible {
				t.Errorf("%d durations up to %v, want %d to %d", n, b.GetUpperBound(), certain, possible)
			}
		}
	}
}

// span is a range of durations in seconds: above low, up to high.
type span struct{ low, high float64 }

// classicQuantile returns the classic bucket that the duration with the rank is in.
func classicQuantile(h *dto.Histogram, rank uint64) span {
	low := 0.0
	for _, b := range h.GetBucket() {
		if b.GetCumulativeCount() >= rank {
			return span{low, b.GetUpperBound()}
		}
		low = b.GetUpperBound()
	}
	return span{low, math.Inf(1)}
}

// nativeQuantile returns the native bucket that the duration with the rank is in.
func nativeQuantile(h *dto.Histogram, rank uint64) span {
	if rank <= h.GetZeroCount() {
		return span{0, 0}
	}
	counts := nativeCounts(h)
	below := h.GetZeroCount()
	for index := -100 << schema; ; index++ {
		if below += uint64(counts[index]); below >= rank {
			return span{math.Exp2(float64(index-1) / (1 << schema)), math.Exp2(float64(index) / (1 << schema))}
		}
	}
}

func TestPercentilesOfBothFormsAgreeWithTheDurations(t *testing.T) {
	const n = 1000
	for seed := range uint64(100) {
		ds := samples(seed, n)
		histogram := record(ds...)
		h := convert(histogram, bounds[:])
		slices.Sort(ds)
		for _, rank := range []uint64{1, n / 10, n / 2, n * 9 / 10, n * 99 / 100, n} {
			real := ds[rank-1].Seconds()
			stated := histogram.Quantile(float64(rank) / n).Seconds()
			for form, s := range map[string]span{"classic": classicQuantile(h, rank), "native": nativeQuantile(h, rank)} {
				const rounding = 1 + 1e-12 // of Exp2
				if real > s.high*rounding || stated > s.high*rounding || real > 0 && real*(1+1.0/16) < s.low/rounding {
					t.Errorf("seed %d, rank %d: %v, stated as %v, is in the %s bucket from %v to %v", seed, rank, real, stated, form, s.low, s.high)
				}
			}
		}
	}
}

// If a count fell, a server would take it for a program that was started again.
func TestNoBucketFallsWhenDurationsAreAdded(t *testing.T) {
	h := record()
	before := convert(h, bounds[:])
	for _, d := range samples(1, 2000) {
		h = h.Add(d)
		after := convert(h, bounds[:])
		counts := nativeCounts(after)
		for index, n := range nativeCounts(before) {
			if counts[index] < n {
				t.Fatalf("%v is added, and the native bucket %d goes from %d to %d", d, index, n, counts[index])
			}
		}
		for i, b := range before.GetBucket() {
			if n := after.GetBucket()[i].GetCumulativeCount(); n < b.GetCumulativeCount() {
				t.Fatalf("%v is added, and the bucket up to %v goes from %d to %d", d, b.GetUpperBound(), b.GetCumulativeCount(), n)
			}
		}
		before = after
	}
}

// Else a server would show stripes that have nothing to do with the durations.
func TestNoNativeBucketIsAlwaysEmpty(t *testing.T) {
	var ds []time.Duration
	for d := 32 * time.Nanosecond; d < time.Hour; d += max(d/100, 1) {
		ds = append(ds, d)
	}
	counts := nativeCounts(convert(record(ds...), bounds[:]))
	for i := nativeIndex(ds[0].Seconds()) + 1; i < nativeIndex(ds[len(ds)-1].Seconds()); i++ {
		if counts[int(i)] == 0 {
			t.Errorf("the native bucket up to %v s is empty", math.Exp2(float64(i)/(1<<schema)))
		}
	}
}

func TestAnEmptyHistogramHasBothForms(t *testing.T) {
	h := convert(foliot.Histogram{}, bounds[2:])
	if h.GetSampleCount() != 0 || len(h.GetBucket()) != len(bounds)-2 || h.GetSchema() != schema || h.GetZeroThreshold() <= 0 || h.ZeroCount == nil {
		t.Error(h)
	}
}
