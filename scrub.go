package foliot

import (
	"sync"
	"time"
)

// Stopping a timer is quick because it leaves things behind: a dead word in the wheel, a
// free slot in a slab. The wheel bounds the former and uses the latter again. But where a
// great many timers were stopped and no such number comes again, the memory should go
// back. That is scrubbing: now and then a little of it, by a timer of the standard
// library, as long as there is something to do.

// slabTimers is how many timers share a slab of the wheel.
const slabTimers = 512

// scrub is what a shard knows about its garbage. It belongs to the holder of the
// shard's lock.
type scrub struct {
	stops int    // timers stopped since the last round began
	peak  int    // the most timers there were since
	left  int    // steps of the round under way that are still to be done
	total uint64 // dead entries and empty slots given back
}

// stopped counts a timer that was stopped, and tells whether it is time to scrub.
func (g *scrub) stopped(s *shard) bool {
	g.stops++
	g.peak = max(g.peak, s.w.Len()+1)
	if g.stops < s.rt.staleLimit || g.stops < s.armed || g.left > 0 {
		return false
	}
	per := max(1, s.rt.scrubBudget/slabTimers)
	g.left = g.peak/(slabTimers*per) + 2
	g.stops, g.peak = 0, 0
	return true
}

// step does a little of the round under way and tells whether more is to be done.
func (g *scrub) step(s *shard) bool {
	s.lock()
	defer s.mu.Unlock()
	if g.left == 0 || s.closed {
		return false
	}
	slabs := max(1, s.rt.scrubBudget/slabTimers)
	dead := s.w.Compact(slabs * slabTimers / 30)
	empty := s.w.Trim(slabs)
	g.total += uint64(dead + empty*slabTimers)
	if dead == 0 {
		g.left--
	}
	return g.left > 0
}

// A scrubber has the shards of a runtime scrubbed.
type scrubber struct {
	rt    *Runtime
	mu    sync.Mutex
	timer *time.Timer
	on    bool // the timer is armed, or step under way
	again bool // start was called meanwhile
}

func (g *scrubber) open(rt *Runtime) {
	g.rt = rt
	g.timer = time.AfterFunc(time.Hour, g.step)
	g.timer.Stop()
}

// start begins a round, unless one is under way.
func (g *scrubber) start() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.on {
		g.again = true
		return
	}
	g.on = true
	g.timer.Reset(g.rt.scrubInterval)
}

func (g *scrubber) step() {
	more := false
	for _, s := range g.rt.shards() {
		if s.scrub.step(s) {
			more = true
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.on = (more || g.again) && !g.rt.closed.Load()
	g.again = false
	if g.on {
		g.timer.Reset(g.rt.scrubInterval)
	}
}

func (g *scrubber) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.on = true // so that it does not start again
	g.timer.Stop()
}
