package foliot

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/foliot-go/foliot/internal/hist"
)

// A Histogram is a distribution of durations. It counts them in buckets: Quantile and All
// are exact to a sixteenth. A Histogram does not change. The zero Histogram is empty.
type Histogram struct {
	h *hist.Hist
}

var emptyHist hist.Hist

func (h Histogram) get() *hist.Hist {
	if h.h == nil {
		return &emptyHist
	}
	return h.h
}

// Count returns the number of durations.
func (h Histogram) Count() uint64 { return h.get().Count() }

// Quantile returns a duration that a share q of the durations does not exceed:
// Quantile(0.5) is the median, Quantile(1) the maximum. The result may be up to a sixteenth
// too long. It is 0 if the Histogram is empty.
func (h Histogram) Quantile(q float64) time.Duration {
	return time.Duration(h.get().Quantile(q))
}

// Max returns the longest duration, 0 if the Histogram is empty.
func (h Histogram) Max() time.Duration { return time.Duration(h.get().Max()) }

// Mean returns the mean of the durations.
func (h Histogram) Mean() time.Duration { return time.Duration(h.get().Mean()) }

// Sum returns the sum of the durations. A sum of more than 292 years counts as 292 years.
func (h Histogram) Sum() time.Duration { return time.Duration(h.get().Sum()) }

// Sub returns what was added since an earlier snapshot, for example in the last minute:
//
//	late := rt.Stats().Late.Sub(aMinuteAgo.Late)
//
// Max of the result may be up to a sixteenth too long. If earlier has durations that h does not
// have, it is not an earlier snapshot of the same runtime, and the result is empty.
func (h Histogram) Sub(earlier Histogram) Histogram {
	if earlier.Count() == 0 {
		return h
	}
	d := *h.get()
	if !d.Sub(earlier.get()) {
		return Histogram{}
	}
	return Histogram{&d}
}

// All returns an iterator over the buckets that are not empty, in ascending order. It yields
// the longest duration that belongs in the bucket, and the number of durations in it.
func (h Histogram) All() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for v, n := range h.get().All() {
			if !yield(time.Duration(v), n) {
				return
			}
		}
	}
}

// String returns the count, the mean, the median and other quantiles, and the maximum, for a line of
// a log. Durations have three digits. MarshalJSON has the same figures exactly.
func (h Histogram) String() string {
	if h.Count() == 0 {
		return "count 0"
	}
	return fmt.Sprintf("count %d, mean %v, p50 %v, p90 %v, p99 %v, p999 %v, max %v", h.Count(), threeDigits(h.Mean()),
		threeDigits(h.Quantile(0.5)), threeDigits(h.Quantile(0.9)), threeDigits(h.Quantile(0.99)),
		threeDigits(h.Quantile(0.999)), threeDigits(h.Max()))
}

// threeDigits rounds a duration to its first three digits.
func threeDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// MarshalJSON returns an object with Count, and with Sum, Mean, P50, P90, P99, P999 and Max in nanoseconds.
func (h Histogram) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Count                               uint64
		Sum, Mean, P50, P90, P99, P999, Max time.Duration
	}{
		h.Count(), h.Sum(), h.Mean(), h.Quantile(0.5), h.Quantile(0.9),
		h.Quantile(0.99), h.Quantile(0.999), h.Max(),
	})
}
