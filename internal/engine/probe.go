package engine

import (
	"fmt"
	"math"
	"time"
)

// This file is for tests only; nothing in the library uses it. It is not a test file because the
// tests of internal/context need it as well.

// A Probe is an engine for tests that take every step themselves. It does nothing on its own: its
// timekeeper believes that it is awake and so starts no driver, and its scrubber is closed. It has
// two workers with one shard each, on a manual clock.
type Probe struct{ *Engine }

// ProbeTick is the resolution of a Probe.
const ProbeTick = time.Minute

// probeClaim is a claim that no goroutine holds.
const probeClaim = 1 << 40

// NewProbe returns a new Probe.
func NewProbe() Probe {
	return newProbe(NewManualClock(time.Time{}))
}

// newProbe returns a Probe on a manual clock, or on the system clock if clock is nil.
func newProbe(clock *ManualClock) Probe {
	eng, err := New(Config{
		Workers: 2, Resolution: ProbeTick, StaleLimit: math.MaxInt, Manual: clock,
		perWorker: 1, stdOnly: true,
	})
	if err != nil {
		panic(err)
	}
	eng.timekeeper.mode = modeAwake
	eng.timekeeper.wakeAt.Store(0)
	eng.scrubber.close()
	return Probe{eng}
}

// Shard returns shard i, counted from 0.
func (p Probe) Shard(i int) *Shard { return (*p.shards.Load())[i] }

// Open directs all new timers and tasks to s.
func (p Probe) Open(s *Shard) { p.openShards.Store(&[]*Shard{s}) }

// SetTime sets the manual clock.
func (p Probe) SetTime(now int64) { p.manual.now.Store(now) }

// PopCalls pops the timers of s that are due at now and returns their callbacks.
func (p Probe) PopCalls(s *Shard, now int64) (calls []func()) {
	for s.next.Load() <= now {
		if c, _ := s.pop(&turn{now: now}); c.fn != nil {
			calls = append(calls, c.fn)
		}
	}
	return calls
}

// CloseShards closes the shards as Shutdown does, and returns the orphans' callbacks.
func (p Probe) CloseShards() (contexts []func()) {
	p.closed.Store(true)
	for _, s := range *p.shards.Load() {
		_, ends := s.close()
		contexts = append(contexts, ends...)
	}
	return contexts
}

// Armed returns the number of armed timers in s.
func (p Probe) Armed(s *Shard) int {
	s.mu.Lock()
	defer s.unlock()
	return s.armed
}

// CheckOwners returns an error unless each shard is in its owner's list and in no other, and no
// retired worker owns one.
func (eng *Engine) CheckOwners() error {
	owners := map[*Shard]int{}
	for _, w := range *eng.everyone.Load() {
		for _, s := range *w.shards.Load() {
			owners[s]++
			if s.owner.Load() != w {
				return fmt.Errorf("shard %d is in the list of worker %d, but its owner is %d", s.number, w.id, s.owner.Load().id)
			}
		}
	}
	for _, s := range *eng.shards.Load() {
		switch {
		case owners[s] != 1:
			return fmt.Errorf("shard %d is in the lists of %d workers, want 1", s.number, owners[s])
		case s.owner.Load().id >= len(*eng.workers.Load()):
			return fmt.Errorf("shard %d has the owner %d, which has retired", s.number, s.owner.Load().id)
		}
	}
	return nil
}
