package engine

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// This file is for tests only: nothing in the library calls it. It is not a test file because the
// tests of package foliot use it, too.

// A Probe is an engine for tests that run the steps of a [Source] one by one. It does nothing by
// itself: its timekeeper believes that it is awake, so it starts no driver, and nothing is scrubbed.
// It has two workers with one shard each, on a manual clock.
type Probe struct{ *Engine }

// ProbeTick is the resolution of a Probe.
const ProbeTick = time.Minute

// probeClaim is a claim that no goroutine has.
const probeClaim = 1 << 40

// NewProbe makes a Probe.
func NewProbe() Probe {
	return newProbe(NewManualClock(time.Time{}))
}

// newProbe makes a Probe on a manual clock. With nil it is on the clock of the system.
func newProbe(clock *ManualClock) Probe {
	eng, err := New(Config{
		Workers: 2, Resolution: ProbeTick, StaleLimit: math.MaxInt, Clock: clock,
		shards: 1, stdOnly: true,
	})
	if err != nil {
		panic(err)
	}
	eng.timekeeper.mode = modeAwake
	eng.timekeeper.wakeAt.Store(0)
	eng.scrubber.close()
	return Probe{eng}
}

// HoldWorkers takes the turns of all workers, so that no goroutine of the engine runs them.
func (p Probe) HoldWorkers() {
	for _, w := range *p.workers.Load() {
		w.busy.Store(probeClaim)
	}
}

// Workers returns the number of workers that have not retired.
func (p Probe) Workers() int { return len(*p.workers.Load()) }

// Shard returns a shard, by its number from 0.
func (p Probe) Shard(i int) *Shard { return (*p.shards.Load())[i] }

// Open makes all new timers and items go to a shard.
func (p Probe) Open(s *Shard) { p.openShards.Store(&[]*Shard{s}) }

// SetTime sets the manual clock.
func (p Probe) SetTime(now int64) { p.manual.now.Store(now) }

// Pop pops timers of items that are due at the time now, and returns how many have expired.
func (p Probe) Pop(s *Shard, now int64) (fired int64) {
	_, fired = s.pop(now, nil, nil)
	return fired
}

// PopCalls takes the timers that are due at the time now off the wheel of a shard, and returns their
// callbacks.
func (p Probe) PopCalls(s *Shard, now int64) (calls []func()) {
	for s.next.Load() <= now {
		if c, _ := s.pop(now, nil, nil); c.fn != nil {
			calls = append(calls, c.fn)
		}
	}
	return calls
}

// CloseShards does what Shutdown does under its locks. It returns the functions that end contexts.
func (p Probe) CloseShards() (contexts []func()) {
	p.closed.Store(true)
	for _, s := range *p.shards.Load() {
		_, ends := s.close()
		contexts = append(contexts, ends...)
	}
	return contexts
}

// ShardState is the state of a shard.
type ShardState struct {
	Next       int64 // no timer is due before this time
	Armed      int   // the number of timers that are armed
	Timers     int   // the number of all timers
	ItemTimers int   // the number of timers of items
}

// State returns the state of a shard.
func (p Probe) State(s *Shard) ShardState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ShardState{s.next.Load(), s.armed, s.w.Len(), s.itemTimers}
}

// OwnerIsActive reports whether the owner of a shard has not retired.
func (p Probe) OwnerIsActive(s *Shard) bool {
	return slices.Contains(*p.workers.Load(), s.owner.Load())
}

// Claim takes the turn of a worker, by its number from 0, and returns a Turn for it.
func (eng *Engine) Claim(i int) *Turn {
	w := (*eng.workers.Load())[i]
	return &Turn{w: w, claim: w.claim(eng.Now(), 0)}
}

// Replace replaces the goroutine that has the turn, as the watchdog does. It returns the new Turn.
func (t *Turn) Replace() *Turn {
	_, claim := t.w.replace(t.w.since.Load() + patience)
	t.w.spawnUntil.Store(0)
	return &Turn{w: t.w, claim: claim}
}

// SpawnAll makes ShouldSpawn return true from now on, or with false no longer.
func (t *Turn) SpawnAll(on bool) {
	t.w.spawnUntil.Store(0)
	if on {
		t.w.spawnUntil.Store(never)
	}
}

// WorkUntilIdle runs the worker of a turn until nothing is left to do, and ends the turn.
func (t *Turn) WorkUntilIdle() {
	t.w.eng.goroutines.add()
	t.w.work(t.claim)
}

// CheckAdopted returns an error if the heap or the list of adopted shards of a worker is wrong. No
// other goroutine may use the engine meanwhile.
func (eng *Engine) CheckAdopted() error {
	heaps, lists := 0, 0 // shards found in the heaps and lists, minus those that say so
	for _, workers := range [][]*worker{*eng.workers.Load(), eng.retired} {
		for _, w := range workers {
			if err := w.adopted.check(w); err != nil {
				return fmt.Errorf("worker %d: %w", w.id, err)
			}
			heaps += len(w.adopted.heap)
			for s := w.adopted.ready.Load(); s != nil; s = s.places.after {
				lists++
			}
		}
	}
	for _, s := range *eng.shards.Load() {
		w := s.owner.Load()
		armed := s.isAdopted && s.next.Load() != never
		switch {
		case !slices.Contains(*eng.workers.Load(), w):
			return fmt.Errorf("shard %d has the owner %d, which has retired", s.number, w.id)
		case s.isAdopted != (w != s.maker):
			return fmt.Errorf("shard %d: adopted is %t, want %t", s.number, s.isAdopted, !s.isAdopted)
		case armed != (s.places.heap != 0):
			return fmt.Errorf("shard %d is in a heap: %t, want %t", s.number, !armed, armed)
		case !s.isAdopted && s.places.listed:
			return fmt.Errorf("shard %d is in a list, but it is not adopted", s.number)
		case s.isAdopted && !s.Ready.Empty() && !s.places.listed:
			return fmt.Errorf("shard %d has ready items, but it is in no list", s.number)
		}
		if s.places.heap != 0 {
			heaps--
		}
		if s.places.listed {
			lists--
		}
	}
	if heaps != 0 || lists != 0 {
		return fmt.Errorf("there are %d too many shards in heaps and %d too many in lists", heaps, lists)
	}
	return nil
}

// check returns an error if the heap or the list is wrong. They are those of the worker w.
func (a *adoptedShards) check(w *worker) error {
	first := never
	for i, e := range a.heap {
		switch {
		case i > 0 && a.heap[(i-1)/2].at > e.at:
			return fmt.Errorf("heap entry %d is due before its parent", i)
		case e.s.places.heap != i+1:
			return fmt.Errorf("the shard of heap entry %d has the place %d, want %d", i, e.s.places.heap, i+1)
		case e.at != e.s.next.Load():
			return fmt.Errorf("heap entry %d has the time %d, want %d", i, e.at, e.s.next.Load())
		case e.s.owner.Load() != w:
			return fmt.Errorf("the shard of heap entry %d belongs to another worker", i)
		}
		first = min(first, e.at)
	}
	if got := a.first.Load(); got != first {
		return fmt.Errorf("first is %d, want %d", got, first)
	}
	var last *Shard
	for s := a.ready.Load(); s != nil; s = s.places.after {
		if s.owner.Load() != w || !s.places.listed || s.places.before != last {
			return fmt.Errorf("shard %d should not be in the list", s.number)
		}
		last = s
	}
	if a.last != last {
		return fmt.Errorf("last is not the last shard of the list")
	}
	return nil
}
