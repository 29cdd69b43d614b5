package engine

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"
	"weak"
)

const (
	// sweepBatch is how many slabs of channel timers a sweep looks at with a shard's lock
	// held.
	sweepBatch = 4

	// Sweeps may take one part in sweepShare of the time. What they do not use is saved up,
	// at most sweepCreditMax. Looking at a channel timer is taken to cost sweepLookTime.
	// The cost is not measured: on a busy machine the clock would show too much, and sweeps
	// would be put off.
	sweepShare     = 20
	sweepCreditMax = 100 * time.Millisecond
	sweepLookTime  = 50 * time.Nanosecond
)

// The reaper frees channel timers whose channels are gone. A sweep first drops the weak
// pointers to channels that are gone, then frees their timers, and makes strong channel
// timers weak. It also settles the shards, so that no stopped GoFunc is kept alive. While there
// are channel timers or such GoFuncs, a sweep follows each garbage collection. If sweeps have
// taken too much time, it follows a later one.
//
// A cleanup on each channel would do as much. It would cost half a microsecond and two
// allocations for each channel.
type reaper struct {
	waits atomic.Bool // a sweep is running, or waits for a garbage collection

	// These belong to the sweep that is running.
	credit time.Duration
	last   time.Time // when credit was counted
}

// A gcSentinel becomes unreachable as soon as it is made, so its cleanup runs after the
// next garbage collection. It has a pointer because objects without pointers may share one
// allocation and live longer.
type gcSentinel struct{ _ *gcSentinel }

// start has a sweep run after the next garbage collection, unless one waits for it already.
func (c *reaper) start(eng *Engine) {
	if !c.waits.Load() && c.waits.CompareAndSwap(false, true) {
		c.awaitGC(eng)
	}
}

func (c *reaper) awaitGC(eng *Engine) {
	runtime.AddCleanup(new(gcSentinel), func(eng *Engine) { eng.reaper.sweep(eng) }, eng)
}

// sweep is the cleanup of a gcSentinel. Cleanups run on goroutines of the Go runtime, so
// the reaper needs none. The first pass drops weak pointers whose target is gone: that is
// cheap for each timer and releases most of the memory. Only the first pass is charged
// against the time budget. The second pass frees the timers that the first one has found.
func (c *reaper) sweep(eng *Engine) {
	looks, gone := 0, 0
	for _, s := range *eng.shards.Load() {
		s.lockAndSettle()
		l, g := s.clearDead()
		looks += l
		gone += g
	}
	now := time.Now()
	c.credit = min(c.credit+now.Sub(c.last)/sweepShare, sweepCreditMax) - time.Duration(looks)*sweepLookTime
	c.last = now
	left := 0
	for _, s := range *eng.shards.Load() {
		left += s.freeDead(gone > 0)
	}
	switch {
	case left == 0:
		c.waits.Store(false)
		// A channel timer that was made during this sweep, or a GoFunc that was stopped, has not
		// started another one.
		for _, s := range *eng.shards.Load() {
			if s.needsSweep() {
				c.start(eng)
			}
		}
	case c.credit < 0:
		time.AfterFunc(-c.credit*sweepShare, func() { c.awaitGC(eng) })
	default:
		c.awaitGC(eng)
	}
}

// needsSweep reports whether there are channel timers, or entries that must be removed.
func (s *Shard) needsSweep() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chans != nil && s.chans.count > 0 || s.putOff.cancelCount > 0
}

// clearDead drops the weak pointers to channels that are gone. It returns how many channel
// timers it has looked at, and how many of those pointers there were.
func (s *Shard) clearDead() (looks, gone int) {
	s.eachChanTimer(func(b *chanTimer) {
		looks++
		if b.c == nil && b.weak.Value() == nil {
			b.weak = weak.Pointer[hchan]{}
			gone++
		}
	})
	return looks, gone
}

// freeDead makes strong channel timers weak and returns how many channel timers are left.
// If gone is set, it first frees those whose weak pointers clearDead has dropped.
func (s *Shard) freeDead(gone bool) (left int) {
	if gone {
		dirty := false
		s.eachChanTimer(func(b *chanTimer) {
			if b.c == nil && b.weak == (weak.Pointer[hchan]{}) {
				_, d := s.cancel(b.timer, s.w.Value(b.timer), eventFree)
				dirty = dirty || d
			}
		})
		if dirty {
			s.eng.scrubber.start()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chans == nil {
		return 0
	}
	for i := range s.chans.strong {
		s.weaken(s.chans.strong[i])
		s.chans.strong[i] = strongRef{}
	}
	return s.chans.count
}

// eachChanTimer calls f for each channel timer in use. It holds the lock, but not for long
// at a time. It gives back the memory of empty slabs.
func (s *Shard) eachChanTimer(f func(b *chanTimer)) {
	for from := 0; ; from += sweepBatch {
		s.mu.Lock()
		bs := s.chans
		if bs == nil || from >= len(bs.slabs) {
			s.mu.Unlock()
			return
		}
		for i := from; i < min(from+sweepBatch, len(bs.slabs)); i++ {
			bs.trim(i)
			slab := bs.slabs[i]
			if slab == nil {
				continue
			}
			for used := ^slab.free; used != 0; used &= used - 1 {
				f(&slab.slots[bits.TrailingZeros64(used)])
			}
		}
		s.mu.Unlock()
	}
}
