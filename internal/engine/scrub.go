package engine

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stopping a timer is fast because it does not clean up completely: it leaves a dead entry in the
// wheel and a free slot in a slab. The wheel bounds the number of dead entries and reuses free
// slots. But when very many timers are stopped and far fewer are armed again, the memory should be
// given back. Scrubbing does that, in rounds of small steps. Each step is started by a standard
// timer, which is armed only while there is something to do.

const (
	slabTimers = 1024 // timers per slab of the wheel

	// A step inspects scrubSlabs slabs of a shard with its lock held. That takes about 0.2 ms, or
	// up to a millisecond with ten million timers. Steps are scrubInterval apart.
	scrubSlabs    = 4
	scrubInterval = int64(10 * time.Millisecond)
)

// scrub is the scrubbing state of one shard. It is protected by the shard's lock.
type scrub struct {
	stops int    // timers stopped since the last round began
	steps int    // steps left in this round; a step that frees something does not count. 0: no round
	total uint64 // dead entries removed and slots given back
}

// wants begins a round if there is none and one is worthwhile. It reports whether the scrubber must
// be started: there is a round, and the scrubber is off. The caller holds the lock.
func (sc *scrub) wants(s *Shard) bool {
	return (sc.steps > 0 || sc.begin(s)) && s.eng.scrubber.state.Load() == scrubOff
}

// begin begins a round if it is worthwhile, and reports whether it did. A round is worthwhile if at
// least Config.StaleLimit timers were stopped, and at least as many as are still armed. If none is
// armed, a sixteenth of StaleLimit is enough.
func (sc *scrub) begin(s *Shard) bool {
	many := sc.stops >= s.eng.StaleLimit && sc.stops >= s.armed
	all := s.armed == 0 && sc.stops >= s.eng.StaleLimit/16
	if !many && !all || sc.stops == 0 {
		return false
	}
	sc.steps = s.w.Cap()/(slabTimers*scrubSlabs) + 2 // enough to inspect every slab
	sc.stops = 0
	return true
}

// step performs one step of the current round, or of a new one if that is worthwhile. It reports
// whether there is more to do.
func (sc *scrub) step(s *Shard) bool {
	s.mu.Lock()
	defer s.unlock()
	if s.closed || sc.steps == 0 && !sc.begin(s) {
		return false
	}
	dead := s.front().Compact(scrubSlabs * slabTimers / 30)
	empty := s.w.Trim(scrubSlabs)
	sc.total += uint64(dead + empty*slabTimers)
	if dead == 0 && empty == 0 {
		sc.steps--
	}
	return sc.steps > 0 || sc.begin(s)
}

// A scrubber scrubs an engine's shards.
type scrubber struct {
	eng   *Engine
	state atomic.Uint32

	mu    sync.Mutex
	timer stdTimer // set with mu held
}

const (
	scrubOff   uint32 = iota // the timer is not armed
	scrubOn                  // the timer is armed
	scrubEnded               // the engine is shut down
)

func (sc *scrubber) init(eng *Engine) {
	sc.eng = eng
	sc.timer.init(eng, 1, func(eng *Engine) { eng.scrubber.onTimer() })
}

// start schedules the next step unless one is scheduled already. A foreign call does nothing,
// because the timer would use another bubble's clock; a later Stop tries again.
func (sc *scrubber) start() {
	if sc.state.Load() != scrubOff || sc.eng.foreign() {
		return
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.state.CompareAndSwap(scrubOff, scrubOn) {
		sc.timer.reset(scrubInterval)
	}
}

// onTimer performs a step on each shard that needs it. It turns the scrubber off before it inspects
// the shards, so that a round that begins in the meantime starts the scrubber again.
func (sc *scrubber) onTimer() {
	if !sc.state.CompareAndSwap(scrubOn, scrubOff) {
		return
	}
	more := false
	for _, s := range *sc.eng.shards.Load() {
		more = s.scrub.step(s) || more
	}
	if more {
		sc.start()
	}
}

// close shuts the scrubber down. If the timer is armed, it fires once more to no effect.
func (sc *scrubber) close() { sc.state.Store(scrubEnded) }
