package foliot

import (
	"encoding/json"
	"slices"

	"github.com/foliot-go/foliot/internal/hist"
)

// Stats is a snapshot of a runtime. The numbers of one shard are of one instant; the shards
// are read one after the other.
type Stats struct {
	Workers int // workers that have not retired
	Armed   int // timers that are armed: neither fired nor stopped. Timers of tasks count, too
	Slots   int // timers of the user, armed or not
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

	Late   Histogram     // how late timers fired
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
	rt.mu.Lock() // so that no shard changes its owner
	defer rt.mu.Unlock()
	workers := *rt.workers.Load()
	st := Stats{
		Late:     Histogram{new(hist.Hist)},
		Workers:  len(workers),
		Wakeups:  rt.timekeeper.wakeups.Load(),
		Migrated: rt.migrated.Load(),
		Blocked:  rt.blocked.Load(),
		Panics:   rt.panics.Load(),
		Queued:   rt.queues.count(),
		Handed:   rt.handoffs.waiting(),
		Rescued:  rt.handoffs.rescued.Load(),
		Running:  int(max(rt.spawned.Sum(), 0)),
	}
	for _, w := range slices.Concat(workers, rt.retired) {
		st.Polls += w.polls.Load()
		if w.busy.Load() != 0 {
			st.Running++
		}
	}
	now, _ := rt.enter() // 0 if the call is foreign: then Due does not count timers that have come due
	for _, w := range workers {
		ws := WorkerStats{Wakeups: w.wakeups.Load()}
		for _, s := range w.shards {
			s.addTo(&st, &ws, now)
		}
		st.Worker = append(st.Worker, ws)
	}
	st.Fired -= uint64(rt.withdrawn)
	return st
}

// addTo adds the numbers of the shard to st and ws.
func (s *shard) addTo(st *Stats, ws *WorkerStats, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stale := s.w.Stale()
	ws.Shards++
	ws.Armed += s.armed
	ws.Stale += stale
	ws.Fired += s.fired
	if s.next.Load() <= now {
		ws.Due++
	}
	st.Armed += s.armed
	st.Slots += s.w.Len() - s.tasks.timers - s.internal
	st.Tasks += s.tasks.count
	st.Fired += s.fired
	st.Stopped += s.stopped
	st.Rearmed += s.rearmed
	st.Stale += stale
	st.Scrubbed += s.scrub.total
	if s.late != nil {
		st.Late.h.Merge(s.late)
	}
}

// String returns the [Stats] as JSON. It makes a Runtime an expvar.Var:
//
//	expvar.Publish("timers", rt)
func (rt *Runtime) String() string {
	b, err := json.Marshal(rt.Stats())
	if err != nil {
		return `{"error":"` + err.Error() + `"}`
	}
	return string(b)
}
