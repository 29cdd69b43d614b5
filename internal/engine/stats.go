package engine

import "github.com/foliot-go/foliot/internal/hist"

// Stats is a snapshot of an engine. Package foliot documents the fields.
type Stats struct {
	Workers, Armed, Timers, Tasks, Stale, Goroutines, GoPending int

	TaskPolls, Fired, Stopped, Rearmed, Scrubbed, Migrated, Wakeups, Blocked, Panics, Defects, GoRescued uint64

	Late, Ran *hist.Hist

	PerWorker []WorkerStats
}

// WorkerStats is the part of [Stats] about one worker.
type WorkerStats struct {
	Armed, Due, Stale int
	Fired, Wakeups    uint64
	Shards            int
	TaskPolls         uint64
}

// Stats returns a snapshot of the engine. It locks each shard for a moment.
func (eng *Engine) Stats() Stats {
	eng.roster.mu.Lock() // so that no shard changes owners
	defer eng.roster.mu.Unlock()
	workers := *eng.workers.Load()
	st := Stats{
		Late:      new(hist.Hist),
		Ran:       new(hist.Hist),
		Workers:   len(workers),
		Wakeups:   eng.timekeeper.wakeups.Load(),
		Migrated:  eng.migrated.Load(),
		Blocked:   eng.blocked.Load(),
		Panics:    eng.panics.Load(),
		Defects:   eng.illegalMoves.Load(),
		GoRescued: eng.rescued.Load(),
	}
	for _, w := range *eng.everyone.Load() {
		st.TaskPolls += w.polls.Load()
		st.GoPending += int(w.handed.Load())
		st.Goroutines += int(max(w.apart.Load(), 0))
		if w.busy.Load() != 0 {
			st.Goroutines++
		}
	}
	now, _ := eng.CheckedNow() // 0 in a foreign call, which leaves Due too low
	for _, w := range workers {
		ws := WorkerStats{Wakeups: w.wakeups.Load(), TaskPolls: w.polls.Load()}
		for _, s := range *w.shards.Load() {
			s.addTo(&st, &ws, now)
		}
		st.PerWorker = append(st.PerWorker, ws)
	}
	return st
}

// addTo adds the shard's numbers to st and ws.
func (s *Shard) addTo(st *Stats, ws *WorkerStats, now int64) {
	s.mu.Lock()
	defer s.unlock()
	stale := s.front().Stale()
	fired := s.fired + s.started.Load()
	ws.Shards++
	ws.Armed += s.armed
	ws.Stale += stale
	ws.Fired += fired
	if s.next.Load() <= now {
		ws.Due++
	}
	st.Armed += s.armed
	st.Timers += s.slots
	if s.tasks != nil {
		st.Tasks += s.tasks.count
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
