package foliot

import (
	"encoding/json"
	"slices"

	"github.com/foliot-go/foliot/internal/hist"
)

// Stats is a picture of a runtime. Each shard's numbers belong to one instant; different
// shards are looked at one after the other.
type Stats struct {
	Workers int // workers
	Armed   int // timers that are armed: neither fired nor stopped
	Slots   int // timers, armed or not
	Tasks   int // tasks
	Queued  int // values in queues, due or not

	Polls   uint64 // polls of tasks
	Fired   uint64 // callbacks of timers started
	Stopped uint64 // armings called off by Stop or Free
	Rearmed uint64 // Resets of timers that were armed

	Stale    int    // dead entries that still take room in the wheels
	Scrubbed uint64 // dead entries and empty slots given back by scrubbing
	Migrated uint64 // timers handed on by workers that retired

	Wakeups uint64 // times the timekeeper woke
	Blocked uint64 // workers replaced because a callback blocked
	Panics  uint64 // callbacks that panicked, with OnPanic
	Running int    // workers that run callbacks now, and callbacks that run elsewhere
	Handed  int    // callbacks that Options.Go is to run and has not started yet
	Rescued uint64 // callbacks that Options.Go dropped or panicked on, and the runtime ran itself

	Late   Histogram // how late callbacks started
	Worker []WorkerStats
}

// WorkerStats is the part of one worker in Stats.
type WorkerStats struct {
	Armed   int    // timers that are armed
	Due     int    // those of them whose time has come: an estimate, 1 stands for some
	Stale   int    // dead entries
	Fired   uint64 // callbacks started
	Wakeups uint64 // times that the worker had something to do
	Shards  int    // its own and those adopted
}

// Stats returns a picture of the runtime. It takes each shard's lock for a moment.
func (rt *Runtime) Stats() Stats {
	rt.mu.Lock() // lest a shard change hands meanwhile
	defer rt.mu.Unlock()
	team := *rt.workers.Load()
	st := Stats{
		Late:     Histogram{new(hist.Hist)},
		Workers:  len(team),
		Wakeups:  rt.timekeeper.wakeups.Load(),
		Migrated: rt.migrated.Load(),
		Blocked:  rt.blocked.Load(),
		Panics:   rt.panics.Load(),
		Queued:   rt.queues.count(),
		Handed:   rt.handoffs.waiting(),
		Rescued:  rt.handoffs.rescued.Load(),
		Running:  int(max(rt.spawned.Sum(), 0)),
	}
	for _, w := range slices.Concat(team, rt.retired) {
		st.Polls += w.polls.Load()
		if w.busy.Load() != 0 {
			st.Running++
		}
	}
	now, _ := rt.enter() // 0 if the call is foreign: then nothing is known to be due
	for _, w := range team {
		ws := WorkerStats{Wakeups: w.wakeups.Load()}
		for _, s := range w.shards {
			s.addTo(&st, &ws, now)
		}
		st.Worker = append(st.Worker, ws)
	}
	st.Fired -= uint64(rt.withdrawn)
	return st
}

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

// String returns the Stats as JSON, which makes a Runtime an expvar.Var:
//
//	expvar.Publish("timers", rt)
func (rt *Runtime) String() string {
	b, err := json.Marshal(rt.Stats())
	if err != nil {
		return `{"error":"` + err.Error() + `"}`
	}
	return string(b)
}
