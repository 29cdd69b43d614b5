package engine

import (
	"sync/atomic"
	"time"
)

// Stopping a timer is fast because it does not clean up completely: it leaves a dead entry in
// the wheel and a free slot in a slab. The wheel bounds the number of dead entries, and uses
// free slots again. But if very many timers were stopped and not so many are armed again, the
// memory should be given back. Scrubbing does that, in rounds of small steps. A timer of the
// standard library starts each step. It is armed only while there is something to do.

// slabTimers is how many timers share a slab of the wheel.
const slabTimers = 1024

// scrub is the scrubbing of one shard. It is protected by the shard's lock.
type scrub struct {
	stops int    // timers stopped since the last round began
	left  int    // steps left in this round; a step that frees something does not count. 0: no round
	total uint64 // dead entries removed and slots given back
}

// stopped counts a timer that was stopped. It returns true if a round has begun, so that the
// scrubber must be started.
func (g *scrub) stopped(s *Shard) bool {
	g.stops++
	return (g.stops >= s.eng.staleLimit || s.armed == 0) && g.left == 0 && g.begin(s)
}

// begin begins a round if it is worth it, and reports whether it has. It is worth it if at
// least staleLimit timers were stopped, and at least as many as are still armed. If none is
// armed, a sixteenth of staleLimit is enough.
func (g *scrub) begin(s *Shard) bool {
	many := g.stops >= s.eng.staleLimit && g.stops >= s.armed
	all := s.armed == 0 && g.stops >= s.eng.staleLimit/16
	if !many && !all || g.stops == 0 {
		return false
	}
	g.left = s.w.Cap()/(slabTimers*s.scrubSlabs()) + 2 // enough to look at every slab
	g.stops = 0
	return true
}

// scrubSlabs returns how many slabs a step looks at.
func (s *Shard) scrubSlabs() int {
	return max(1, s.eng.scrubBudget/slabTimers)
}

// step does a step of the round, and begins a round if there is none and it is worth it. It
// reports whether there is more to do.
func (g *scrub) step(s *Shard) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || g.left == 0 && !g.begin(s) {
		return false
	}
	s.settle()
	dead := s.w.Compact(s.scrubSlabs() * slabTimers / 30)
	empty := s.w.Trim(s.scrubSlabs())
	g.total += uint64(dead + empty*slabTimers)
	if dead == 0 && empty == 0 {
		g.left--
	}
	return g.left > 0 || g.begin(s)
}

// needsStep reports whether a round is not finished.
func (g *scrub) needsStep(s *Shard) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && g.left > 0
}

// A scrubber scrubs the shards of an engine. It also parks the timekeeper when the last timer
// was stopped. Otherwise the timekeeper would wake for nothing, and its armed timer would keep
// an engine that is not used any more from being collected.
type scrubber struct {
	eng   *Engine
	timer stdTimer
	state atomic.Uint32

	opened time.Time     // when the engine was made. Set by open
	next   time.Duration // when the next step may be, counted from opened. Belongs to onTimer
}

// parkDelay is how long the timekeeper stays awake after the last timer was stopped, at most.
// Config.ScrubInterval does not change that: it is about memory.
const parkDelay = 10 * time.Millisecond

const (
	scrubOff   uint32 = iota // the timer is not armed
	scrubOn                  // the timer is armed, or onTimer runs
	scrubAgain               // like scrubOn, and start was called since: onTimer arms the timer again
	scrubEnded               // the engine is shut down
)

func (g *scrubber) open(eng *Engine) {
	g.eng = eng
	g.opened = time.Now()
	g.timer.open(eng, 1, func(eng *Engine) { eng.scrubber.onTimer() })
}

// start has onTimer called after parkDelay. If the timer is armed already, onTimer is
// called once more after that. start is called for every stopped timer that leaves its shard
// empty. In most cases it is one load.
func (g *scrubber) start() {
	for {
		switch g.state.Load() {
		case scrubAgain, scrubEnded:
			return
		case scrubOff:
			if g.eng.foreign() {
				return // the timer would use the clock of another bubble. A later call of start arms it
			}
			if g.state.CompareAndSwap(scrubOff, scrubOn) {
				g.timer.reset(int64(min(parkDelay, g.eng.scrubInterval)))
				return
			}
		case scrubOn:
			if g.state.CompareAndSwap(scrubOn, scrubAgain) {
				return
			}
		}
	}
}

// onTimer parks the timekeeper if nothing is armed. If the scrub interval has passed since the
// last step, it also does a step for each shard that needs it. It arms the timer again if there
// is more to do, or if start was called meanwhile.
func (g *scrubber) onTimer() {
	pause := time.Duration(never)
	if g.state.CompareAndSwap(scrubAgain, scrubOn) {
		pause = parkDelay
	}
	g.eng.timekeeper.parkIfIdle()
	now := time.Since(g.opened)
	step := now >= g.next
	if step {
		g.next = now + g.eng.scrubInterval
	}
	for _, s := range *g.eng.shards.Load() {
		if step && s.scrub.step(s) || !step && s.scrub.needsStep(s) {
			pause = min(pause, g.next-now)
		}
	}
	if pause == time.Duration(never) {
		if g.state.CompareAndSwap(scrubOn, scrubOff) {
			return
		}
		pause = parkDelay
	}
	g.timer.reset(int64(pause))
	if g.state.Load() == scrubEnded {
		g.timer.stop()
	}
}

func (g *scrubber) close() {
	g.state.Store(scrubEnded)
	g.timer.stop()
}
