package foliot

import (
	"fmt"
	"slices"
)

// Resize changes the number of workers while the runtime is in use. A retiring worker
// hands its shards on, with all their timers, to the workers that have the fewest: none is
// lost, none fires twice, and handles stay good, since a timer does not leave its
// shard. When there are to be more workers again, retired ones come back first.
func (rt *Runtime) Resize(workers int) error {
	if workers < 1 || workers > maxWorkers {
		return fmt.Errorf("foliot: Resize to %d workers; use 1 to %d", workers, maxWorkers)
	}
	if _, err := rt.enter(); err != nil {
		return err // the timekeeper may have to be told
	}
	adopted, err := rt.resize(workers)
	for _, a := range adopted {
		rt.event("foliot: a worker has retired and its timers are adopted", "worker", a.worker, "by", a.to, "timers", a.timers)
	}
	return err
}

// An adoption is what is logged of a shard that was handed on.
type handover struct{ worker, to, timers int }

func (rt *Runtime) resize(workers int) (adopted []handover, err error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.closed.Load() {
		return nil, ErrClosed
	}
	team := slices.Clone(*rt.workers.Load())
	var leaving []*worker
	switch {
	case workers > len(team):
		for len(team) < workers {
			team = append(team, rt.addWorker(team))
		}
	case workers < len(team):
		leaving = team[workers:]
		team = slices.Clone(team[:workers])
	}
	homes := []*shard{}
	for _, w := range team {
		homes = append(homes, w.own...)
	}
	if rt.manual != nil {
		homes = homes[:1]
	}
	rt.openShards.Store(&homes)
	if len(leaving) > 0 {
		heirs := recipientsOf(team)
		for _, w := range leaving {
			adopted = append(adopted, rt.retire(w, heirs)...)
		}
	}
	rt.assignShards()
	rt.workers.Store(&team)
	for _, w := range team {
		w.retired.Store(false) // after team, so that the watch sees the worker all the time
		rt.timekeeper.notify(w.next())
	}
	return adopted, nil
}

// recruit returns a worker to add to a team: a retired one with its shards, or a new one.
func (rt *Runtime) addWorker(team []*worker) *worker {
	last := len(rt.retired) - 1
	if last < 0 {
		return rt.newWorker(len(team), 0)
	}
	w := rt.retired[last]
	rt.retired = rt.retired[:last]
	for _, s := range w.own {
		s.handOver(w)
	}
	return w
}

// An heir is a worker of the team that adopts shards, and how much it has so far.
type recipient struct {
	w             *worker
	armed, shards int
}

func recipientsOf(team []*worker) (heirs []recipient) {
	for _, w := range team {
		h := recipient{w: w, shards: len(w.shards)}
		for _, s := range w.shards {
			h.armed += s.pending()
		}
		heirs = append(heirs, h)
	}
	return heirs
}

// retire hands each shard of a worker to the heir that has the fewest timers, and among equals
// the fewest shards. A goroutine that runs the worker at the moment goes on with the worker's
// own shards until nothing is due.
func (rt *Runtime) retire(w *worker, heirs []recipient) (adopted []handover) {
	rt.retired = append(rt.retired, w)
	w.retired.Store(true)
	if w.busy.Load() != 0 {
		rt.timekeeper.watchRetired(w)
	}
	for _, s := range w.shards {
		h := &heirs[0]
		for i := range heirs {
			if o := &heirs[i]; o.armed < h.armed || o.armed == h.armed && o.shards < h.shards {
				h = o
			}
		}
		armed := s.handOver(h.w)
		h.armed += armed
		h.shards++
		rt.migrated.Add(uint64(armed))
		adopted = append(adopted, handover{w.id, h.w.id, armed})
	}
	return adopted
}

// assign makes worker.shards of all workers agree with shard.owner of all shards.
func (rt *Runtime) assignShards() {
	for _, s := range *rt.shards.Load() {
		s.maker.shards = nil
	}
	for _, s := range *rt.shards.Load() {
		w := s.owner.Load()
		w.shards = append(w.shards, s)
	}
}

// pending returns the number of armed timers.
func (s *shard) pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.armed
}
