package foliot

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/foliot-go/foliot/internal/hist"
)

// A Histogram tells how durations are distributed, to within a sixteenth. It does not
// change. The zero Histogram is empty.
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

// Quantile returns a duration that the share q of all do not exceed: Quantile(0.5) is the
// median, Quantile(1) the maximum. It may be up to a sixteenth too long. It is 0 if there
// are no durations.
func (h Histogram) Quantile(q float64) time.Duration {
	return time.Duration(h.get().Quantile(q))
}

// Max returns the longest of the durations.
func (h Histogram) Max() time.Duration { return time.Duration(h.get().Max()) }

// Mean returns their mean.
func (h Histogram) Mean() time.Duration { return time.Duration(h.get().Mean()) }

// All ranges over the classes of durations that have any, in order: the longest duration
// that belongs to the class, and how many do.
func (h Histogram) All() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for v, n := range h.get().All() {
			if !yield(time.Duration(v), n) {
				return
			}
		}
	}
}

// MarshalJSON gives count, mean, quantiles and maximum, in nanoseconds.
func (h Histogram) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Count                          uint64
		Mean, P50, P90, P99, P999, Max time.Duration
	}{
		h.Count(), h.Mean(), h.Quantile(0.5), h.Quantile(0.9),
		h.Quantile(0.99), h.Quantile(0.999), h.Max(),
	})
}
