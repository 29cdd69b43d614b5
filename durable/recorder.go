package durable

import (
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// A recorder collects durations for a histogram. The zero recorder is empty. Its methods may be
// called from any goroutine.
type recorder struct {
	mu     sync.Mutex
	sum    foliot.Histogram
	recent []time.Duration // recorded, but not in sum yet, because adding copies the histogram
}

const recorderBatch = 256 // durations; a copy of the histogram takes as long as recording some tens of them

// record adds a duration.
func (r *recorder) record(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recent = append(r.recent, d); len(r.recent) == recorderBatch {
		r.flush()
	}
}

// histogram returns what was recorded so far.
func (r *recorder) histogram() foliot.Histogram {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	return r.sum
}

// flush adds the recent durations to the sum. The caller holds the lock.
func (r *recorder) flush() {
	if len(r.recent) > 0 {
		r.sum = r.sum.Add(r.recent...)
		r.recent = r.recent[:0]
	}
}
