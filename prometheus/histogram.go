package prometheus

import (
	"math"
	"slices"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/foliot-go/foliot"
)

const (
	// schema is the resolution of native histograms. With 3 there are 8 buckets for each power of two,
	// each 9 % wide. The buckets of a foliot.Histogram are up to 6.25 % wide, so each native bucket has
	// the end of at least one of them. With 4 a native bucket would be 4.4 % wide, and some would be
	// empty whatever the durations are.
	schema = 3

	// zeroThreshold is the longest duration of the zero bucket, in seconds. It is the default of
	// client_golang, and less than a nanosecond: only durations of 0 are in the bucket. It must not be 0,
	// as an empty histogram would then not count as a native one.
	zeroThreshold = 2.938735877055719e-39
)

// histogram is a metric that does not change.
type histogram struct {
	desc   *client.Desc
	labels []*dto.LabelPair
	value  *dto.Histogram
}

// newHistogram returns the metric of h with classic buckets of the given bounds and native ones.
func newHistogram(desc *client.Desc, h foliot.Histogram, bounds []time.Duration) client.Metric {
	if err := desc.Err(); err != nil {
		return client.NewInvalidMetric(desc, err)
	}
	return &histogram{desc, client.MakeLabelPairs(desc, nil), convert(h, bounds)}
}

func (h *histogram) Desc() *client.Desc { return h.desc }

func (h *histogram) Write(m *dto.Metric) error {
	m.Label = h.labels
	m.Histogram = h.value
	return nil
}

// convert counts all durations of a bucket of h in one classic and in one native bucket: those that the
// bound of the bucket of h belongs in. The choice depends on that bound alone, so no count ever falls. In
// particular it does not depend on h.Max, which would be a better bound for the last bucket.
func convert(h foliot.Histogram, bounds []time.Duration) *dto.Histogram {
	var (
		total   uint64
		zero    uint64
		native  nativeBuckets
		classic = make([]*dto.Bucket, 0, len(bounds))
	)
	closeUntil := func(d time.Duration) { // adds the classic buckets whose bounds are less than d
		for len(classic) < len(bounds) && bounds[len(classic)] < d {
			classic = append(classic, &dto.Bucket{
				UpperBound:      proto.Float64(bounds[len(classic)].Seconds()),
				CumulativeCount: proto.Uint64(total),
			})
		}
	}
	for bound, n := range h.All() {
		closeUntil(bound)
		total += n
		if bound == 0 {
			zero = n
		} else {
			native.add(nativeIndex(bound.Seconds()), int64(n))
		}
	}
	closeUntil(math.MaxInt64)
	return &dto.Histogram{
		SampleCount:   proto.Uint64(total),
		SampleSum:     proto.Float64(h.Sum().Seconds()),
		Bucket:        classic,
		Schema:        proto.Int32(schema),
		ZeroThreshold: proto.Float64(zeroThreshold),
		ZeroCount:     proto.Uint64(zero),
		PositiveSpan:  native.spans,
		PositiveDelta: native.deltas,
	}
}

// nativeBounds are the bounds of native buckets from 0.5 to 1, which is not one of them.
var nativeBounds = func() (b [1 << schema]float64) {
	for i := range b {
		b[i] = math.Exp2(float64(i)/float64(len(b)) - 1)
	}
	return b
}()

// nativeIndex returns the index of the native bucket of v, which is more than 0. The bucket with index i
// has the numbers from 2^((i-1)/8), exclusive, to 2^(i/8), inclusive.
func nativeIndex(v float64) int32 {
	frac, exp := math.Frexp(v)
	i, _ := slices.BinarySearch(nativeBounds[:], frac)
	return int32(i + (exp-1)*len(nativeBounds))
}

// nativeBuckets are buckets as native histograms encode them. A span is a run of buckets, and a delta is
// the difference of the counts of a bucket and of the one before it.
type nativeBuckets struct {
	spans  []*dto.BucketSpan
	deltas []int64
	next   int32 // the index after the last bucket
	last   int64 // the count of the last bucket
}

// add counts n in a bucket. Its index is not less than that of the last call.
func (b *nativeBuckets) add(index int32, n int64) {
	if len(b.spans) > 0 && index == b.next-1 {
		b.deltas[len(b.deltas)-1] += n
		b.last += n
		return
	}
	// The offset of the first span is an index. A new span takes more room than up to two empty buckets.
	if gap := index - b.next; len(b.spans) == 0 || gap > 2 {
		b.spans = append(b.spans, &dto.BucketSpan{Offset: proto.Int32(gap), Length: proto.Uint32(0)})
	} else {
		for range gap {
			b.push(0)
		}
	}
	b.push(n)
	b.next = index + 1
}

// push appends a bucket with a count to the last span.
func (b *nativeBuckets) push(n int64) {
	b.deltas = append(b.deltas, n-b.last)
	b.last = n
	*b.spans[len(b.spans)-1].Length++
}
