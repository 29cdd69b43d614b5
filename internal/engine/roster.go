package engine

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/foliot-go/foliot/internal/stackhash"
)

// roster has the workers and shards of an engine. The lists are replaced as a whole.
type roster struct {
	workers    atomic.Pointer[[]*worker] // the workers that have not retired. Written under mu
	openShards atomic.Pointer[[]*Shard]  // the shards that new timers go to. Written under mu
	shards     atomic.Pointer[[]*Shard]  // all shards, by Shard.number - 1. Written under mu

	perWorker int // shards of a worker. Does not change

	mu      sync.Mutex // held by Resize, Shutdown and Stats
	retired []*worker  // retired workers, which Resize reuses. Protected by mu
}

// open makes the workers and shards of a new engine.
func (r *roster) open(eng *Engine, c Config) {
	r.perWorker = c.shards
	r.shards.Store(new([]*Shard))
	workers := []*worker{}
	for id := range c.Workers {
		workers = append(workers, eng.newWorker(id, c.Capacity/(c.Workers*c.shards)))
	}
	r.workers.Store(&workers)
	eng.openShardsOf(workers)
}

// openShardsOf lets new timers go to the shards of some workers. On a manual clock they all go to
// one, so that they fire in the order of arming. The caller holds roster.mu, unless it has just
// made the engine.
func (eng *Engine) openShardsOf(workers []*worker) {
	open := []*Shard{}
	for _, w := range workers {
		open = append(open, w.own...)
	}
	if eng.manual != nil {
		open = open[:1]
	}
	eng.openShards.Store(&open)
}

// lockShard locks a shard for a new timer and returns it. It chooses the shard by a hash of the
// address of the goroutine's stack, and another one if that one is locked. The choice only
// matters for speed.
func (r *roster) lockShard() *Shard {
	open := *r.openShards.Load()
	i := stackhash.Pick(len(open))
	if s := open[i]; s.mu.TryLock() {
		return s
	}
	return lockAnyShard(open, i)
}

// lockNthShard locks and returns the n-th shard after the one that lockShard tries first.
func (r *roster) lockNthShard(n int) *Shard {
	open := *r.openShards.Load()
	s := open[(stackhash.Pick(len(open))+n)%len(open)]
	s.mu.Lock()
	return s
}

// lockAnyShard locks and returns the first shard after the i-th that is not locked, or the i-th
// if all are locked. If each search began at the first shard, all goroutines that find their
// shard locked would meet there.
//
//go:noinline
func lockAnyShard(open []*Shard, i int) *Shard {
	for _, part := range [...][]*Shard{open[i+1:], open[:i]} {
		for _, s := range part {
			if s.mu.TryLock() {
				return s
			}
		}
	}
	open[i].mu.Lock()
	return open[i]
}

// Resize changes the number of workers while the engine is in use. A worker that retires
// hands its shards, with all their timers and tasks, to the workers that have the fewest
// timers. A timer never leaves its shard, so no timer is lost, none fires twice, and handles
// stay valid. If the number of workers grows again, retired workers return first, with
// their shards.
func (eng *Engine) Resize(workers int) error {
	if workers < 1 || workers > MaxWorkers {
		return fmt.Errorf("foliot: Resize to %d workers; use 1 to %d", workers, MaxWorkers)
	}
	if _, err := eng.Enter(); err != nil {
		return err // resize notifies the timekeeper, which a foreign call must not do
	}
	retired, timers, err := eng.resize(workers)
	if retired > 0 {
		eng.event("foliot: workers have retired; the other workers have adopted their timers", "retired", retired, "workers", workers, "timers", timers)
	}
	return err
}

// resize is Resize without the log. It returns the number of workers that have retired, and the
// number of armed timers that they have handed on.
func (eng *Engine) resize(n int) (retired, timers int, err error) {
	eng.mu.Lock()
	defer eng.mu.Unlock()
	if eng.closed.Load() {
		return 0, 0, ErrClosed
	}
	workers := slices.Clone(*eng.workers.Load())
	var leaving []*worker
	switch {
	case n > len(workers):
		for len(workers) < n {
			workers = append(workers, eng.addWorker(workers))
		}
	case n < len(workers):
		leaving = workers[n:]
		workers = slices.Clone(workers[:n])
	}
	eng.openShardsOf(workers)
	if len(leaving) > 0 {
		to := recipientsOf(workers)
		for _, w := range leaving {
			timers += eng.retire(w, to)
		}
	}
	eng.assignShards()
	eng.workers.Store(&workers)
	for _, w := range workers {
		w.retired.Store(false) // after eng.workers, so that the watchdog sees the worker all the time
		eng.timekeeper.notify(w.next())
	}
	return len(leaving), timers, nil
}

// addWorker returns a worker to add to workers: a retired one, which gets its own shards back,
// or a new one. The caller holds mu.
func (eng *Engine) addWorker(workers []*worker) *worker {
	last := len(eng.retired) - 1
	if last < 0 {
		return eng.newWorker(len(workers), 0)
	}
	w := eng.retired[last]
	eng.retired = eng.retired[:last]
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
// the worker's own shards until no timer of them is due. retire returns the number of armed timers
// that it has handed on. The caller holds mu.
func (eng *Engine) retire(w *worker, to []recipient) (timers int) {
	eng.retired = append(eng.retired, w)
	w.retired.Store(true)
	if w.busy.Load() != 0 {
		eng.timekeeper.watchRetired(w)
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
		timers += armed
	}
	eng.migrated.Add(uint64(timers))
	return timers
}

// assignShards makes worker.shards of all workers agree with Shard.owner of all shards. The
// caller holds mu.
func (eng *Engine) assignShards() {
	for _, s := range *eng.shards.Load() {
		s.maker.shards = nil
	}
	for _, s := range *eng.shards.Load() {
		w := s.owner.Load()
		w.shards = append(w.shards, s)
	}
}

// pending returns the number of armed timers.
func (s *Shard) pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.armed
}
