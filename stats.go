package foliot

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/foliot-go/foliot/internal/hist"
)

// Stats is a snapshot of a runtime. The numbers of one shard belong to one instant, but the shards
// are read one after the other.
type Stats struct {
	Workers int // workers that have not retired
	Armed   int // armed timers, including tasks' timers
	Timers  int // user timers, armed or not, as Options.MaxTimers counts them
	Tasks   int // tasks that have not ended
	Queued  int // values in queues, due or not

	Fired     uint64 // timers that fired: callbacks started and values sent on channels
	Stopped   uint64 // armed timers that Stop or Free stopped
	Rearmed   uint64 // calls to Reset on armed timers
	TaskPolls uint64 // polls of tasks

	Stale    int    // dead entries that stopped timers left in the wheels
	Scrubbed uint64 // dead entries and empty slots whose memory scrubbing freed
	Migrated uint64 // armed timers that retiring workers handed to other workers

	Goroutines int    // goroutines in callbacks and polls: the workers', and blocked ones that were replaced
	Wakeups    uint64 // how often the timekeeper woke
	Blocked    uint64 // callbacks, polls and calls to Options.Go that blocked until a new goroutine took over
	Panics     uint64 // panics in callbacks, polls and Options.Go that were passed to OnPanic
	Defects    uint64 // events that this library's own rules do not allow. Always 0; if not, please report it

	GoPending int    // callbacks that were passed to Options.Go and have not started yet
	GoRescued uint64 // callbacks that the runtime ran itself because Options.Go panicked or called Goexit

	// Late is the distribution of how late timers fired. It includes tasks' timers, which Fired
	// does not. Lateness is recorded when a timer leaves the wheel; with Options.Go that is before
	// its callback starts.
	Late Histogram

	// Ran is the distribution of how long callbacks and polls took, wherever they ran, including
	// those that panicked or called Goexit. They are measured in real time, even on a manual clock;
	// in a synctest bubble that is the bubble's time.
	//
	// The same clock reading ends one callback and begins the next, so a duration may include what
	// the worker does in between, usually less than a microsecond. Short polls are measured in
	// groups of up to 32, which take at most 125 µs unless polls suddenly become longer, and each
	// counts as the average of its group. With a Logger or a SlowCallback each poll is measured
	// individually. Count and Sum are always exact. A callback is counted when its worker starts
	// the next one or has nothing left to do.
	//
	// Ran excludes functions started by this module's package time, and the library's own work when
	// a timer fires: waking a Sleep or a Queue.Wait, ending a context, sending on a channel.
	Ran Histogram

	PerWorker []WorkerStats // one for each of Workers
}

// WorkerStats are one worker's numbers in [Stats].
type WorkerStats struct {
	Armed   int    // armed timers
	Due     int    // an estimate of the timers that are due: each shard with any counts as 1
	Stale   int    // dead entries
	Fired   uint64 // timers that fired
	Wakeups uint64 // how often a goroutine started to run the worker
	Shards  int    // the worker's shards: its own and those of retired workers

	TaskPolls uint64 // polls of tasks
}

// Stats returns a snapshot of the runtime. It locks each shard briefly.
func (rt *Runtime) Stats() Stats {
	e := rt.eng.Stats()
	st := Stats{
		Workers: e.Workers,
		Armed:   e.Armed,
		Timers:  e.Timers,
		Tasks:   e.Tasks,
		Queued:  rt.queues.count(),

		Fired:     e.Fired,
		Stopped:   e.Stopped,
		Rearmed:   e.Rearmed,
		TaskPolls: e.TaskPolls,

		Stale:    e.Stale,
		Scrubbed: e.Scrubbed,
		Migrated: e.Migrated,

		Goroutines: e.Goroutines,
		Wakeups:    e.Wakeups,
		Blocked:    e.Blocked,
		Panics:     e.Panics,
		Defects:    e.Defects,

		GoPending: e.GoPending,
		GoRescued: e.GoRescued,

		Late: Histogram{e.Late},
		Ran:  Histogram{e.Ran},
	}
	for _, w := range e.PerWorker {
		st.PerWorker = append(st.PerWorker, WorkerStats(w))
	}
	return st
}

// A Histogram is a distribution of durations. They are counted in buckets, which makes Quantile and
// All exact to a sixteenth. A Histogram is immutable. The zero Histogram is empty.
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

// Quantile returns a duration that a fraction q of the durations does not exceed: Quantile(0.5) is
// the median, Quantile(1) the maximum. The result may be up to a sixteenth too long. It is 0 if the
// Histogram is empty.
func (h Histogram) Quantile(q float64) time.Duration {
	return time.Duration(h.get().Quantile(q))
}

// Max returns the longest duration, or 0 if the Histogram is empty.
func (h Histogram) Max() time.Duration { return time.Duration(h.get().Max()) }

// Mean returns the mean of the durations.
func (h Histogram) Mean() time.Duration { return time.Duration(h.get().Mean()) }

// Sum returns the sum of the durations, at most 292 years.
func (h Histogram) Sum() time.Duration { return time.Duration(h.get().Sum()) }

// Add returns a Histogram with the given durations in addition to those in h. Negative durations
// count as 0. Because Add copies h, a program that records its own durations should add them in
// batches.
func (h Histogram) Add(durations ...time.Duration) Histogram {
	sum := *h.get()
	for _, d := range durations {
		sum.Record(max(int64(d), 0))
	}
	return Histogram{&sum}
}

// Sub returns what was added since an earlier snapshot, for example in the last minute:
//
//	late := rt.Stats().Late.Sub(aMinuteAgo.Late)
//
// The result's Max may be up to a sixteenth too long. If earlier holds durations that h does not,
// it is not an earlier snapshot of the same runtime, and the result is empty.
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

// All returns an iterator over the buckets that are not empty, in ascending order. It yields each
// bucket's longest possible duration and the number of durations in it.
func (h Histogram) All() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		for v, n := range h.get().All() {
			if !yield(time.Duration(v), n) {
				return
			}
		}
	}
}

// String returns the count, the mean, some quantiles and the maximum, for a log line. Durations are
// rounded to three digits; MarshalJSON has the exact figures.
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

// MarshalJSON returns an object with Count, and Sum, Mean, P50, P90, P99, P999 and Max in
// nanoseconds.
func (h Histogram) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Count                               uint64
		Sum, Mean, P50, P90, P99, P999, Max time.Duration
	}{
		h.Count(), h.Sum(), h.Mean(), h.Quantile(0.5), h.Quantile(0.9),
		h.Quantile(0.99), h.Quantile(0.999), h.Max(),
	})
}
