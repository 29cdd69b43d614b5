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
	censusBatch = 4

	// censusShare is the part of the time that looking at bells may take, one in so many,
	// and censusCredit how much of it can be saved up. A look is taken to take censusLook: by
	// the clock a machine that is busy would have its censuses put off.
	censusShare  = 20
	censusCredit = 100 * time.Millisecond
	censusLook   = 50 * time.Nanosecond
)

// A census makes young bells grow up, finds those grown ones whose channels nobody refers to
// any more, and frees them and their timers. While there are bells at all, there is one after
// every garbage collection; unless they have taken too much of the time, then after a later
// one.
//
// A cleanup on each channel would tell as much, and cost half a microsecond and two
// allocations for each.
type census struct {
	waits atomic.Bool // for a garbage collection, or takes place

	// These belong to the census that takes place.
	credit time.Duration
	last   time.Time // when credit was counted
}

// A sentinel is forgotten as soon as it is made. Its cleanup tells of the next garbage
// collection. It has a pointer lest it share its place in memory with other small things.
type sentinel struct{ _ *sentinel }

// begin has a census take place after the next garbage collection.
func (c *census) begin(rt *Runtime) {
	if !c.waits.Load() && c.waits.CompareAndSwap(false, true) {
		c.await(rt)
	}
}

func (c *census) await(rt *Runtime) {
	runtime.AddCleanup(new(sentinel), func(rt *Runtime) { rt.census.take(rt) }, rt)
}

// take is the census. It runs among the cleanups of the program, so as not to be a goroutine
// more. It first does away with all weak pointers to nothing, which is the greater part of the
// garbage and the smaller part of the work. That is also what it may spend too much time on; to
// free what is found is not.
func (c *census) take(rt *Runtime) {
	looks, gone := 0, 0
	for _, s := range *rt.all.Load() {
		l, g := s.forget()
		looks += l
		gone += g
	}
	now := time.Now()
	c.credit = min(c.credit+now.Sub(c.last)/censusShare, censusCredit) - time.Duration(looks)*censusLook
	c.last = now
	bells := 0
	for _, s := range *rt.all.Load() {
		bells += s.settleBells(gone > 0)
	}
	switch {
	case bells == 0:
		c.waits.Store(false)
		// One that was made while others were counted found a census under way.
		for _, s := range *rt.all.Load() {
			if s.hasBells() {
				c.begin(rt)
			}
		}
	case c.credit < 0:
		time.AfterFunc(-c.credit*censusShare, func() { c.await(rt) })
	default:
		c.await(rt)
	}
}

func (s *shard) hasBells() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bells.count > 0
}

// forget does away with the weak pointers of bells whose channels are gone, and returns how
// many bells it has looked at and how many of those pointers there were.
func (s *shard) forget() (looks, gone int) {
	s.eachBell(func(b *bellSlot) {
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
func (s *shard) settleBells(gone bool) (left int) {
	if gone {
		dirty := false
		s.eachBell(func(b *bellSlot) {
			if b.c == nil && b.weak == (weak.Pointer[hchan]{}) {
				_, d := s.callOff(b.timer, s.w.Value(b.timer), release)
				dirty = dirty || d
			}
		})
		if dirty {
			s.rt.scrubber.start()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.bells.young {
		s.growUp(s.bells.young[i])
		s.bells.young[i] = youngBell{}
	}
	return s.bells.count
}

// eachBell calls f for each bell that is not free, with the lock held but not for long at a
// time. It gives back slabs without bells.
func (s *shard) eachBell(f func(b *bellSlot)) {
	bs := &s.bells
	for from := 0; ; from += censusBatch {
		s.mu.Lock()
		end := min(from+censusBatch, len(bs.slabs))
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
