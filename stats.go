package foliot

import (
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/foliot-go/foliot/internal/hist"
)

// Stats is a snapshot of a runtime. The numbers of one shard are of one instant; the shards
// are read one after the other.
type Stats struct {
	Workers int // workers that have not retired
	Armed   int // timers that are armed: neither fired nor stopped. Timers of tasks count, too
	Slots   int // timers of the user, armed or not, as Options.MaxTimers counts them
	Tasks   int // tasks
	Queued  int // values in queues, due or not

	Polls   uint64 // polls of tasks
	Fired   uint64 // timers that have fired: callbacks started and values sent on channels
	Stopped uint64 // armed timers that were stopped by Stop or Free
	Rearmed uint64 // calls of Reset for timers that were armed

	Stale    int    // dead entries: what stopped timers have left in the wheels
	Scrubbed uint64 // dead entries and empty slots whose memory scrubbing has freed
	Migrated uint64 // armed timers handed to other workers by workers that retired

	Wakeups uint64 // how often the timekeeper woke
	Blocked uint64 // how often a worker got a new goroutine because a callback, a poll or Options.Go blocked
	Panics  uint64 // panics of callbacks, polls and Options.Go that went to OnPanic
	Running int    // workers that are running, and callbacks and polls that run outside of their worker
	Handed  int    // callbacks for Options.Go that have not started yet
	Rescued uint64 // callbacks that the runtime ran itself because Options.Go dropped them or panicked

	// Late is how late timers fired, also those of tasks, which are not in Fired. A timer counts when it
	// is taken from its shard, with Options.Go before its callback starts.
	Late Histogram

	// Ran is how long callbacks and polls took. It counts the callbacks of timers, on workers or by
	// Options.Go, and all polls; those that panic or call Goexit, too. They are measured in real
	// time, also on a manual clock, and in a synctest bubble in the time of the bubble.
	//
	// One reading of the clock is the end of a callback and the beginning of the next. So a
	// duration may include what the worker does in between, usually less than a microsecond.
	// Polls of less than 300 ns are measured in groups of up to 32, and each counts as the
	// average of its group. If a group takes longer than its polls usually do, the difference
	// counts as part of one of them. Count and Sum are always exact. A callback is counted when
	// its worker takes the next one or has nothing left to do.
	//
	// Not counted are functions that package time of this module starts on their own goroutines,
	// and what the library itself does when a timer fires: wake a Sleep or a Queue.Wait, end a
	// context, send on a channel.
	Ran Histogram

	SlowCallback time.Duration // Options.SlowCallback: callbacks and polls that take longer are logged. 0: none is

	Worker []WorkerStats // one for each of Workers
}

// WorkerStats are the numbers of one worker in [Stats].
type WorkerStats struct {
	Armed   int    // timers that are armed
	Due     int    // an estimate of the timers that are due: each shard that has any counts as 1
	Stale   int    // dead entries
	Fired   uint64 // timers that have fired
	Wakeups uint64 // how often a goroutine started to run the worker
	Shards  int    // the shards of the worker: its own and those that it has adopted
}

// Stats returns a snapshot of the runtime. It locks each shard for a moment.
func (rt *Runtime) Stats() Stats {
	e := rt.eng.Stats()
	st := Stats{
		Workers: e.Workers,
		Armed:   e.Armed,
		Slots:   e.Slots,
		Tasks:   e.Items,
		Queued:  rt.queues.count(),

		Polls:   e.ItemsRun,
		Fired:   e.Fired,
		Stopped: e.Stopped,
		Rearmed: e.Rearmed,

		Stale:    e.Stale,
		Scrubbed: e.Scrubbed,
		Migrated: e.Migrated,

		Wakeups: e.Wakeups,
		Blocked: e.Blocked,
		Panics:  e.Panics,
		Running: e.Running,
		Handed:  e.Handed,
		Rescued: e.Rescued,

		Late: Histogram{e.Late},
		Ran:  Histogram{e.Ran},

		SlowCallback: e.SlowCallback,
	}
	for _, w := range e.Worker {
		st.Worker = append(st.Worker, WorkerStats(w))
	}
	return st
}

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
