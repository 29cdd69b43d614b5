package foliot

import "time"

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
