package foliot

import (
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/hist"
)

// A Recorder collects durations for a [Histogram]: the same kind that [Stats] has, for the durations
// of a program. The zero Recorder is empty and ready to use. Its methods may be called from any
// goroutine. A Recorder must not be copied after first use.
type Recorder struct {
	mu sync.Mutex
	h  hist.Hist
}

// Record adds a duration. A negative one counts as 0.
func (r *Recorder) Record(d time.Duration) {
	r.mu.Lock()
	r.h.Record(max(int64(d), 0))
	r.mu.Unlock()
}

// Histogram returns what was recorded until now.
func (r *Recorder) Histogram() Histogram {
	r.mu.Lock()
	h := r.h
	r.mu.Unlock()
	return Histogram{&h}
}
