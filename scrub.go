package foliot

import "sync/atomic"

// Stopping a timer is quick because it leaves things behind: a dead word in the wheel, a
// free slot in a slab. The wheel bounds the former and uses the latter again. But where a
// great many timers were stopped and no such number comes again, the memory should go
// back. That is scrubbing: now and then a little of it, by a timer of the standard
// library, as long as there is something to do.

// slabTimers is how many timers share a slab of the wheel.
const slabTimers = 1024

// scrub is what a shard knows about its garbage. It belongs to the holder of the
// shard's lock.
type scrub struct {
	stops int    // timers stopped since the last round began
	left  int    // steps of the round under way that are still to be done, not counting those that find something
	total uint64 // dead entries and empty slots given back
}

// stopped counts a timer that was stopped, and tells whether it is time to scrub.
func (g *scrub) stopped(s *shard) bool {
	g.stops++
	return (g.stops >= s.rt.staleLimit || s.armed == 0) && g.left == 0 && g.begin(s)
}

// begin begins a round if it is worth it: many were stopped, and no fewer than are left;
// or some, and none are left.
func (g *scrub) begin(s *shard) bool {
	many := g.stops >= s.rt.staleLimit && g.stops >= s.armed
	all := s.armed == 0 && g.stops >= s.rt.staleLimit/16
	if !many && !all || g.stops == 0 {
		return false
	}
	g.left = s.w.Cap()/(slabTimers*s.scrubSlabs()) + 2 // it looks at every slab
	g.stops = 0
	return true
}

// scrubSlabs is how many slabs a step looks at.
func (s *shard) scrubSlabs() int {
	return max(1, s.rt.scrubBudget/slabTimers)
}

// step does a little of the round under way, if any, and tells whether more is to be done.
func (g *scrub) step(s *shard) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || g.left == 0 && !g.begin(s) {
		return false
	}
	dead := s.w.Compact(s.scrubSlabs() * slabTimers / 30)
	empty := s.w.Trim(s.scrubSlabs())
	g.total += uint64(dead + empty*slabTimers)
	if dead == 0 && empty == 0 {
		g.left--
	}
	return g.left > 0 || g.begin(s)
}

// A scrubber has the shards of a runtime scrubbed, and the timekeeper put to rest when
// the last timer was stopped: otherwise it would wake for nothing, and keep a runtime
// that nobody uses any more from being collected.
type scrubber struct {
	rt    *Runtime
	timer stdTimer
	state atomic.Uint32
}

const (
	scrubOff   uint32 = iota
	scrubOn           // the timer is armed, or step under way
	scrubAgain        // and start was called meanwhile
	scrubEnded        // for good
)

func (g *scrubber) open(rt *Runtime) {
	g.rt = rt
	g.timer.open(rt, func(rt *Runtime) { rt.scrubber.onTimer() })
}

// start begins a round, or makes sure that there is another after the one under way. It is
// called for every timer that leaves its shard empty: it mostly is one load.
func (g *scrubber) start() {
	for {
		switch g.state.Load() {
		case scrubAgain, scrubEnded:
			return
		case scrubOff:
			if g.rt.foreign() {
				return // the timer would be set by the clock of another bubble. The next start will do
			}
			if g.state.CompareAndSwap(scrubOff, scrubOn) {
				g.timer.reset(int64(g.rt.scrubInterval))
				return
			}
		case scrubOn:
			if g.state.CompareAndSwap(scrubOn, scrubAgain) {
				return
			}
		}
	}
}

// step does a little for each shard that wants it, and sets the timer for the next step.
func (g *scrubber) onTimer() {
	again := g.state.CompareAndSwap(scrubAgain, scrubOn)
	for _, s := range *g.rt.shards.Load() {
		if s.scrub.step(s) {
			again = true
		}
	}
	g.rt.timekeeper.parkIfIdle()
	if again || !g.state.CompareAndSwap(scrubOn, scrubOff) {
		g.timer.reset(int64(g.rt.scrubInterval))
	}
	if g.state.Load() == scrubEnded {
		g.timer.stop()
	}
}

func (g *scrubber) close() {
	g.state.Store(scrubEnded)
	g.timer.stop()
}
