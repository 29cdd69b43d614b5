package foliot

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"
	"weak"
)

const (
	// censusBatch is how many slabs of bells are looked at with a shard's lock held.
	sweepBatch = 4

	// censusShare is the part of the time that looking at bells may take, one in so many,
	// and censusCredit how much of it can be saved up. A look is taken to take censusLook: by
	// the clock a machine that is busy would have its censuses put off.
	sweepShare     = 20
	sweepCreditMax = 100 * time.Millisecond
	sweepLookTime  = 50 * time.Nanosecond
)

// A census makes young bells grow up, finds those grown ones whose channels nobody refers to
// any more, and frees them and their timers. While there are bells at all, there is one after
// every garbage collection; unless they have taken too much of the time, then after a later
// one.
//
// A cleanup on each channel would tell as much, and cost half a microsecond and two
// allocations for each.
type reaper struct {
	waits atomic.Bool // for a garbage collection, or takes place

	// These belong to the census that takes place.
	credit time.Duration
	last   time.Time // when credit was counted
}

// A sentinel is forgotten as soon as it is made. Its cleanup tells of the next garbage
// collection. It has a pointer lest it share its place in memory with other small things.
type gcSentinel struct{ _ *gcSentinel }

// begin has a census take place after the next garbage collection.
func (c *reaper) start(rt *Runtime) {
	if !c.waits.Load() && c.waits.CompareAndSwap(false, true) {
		c.awaitGC(rt)
	}
}

func (c *reaper) awaitGC(rt *Runtime) {
	runtime.AddCleanup(new(gcSentinel), func(rt *Runtime) { rt.reaper.sweep(rt) }, rt)
}

// take is the census. It runs among the cleanups of the program, so as not to be a goroutine
// more. It first does away with all weak pointers to nothing, which is the greater part of the
// garbage and the smaller part of the work. That is also what it may spend too much time on; to
// free what is found is not.
func (c *reaper) sweep(rt *Runtime) {
	looks, gone := 0, 0
	for _, s := range *rt.shards.Load() {
		l, g := s.clearDead()
		looks += l
		gone += g
	}
	now := time.Now()
	c.credit = min(c.credit+now.Sub(c.last)/sweepShare, sweepCreditMax) - time.Duration(looks)*sweepLookTime
	c.last = now
	bells := 0
	for _, s := range *rt.shards.Load() {
		bells += s.freeDead(gone > 0)
	}
	switch {
	case bells == 0:
		c.waits.Store(false)
		// One that was made while others were counted found a census under way.
		for _, s := range *rt.shards.Load() {
			if s.hasChanTimers() {
				c.start(rt)
			}
		}
	case c.credit < 0:
		time.AfterFunc(-c.credit*sweepShare, func() { c.awaitGC(rt) })
	default:
		c.awaitGC(rt)
	}
}

func (s *shard) hasChanTimers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chanTimers.count > 0
}

// forget does away with the weak pointers of bells whose channels are gone, and returns how
// many bells it has looked at and how many of those pointers there were.
func (s *shard) clearDead() (looks, gone int) {
	s.eachChanTimer(func(b *chanTimer) {
		looks++
		if b.c == nil && b.weak.Value() == nil {
			b.weak = weak.Pointer[hchan]{}
			gone++
		}
	})
	return looks, gone
}

// settleBells frees the bells that forget has found, if any, makes the young ones grow up and
// returns how many are left.
func (s *shard) freeDead(gone bool) (left int) {
	if gone {
		dirty := false
		s.eachChanTimer(func(b *chanTimer) {
			if b.c == nil && b.weak == (weak.Pointer[hchan]{}) {
				_, d := s.cancel(b.timer, s.w.Value(b.timer), eventFree)
				dirty = dirty || d
			}
		})
		if dirty {
			s.rt.scrubber.start()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.chanTimers.strong {
		s.weaken(s.chanTimers.strong[i])
		s.chanTimers.strong[i] = strongRef{}
	}
	return s.chanTimers.count
}

// eachBell calls f for each bell that is not free, with the lock held but not for long at a
// time. It gives back slabs without bells.
func (s *shard) eachChanTimer(f func(b *chanTimer)) {
	bs := &s.chanTimers
	for from := 0; ; from += sweepBatch {
		s.mu.Lock()
		end := min(from+sweepBatch, len(bs.slabs))
		if from >= end {
			s.mu.Unlock()
			return
		}
		for i := from; i < end; i++ {
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
