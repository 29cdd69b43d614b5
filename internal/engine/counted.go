package engine

import (
	"math"
	"time"
)

// An engine whose timers are counted is one on a manual clock of which a test asks how many timers
// wait, see package clock. It differs from other engines in four ways, so that the number does not
// depend on chance:
//
//   - During an Advance the clock shows its end, except to callbacks. So a goroutine that Advance has
//     woken arms a timer for the time after that end, however fast it is.
//   - A timer with a channel is not garbage collected while it is armed: the engine holds its
//     channel. The engine is collected as a whole.
//   - A timer with a channel that is armed for now, or earlier, fires at once. In other engines it
//     is armed until the next Advance.
//   - Each context with a deadline has a timer, also below an earlier deadline.

// Counted reports whether the timers of the engine are counted, see Config.
func (eng *Engine) Counted() bool { return eng.counted }

// seen returns the time that the clock shows to the caller, in nanoseconds since its start. It may lock
// mu, so no Shard may be locked.
func (c *ManualClock) seen() int64 {
	now := c.now.Load()
	if !c.counted.Load() {
		return now
	}
	if target := c.target.Load(); target > now && !c.isInside() {
		return target
	}
	return now
}

// Waiting returns the number of timers that are armed for a time after that of the clock, which is
// a manual one, and after the end of an Advance that is running. Others do not count, because they are
// about to fire, except for tickers.
func (eng *Engine) Waiting() (n int) {
	for _, s := range *eng.shards.Load() {
		n += s.waiting()
	}
	return n
}

func (s *Shard) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.armed
	now := max(s.eng.manual.now.Load(), s.eng.manual.target.Load())
	if s.next.Load() > now {
		return n
	}
	for h, b := range s.w.All() {
		ticker := b.kind == kindChan && s.chans.at(b.aux).period != 0
		if at, _ := s.w.Entry(h); b.state.pending() && !ticker && s.eng.Nanos(at) <= now {
			n--
		}
	}
	return n
}

// AdvanceToNext moves the clock to the earliest deadline after now, like Advance, and returns how far
// it has moved. If no timer is armed, it returns false, and the clock stays. Timers that are due fire
// before: they may be about to fire anyway, so the result must not depend on them.
func (c *ManualClock) AdvanceToNext() (d time.Duration, ok bool) {
	c.lock()
	defer c.advancing.Unlock()
	c.waitIdle()
	before := c.now.Load()
	c.advanceTo(before)
	at := c.soonest()
	for ; at <= before; at = c.soonest() { // another goroutine has armed a timer that is due
		c.advanceTo(before)
	}
	if at == never {
		return 0, false
	}
	c.advanceTo(at)
	return time.Duration(at - before), true
}

// soonest returns the earliest deadline on all engines, or never. Unlike earliest, it is exact.
func (c *ManualClock) soonest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := never
	for _, eng := range c.engines {
		at = min(at, (*eng.openShards.Load())[0].soonest())
	}
	return at
}

// soonest returns the earliest deadline of the shard, or never. The engine is ordered, so each timer
// is filed at its deadline.
func (s *Shard) soonest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.w.Soonest(math.MaxInt); ok {
		return s.eng.Nanos(at)
	}
	return never
}
