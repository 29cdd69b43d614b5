package engine

import (
	"slices"
	"time"

	"github.com/foliot-go/foliot/internal/hist"
)

// Stats is a snapshot of an engine. Package foliot documents the numbers, as Stats. Items are
// tasks there.
type Stats struct {
	Workers, Armed, Slots, Items, Stale, Running, Handed int

	ItemsRun, Fired, Stopped, Rearmed, Scrubbed, Migrated, Wakeups, Blocked, Panics, Rescued uint64

	Late, Ran *hist.Hist

	SlowCallback time.Duration

	Worker []WorkerStats
}

// WorkerStats are the numbers of one worker in [Stats].
type WorkerStats struct {
	Armed, Due, Stale int
	Fired, Wakeups    uint64
	Shards            int
}

// Stats returns a snapshot of the engine. It locks each shard for a moment.
func (eng *Engine) Stats() Stats {
	eng.mu.Lock() // so that no shard changes its owner
	defer eng.mu.Unlock()
	workers := *eng.workers.Load()
	st := Stats{
		Late:     new(hist.Hist),
		Ran:      new(hist.Hist),
		Workers:  len(workers),
		Wakeups:  eng.timekeeper.wakeups.Load(),
		Migrated: eng.migrated.Load(),
		Blocked:  eng.blocked.Load(),
		Panics:   eng.panics.Load(),
		Handed:   eng.handoffs.waiting(),
		Rescued:  eng.handoffs.rescued.Load(),
		Running:  int(max(eng.spawned.Load(), 0)),

		SlowCallback: time.Duration(eng.slowAfter),
	}
	for _, w := range slices.Concat(workers, eng.retired) {
		st.ItemsRun += w.itemsRun.Load()
		if w.busy.Load() != 0 {
			st.Running++
		}
	}
	now, _ := eng.Enter() // 0 if the call is foreign: then Due does not count timers that have come due
	for _, w := range workers {
		ws := WorkerStats{Wakeups: w.wakeups.Load()}
		for _, s := range w.shards {
			s.addTo(&st, &ws, now)
		}
		st.Worker = append(st.Worker, ws)
	}
	return st
}

// addTo adds the numbers of the shard to st and ws.
func (s *Shard) addTo(st *Stats, ws *WorkerStats, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	stale := s.w.Stale()
	fired := s.fired + s.started.Load()
	ws.Shards++
	ws.Armed += s.armed
	ws.Stale += stale
	ws.Fired += fired
	if s.next.Load() <= now {
		ws.Due++
	}
	st.Armed += s.armed
	st.Slots += s.w.Len() - s.itemTimers - len(s.internals)
	if s.chans != nil {
		st.Slots -= s.chans.parked
	}
	if s.source != nil {
		st.Items += s.source.Len()
	}
	st.Fired += fired
	st.Stopped += s.stopped
	st.Rearmed += s.rearmed
	st.Stale += stale
	st.Scrubbed += s.scrub.total
	if s.late != nil {
		st.Late.Merge(s.late)
	}
	if s.ran != nil {
		st.Ran.Merge(s.ran)
	}
}
