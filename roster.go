package foliot

import (
	"fmt"
	"slices"
)

// Resize changes the number of workers while the runtime is in use. A worker that retires
// hands its shards, with all their timers and tasks, to the workers that have the fewest
// timers. A timer never leaves its shard, so no timer is lost, none fires twice, and handles
// stay valid. If the number of workers grows again, retired workers return first, with
// their shards.
func (rt *Runtime) Resize(workers int) error {
	if workers < 1 || workers > maxWorkers {
		return fmt.Errorf("foliot: Resize to %d workers; use 1 to %d", workers, maxWorkers)
	}
	if _, err := rt.enter(); err != nil {
		return err // resize notifies the timekeeper, which a foreign call must not do
	}
	adopted, err := rt.resize(workers)
	for _, a := range adopted {
		rt.event("foliot: a worker has retired; another worker has adopted the timers of one of its shards", "worker", a.worker, "by", a.to, "timers", a.timers)
	}
	return err
}

// A handover is the log record of a shard that changed its owner: the ids of the old and the
// new owner, and the number of armed timers.
type handover struct{ worker, to, timers int }

func (rt *Runtime) resize(n int) (handed []handover, err error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.closed.Load() {
		return nil, ErrClosed
	}
	workers := slices.Clone(*rt.workers.Load())
	var leaving []*worker
	switch {
	case n > len(workers):
		for len(workers) < n {
			workers = append(workers, rt.addWorker(workers))
		}
	case n < len(workers):
		leaving = workers[n:]
		workers = slices.Clone(workers[:n])
	}
	open := []*shard{}
	for _, w := range workers {
		open = append(open, w.own...)
	}
	if rt.manual != nil {
		open = open[:1]
	}
	rt.openShards.Store(&open)
	if len(leaving) > 0 {
		to := recipientsOf(workers)
		for _, w := range leaving {
			handed = append(handed, rt.retire(w, to)...)
		}
	}
	rt.assignShards()
	rt.workers.Store(&workers)
	for _, w := range workers {
		w.retired.Store(false) // after rt.workers, so that the watchdog sees the worker all the time
		rt.timekeeper.notify(w.next())
	}
	return handed, nil
}

// addWorker returns a worker to add to workers: a retired one, which gets its own shards back,
// or a new one. The caller holds mu.
func (rt *Runtime) addWorker(workers []*worker) *worker {
	last := len(rt.retired) - 1
	if last < 0 {
		return rt.newWorker(len(workers), 0)
	}
	w := rt.retired[last]
	rt.retired = rt.retired[:last]
	for _, s := range w.own {
		s.handOver(w)
	}
	return w
}

// A recipient is a worker that adopts shards, with the number of its armed timers and shards.
type recipient struct {
	w             *worker
	armed, shards int
}

func recipientsOf(workers []*worker) (to []recipient) {
	for _, w := range workers {
		h := recipient{w: w, shards: len(w.shards)}
		for _, s := range w.shards {
			h.armed += s.pending()
		}
		to = append(to, h)
	}
	return to
}

// retire hands each shard of a worker to the recipient that has the fewest armed timers, and
// among equals the fewest shards. A goroutine that currently runs the worker continues with
// the worker's own shards until no timer of them is due. The caller holds mu.
func (rt *Runtime) retire(w *worker, to []recipient) (handed []handover) {
	rt.retired = append(rt.retired, w)
	w.retired.Store(true)
	if w.busy.Load() != 0 {
		rt.timekeeper.watchRetired(w)
	}
	for _, s := range w.shards {
		h := &to[0]
		for i := range to {
			if o := &to[i]; o.armed < h.armed || o.armed == h.armed && o.shards < h.shards {
				h = o
			}
		}
		armed := s.handOver(h.w)
		h.armed += armed
		h.shards++
		rt.migrated.Add(uint64(armed))
		handed = append(handed, handover{w.id, h.w.id, armed})
	}
	return handed
}

// assignShards makes worker.shards of all workers agree with shard.owner of all shards. The
// caller holds mu.
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
