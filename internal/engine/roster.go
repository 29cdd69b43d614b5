package engine

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/foliot-go/foliot/internal/stackhash"
	"github.com/foliot-go/foliot/internal/wheel"
)

// A roster holds an engine's workers and shards. Shard i is created together with worker i/perWorker,
// which is its home. The lists are replaced as a whole, under mu.
type roster struct {
	workers    atomic.Pointer[[]*worker] // the first of everyone. All others have retired and have no shards
	everyone   atomic.Pointer[[]*worker] // every worker ever created, by id. A goroutine may still run one that has retired
	shards     atomic.Pointer[[]*Shard]  // every shard ever created, by Shard.number - 1
	openShards atomic.Pointer[[]*Shard]  // where new timers go: the shards whose home has not retired, or the first on a manual clock

	mu sync.Mutex // held by Resize, Shutdown and Stats
}

// init creates the workers and shards of a new engine.
func (r *roster) init(eng *Engine) {
	r.everyone.Store(new([]*worker))
	r.shards.Store(new([]*Shard))
	eng.grow(eng.Workers, eng.Capacity/(eng.Workers*eng.perWorker))
	eng.assign(eng.Workers)
}

// grow creates workers and their shards until there are n workers. Each new wheel has room for
// capacity timers. The caller holds mu, unless it has just created the engine.
func (eng *Engine) grow(n, capacity int) {
	everyone := slices.Clone(*eng.everyone.Load())
	shards := slices.Clone(*eng.shards.Load())
	for id := len(everyone); id < n; id++ {
		w := &worker{eng: eng, id: id}
		w.shards.Store(new([]*Shard))
		for range eng.perWorker {
			s := &Shard{eng: eng, number: uint32(len(shards) + 1)}
			s.next.Store(never)
			s.owner.Store(w)
			if capacity > 0 {
				s.w = *wheel.New[entry](0, capacity)
			}
			shards = append(shards, s)
		}
		everyone = append(everyone, w)
	}
	eng.shards.Store(&shards)
	eng.everyone.Store(&everyone)
}

// assign distributes all shards among the first n workers. A shard goes to its home if that is one of
// them, or else stays with its owner if that is. The remaining shards go to the worker with the
// fewest armed timers and, among equals, the fewest shards; assign returns how many armed timers are
// in these. The caller holds mu and calls wakeOwners afterwards, unless it has just created the
// engine.
func (eng *Engine) assign(n int) (migrated int) {
	shards := *eng.shards.Load()
	lists := make([][]*Shard, len(*eng.everyone.Load()))
	armed := make([]int, n)
	give := func(s *Shard, w, timers int) {
		lists[w] = append(lists[w], s)
		armed[w] += timers
	}
	var homeless []*Shard
	for i, s := range shards {
		switch home, owner := i/eng.perWorker, s.owner.Load().id; {
		case home < n:
			give(s, home, s.pending())
		case owner < n:
			give(s, owner, s.pending())
		default:
			homeless = append(homeless, s)
		}
	}
	for _, s := range homeless {
		to := 0
		for w := range n {
			if armed[w] < armed[to] || armed[w] == armed[to] && len(lists[w]) < len(lists[to]) {
				to = w
			}
		}
		timers := s.pending()
		give(s, to, timers)
		migrated += timers
	}
	open := shards[: n*eng.perWorker : n*eng.perWorker]
	if eng.manual != nil {
		open = open[:1] // all timers go to one shard, so that they fire in the order of arming
	}
	eng.openShards.Store(&open)
	for id, w := range *eng.everyone.Load() {
		for _, s := range lists[id] {
			s.owner.Store(w)
		}
		w.shards.Store(&lists[id])
	}
	workers := (*eng.everyone.Load())[:n:n]
	eng.workers.Store(&workers)
	return migrated
}

// wakeOwners makes sure that the workers find what is in the shards that assign gave them.
//
// A goroutine that makes a task ready pushes it, then loads the shard's owner. One that moves tasks
// from inbox to todo stores them in todo, then loads the owner (see turn.afterRefill). assign stores
// the owners before wakeOwners reads the ready lists, so whoever loads an old owner has already made
// its tasks visible here. For deadlines the same holds with Shard.next, timekeeper.wakeAt and the
// lists of shards. And whoever releases a worker reads that worker's list afterwards.
func (eng *Engine) wakeOwners() {
	for _, s := range *eng.shards.Load() {
		s.wakeOwnerIfReady()
	}
	for _, w := range *eng.workers.Load() {
		eng.timekeeper.notify(w.next())
	}
}

// home returns the first shard that was created with the worker. It exists even if the worker
// retired.
func (w *worker) home() *Shard {
	return (*w.eng.shards.Load())[w.id*w.eng.perWorker]
}

// lockShard locks and returns a shard for a new timer. It picks the shard by a hash of the
// goroutine's stack address, or another one if that is locked. The choice matters only for speed.
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

// lockAnyShard locks and returns the next shard after the i-th that is not locked, or the i-th if all
// are. If every search began at the first shard, all goroutines that find their shard locked would
// meet there.
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

// Resize changes the number of workers while the engine is in use. Surplus workers retire, and others
// become the owners of their shards, with all timers and tasks (see assign). A timer never leaves its
// shard, so no timer is lost, none fires twice, and handles stay valid. If the number of workers
// grows again, retired workers return and get back the shards that were created with them.
func (eng *Engine) Resize(workers int) error {
	if workers < 1 || workers > MaxWorkers {
		return fmt.Errorf("foliot: Resize to %d workers; use 1 to %d", workers, MaxWorkers)
	}
	if _, err := eng.CheckedNow(); err != nil {
		return err // resize notifies the timekeeper, which a foreign call must not do
	}
	retired, timers, err := eng.resize(workers)
	if retired > 0 {
		eng.event("foliot: workers have retired; the other workers have adopted their timers", "retired", retired, "workers", workers, "timers", timers)
	}
	return err
}

// resize is Resize without the log. It returns how many workers retired, and how many armed timers
// were in their shards.
func (eng *Engine) resize(n int) (retired, timers int, err error) {
	eng.roster.mu.Lock()
	defer eng.roster.mu.Unlock()
	if eng.closed.Load() {
		return 0, 0, ErrClosed
	}
	was := len(*eng.workers.Load())
	eng.grow(n, 0)
	timers = eng.assign(n)
	eng.wakeOwners()
	eng.migrated.Add(uint64(timers))
	return max(was-n, 0), timers, nil
}

// pending returns the number of armed timers.
func (s *Shard) pending() int {
	s.mu.Lock()
	defer s.unlock()
	return s.armed
}
