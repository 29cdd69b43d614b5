package prometheus

import (
	"time"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/foliot-go/foliot"
)

const (
	counter = client.CounterValue
	gauge   = client.GaugeValue
)

// scalars are the metrics with one value for each runtime. A test compares them with the fields of Stats,
// and docs/metrics.md with them.
var scalars = [...]struct {
	field string // of foliot.Stats
	name  string
	kind  client.ValueType
	help  string
	value func(*foliot.Stats) float64
}{
	{"Workers", "foliot_workers", gauge, "Workers that have not retired.", func(s *foliot.Stats) float64 { return float64(s.Workers) }},
	{"Goroutines", "foliot_workers_running", gauge, "Goroutines that run callbacks and polls.", func(s *foliot.Stats) float64 { return float64(s.Goroutines) }},
	{"Blocked", "foliot_workers_blocked_total", counter, "How often a worker got a new goroutine because a callback, a poll or Options.Go blocked.", func(s *foliot.Stats) float64 { return float64(s.Blocked) }},
	{"Wakeups", "foliot_wakeups_total", counter, "How often the timekeeper woke.", func(s *foliot.Stats) float64 { return float64(s.Wakeups) }},

	{"Armed", "foliot_timers_armed", gauge, "Timers that are armed, those of tasks included.", func(s *foliot.Stats) float64 { return float64(s.Armed) }},
	{"Timers", "foliot_timers_allocated", gauge, "Timers of the program, armed or not, as Options.MaxTimers counts them.", func(s *foliot.Stats) float64 { return float64(s.Timers) }},
	{"Fired", "foliot_timers_fired_total", counter, "Timers that have fired: callbacks started and values sent on channels.", func(s *foliot.Stats) float64 { return float64(s.Fired) }},
	{"Stopped", "foliot_timers_stopped_total", counter, "Armed timers that were stopped by Stop or Free.", func(s *foliot.Stats) float64 { return float64(s.Stopped) }},
	{"Rearmed", "foliot_timers_rearmed_total", counter, "Calls of Reset for timers that were armed.", func(s *foliot.Stats) float64 { return float64(s.Rearmed) }},
	{"Migrated", "foliot_timers_migrated_total", counter, "Armed timers that other workers got from workers that retired.", func(s *foliot.Stats) float64 { return float64(s.Migrated) }},

	{"Tasks", "foliot_tasks", gauge, "Tasks that have not ended.", func(s *foliot.Stats) float64 { return float64(s.Tasks) }},
	{"TaskPolls", "foliot_task_polls_total", counter, "Polls of tasks.", func(s *foliot.Stats) float64 { return float64(s.TaskPolls) }},
	{"Queued", "foliot_queue_values", gauge, "Values in queues, due or not.", func(s *foliot.Stats) float64 { return float64(s.Queued) }},

	{"Panics", "foliot_panics_total", counter, "Panics of callbacks, polls and Options.Go that went to Options.OnPanic.", func(s *foliot.Stats) float64 { return float64(s.Panics) }},
	{"Defects", "foliot_defects_total", counter, "Events that the rules of the library itself do not allow. Report it if there is one.", func(s *foliot.Stats) float64 { return float64(s.Defects) }},
	{"GoPending", "foliot_callbacks_handed", gauge, "Callbacks that were given to Options.Go and have not started yet.", func(s *foliot.Stats) float64 { return float64(s.GoPending) }},
	{"GoRescued", "foliot_callbacks_rescued_total", counter, "Callbacks that the runtime ran itself because Options.Go panicked or called Goexit.", func(s *foliot.Stats) float64 { return float64(s.GoRescued) }},

	{"Stale", "foliot_entries_stale", gauge, "Dead entries that stopped timers have left in the wheels.", func(s *foliot.Stats) float64 { return float64(s.Stale) }},
	{"Scrubbed", "foliot_entries_scrubbed_total", counter, "Dead entries and empty slots whose memory scrubbing has freed.", func(s *foliot.Stats) float64 { return float64(s.Scrubbed) }},
}

// workerGauges are the metrics of each worker. They have the label worker, the index in Stats.PerWorker.
var workerGauges = [...]struct {
	field string // of foliot.WorkerStats
	name  string
	help  string
	value func(*foliot.WorkerStats) float64
}{
	{"Armed", "foliot_worker_timers_armed", "Timers of the worker that are armed.", func(w *foliot.WorkerStats) float64 { return float64(w.Armed) }},
	{"Due", "foliot_worker_shards_due", "Shards of the worker with timers that are due.", func(w *foliot.WorkerStats) float64 { return float64(w.Due) }},
	{"Shards", "foliot_worker_shards", "Shards of the worker: its own and those that it has adopted.", func(w *foliot.WorkerStats) float64 { return float64(w.Shards) }},
}

// histograms are the metrics with a distribution for each runtime.
var histograms = [...]struct {
	field  string // of foliot.Stats
	name   string
	help   string
	bounds []time.Duration // of the classic buckets, ascending
	value  func(*foliot.Stats) foliot.Histogram
}{
	{"Late", "foliot_timer_lateness_seconds", "How late timers fired, those of tasks included.", bounds[2:], func(s *foliot.Stats) foliot.Histogram { return s.Late }},
	{"Ran", "foliot_callback_duration_seconds", "How long callbacks and polls took.", bounds[:], func(s *foliot.Stats) foliot.Histogram { return s.Ran }},
}

// bounds are those of callback durations, the shortest of which take some 100 ns. The lateness of timers
// has no bounds below a microsecond: it is rarely so small.
var bounds = [...]time.Duration{
	100 * time.Nanosecond, 500 * time.Nanosecond,
	1 * time.Microsecond, 5 * time.Microsecond,
	10 * time.Microsecond, 25 * time.Microsecond, 50 * time.Microsecond,
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	1 * time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	1 * time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second,
}
