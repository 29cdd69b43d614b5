package foliot

import (
	"context"
	"fmt"
	"slices"
	"time"
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
		rt.event("foliot: a worker has retired and its timers are adopted", "worker", a.worker, "by", a.heir, "timers", a.timers)
	}
	return err
}

// An adoption is what is logged of a shard that was handed on.
type adoption struct{ worker, heir, timers int }

func (rt *Runtime) resize(workers int) (adopted []adoption, err error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.closed.Load() {
		return nil, ErrClosed
	}
	team := slices.Clone(*rt.team.Load())
	var leaving []*worker
	switch {
	case workers > len(team):
		for len(team) < workers {
			team = append(team, rt.recruit(team))
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
	rt.homes.Store(&homes)
	if len(leaving) > 0 {
		heirs := heirsOf(team)
		for _, w := range leaving {
			adopted = append(adopted, rt.retire(w, heirs)...)
		}
	}
	rt.assign()
	rt.team.Store(&team)
	for _, w := range team {
		w.retired.Store(false) // after team, so that the watch sees the worker all the time
		rt.keeper.notice(w.next())
	}
	return adopted, nil
}

// recruit returns a worker to add to a team: a retired one with its shards, or a new one.
func (rt *Runtime) recruit(team []*worker) *worker {
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
type heir struct {
	w             *worker
	armed, shards int
}

func heirsOf(team []*worker) (heirs []heir) {
	for _, w := range team {
		h := heir{w: w, shards: len(w.shards)}
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
func (rt *Runtime) retire(w *worker, heirs []heir) (adopted []adoption) {
	rt.retired = append(rt.retired, w)
	w.retired.Store(true)
	if w.busy.Load() != 0 {
		rt.keeper.watchRetired(w)
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
		adopted = append(adopted, adoption{w.id, h.w.id, armed})
	}
	return adopted
}

// assign makes worker.shards of all workers agree with shard.owner of all shards.
func (rt *Runtime) assign() {
	for _, s := range *rt.all.Load() {
		s.maker.shards = nil
	}
	for _, s := range *rt.all.Load() {
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

// Shutdown closes the runtime: nothing new runs, what runs is waited for, and the number
// of timers that were armed is returned; values that are still in a [Queue] count as such. If ctx ends first, its error is returned along
// with that number, and the runtime is closed all the same; another call waits again. In
// a callback Shutdown would wait for that very callback: give it a ctx that ends.
func (rt *Runtime) Shutdown(ctx context.Context) (armed int, err error) {
	if rt.shared {
		return 0, errDefault
	}
	if rt.bubble != "" && rt.foreign() {
		return 0, errBubble // its timers can be stopped, and its channels closed, in its bubble only
	}
	rt.mu.Lock()
	if !rt.closed.Load() {
		rt.batch.Lock()
		rt.closed.Store(true)
		for _, s := range *rt.all.Load() {
			rt.armed += s.close()
		}
		rt.armed += rt.queues.close()
		rt.handoffs.close()
		rt.batch.Unlock()
		rt.keeper.close()
		rt.scrubber.close()
		if rt.manual != nil {
			rt.manual.detach(rt)
		}
		close(rt.done)
	}
	rt.mu.Unlock()
	err = rt.waitForCallbacks(ctx)
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.armed, err
}

// withdrawInterval is how long Shutdown waits before it takes Options.Go to be blocked.
const withdrawInterval = 20 * time.Millisecond

// waitForCallbacks waits for what runs, and for what Options.Go is to run. It withdraws what a
// blocked Options.Go has not accepted, and runs what Options.Go has dropped.
func (rt *Runtime) waitForCallbacks(ctx context.Context) error {
	if rt.goFunc == nil {
		return rt.crew.wait(ctx)
	}
	for pause := withdrawInterval; ; pause = min(2*pause, time.Second) {
		short, cancel := context.WithTimeout(ctx, pause)
		err := rt.crew.wait(short)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := rt.handoffs.withdraw()
		rt.mu.Lock()
		rt.withdrawn += n
		rt.armed += n
		rt.mu.Unlock()
		rt.handoffs.findDropped()
	}
}
