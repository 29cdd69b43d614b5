package engine

import "github.com/foliot-go/foliot/wheel"

// putOffMax is how many wheel entries a shard removes or moves together: about as many cache
// misses as a processor can have in flight. It is smaller than the number of recent entries of a
// wheel, so the entry of a timer that is stopped at once never gets into a bucket.
const putOffMax = 16

// putOff has the wheel entries of GoFuncs that must be removed or moved. Stop and Reset change the
// GoFunc, which the caller has read anyway. The slot of its entry is in another cache line. So the
// shard puts off what must be done there until it can do that for some entries together. Then their
// cache misses overlap, and the caller waits for none of them.
//
// Until then the wheel has entries of timers that are not armed, or that are armed for an earlier
// tick. So Shard.settle is called before anything looks at the next entries of the wheel. Functions
// for manual clocks do not call it, because GoFuncs are in the default engine only. Nor does
// cascade, because no entry is filed before Shard.next. Next is lowered at once, so no wake-up comes
// too late. A slot that must be freed is not free before that, so no other timer has its number.
//
// An entry that must be removed keeps its GoFunc alive. So the reaper settles the shards after each
// garbage collection.
type putOff struct {
	cancels     [putOffMax]uint32 // the slots of entries that must be removed
	cancelCount uint32

	// The slots of entries that must be moved, if the timer is still armed there. A slot may be in
	// the list twice, and it may have been freed and used again.
	moves     [putOffMax]uint32
	moveCount uint32
}

// cancelLater has the entry in a slot removed. The caller holds the lock, sets the slot of the
// GoFunc to 0, and starts the reaper afterwards if first is true.
func (s *Shard) cancelLater(slot uint32) (first bool) {
	n := s.putOff.cancelCount
	s.putOff.cancels[n&(putOffMax-1)] = slot
	s.putOff.cancelCount = n + 1
	if n+1 == putOffMax {
		s.settleCancels()
	}
	return n == 0
}

// moveLater has the entry in a slot moved to the tick for which its GoFunc is armed. In an ordered
// engine it is moved at once, because the order of arming counts. The caller holds the lock.
func (s *Shard) moveLater(slot uint32) {
	n := s.putOff.moveCount
	s.putOff.moves[n&(putOffMax-1)] = slot
	s.putOff.moveCount = n + 1
	if n+1 == putOffMax || s.eng.ordered {
		s.settleMoves()
	}
}

// settle does what cancelLater and moveLater have put off. The caller holds the lock.
func (s *Shard) settle() {
	if s.putOff.cancelCount != 0 {
		s.settleCancels()
	}
	if s.putOff.moveCount != 0 {
		s.settleMoves()
	}
}

//go:noinline
func (s *Shard) settleCancels() {
	s.w.CancelNumbered(s.putOff.cancels[:s.putOff.cancelCount])
	s.putOff.cancelCount = 0
}

// settleMoves reads all slots before it moves the first entry, so that the cache misses overlap.
//
//go:noinline
func (s *Shard) settleMoves() {
	var handles [putOffMax]wheel.Handle
	slots := s.putOff.moves[:s.putOff.moveCount]
	s.putOff.moveCount = 0
	for i, slot := range slots {
		handles[i&(putOffMax-1)], _, _ = s.w.Numbered(slot)
	}
	for i, slot := range slots {
		h := handles[i&(putOffMax-1)]
		filed, b := s.w.Entry(h)
		if b == nil || b.kind != kindGoFunc {
			continue
		}
		t := (*GoFunc)(b.ptr)
		if t.slot == slot && (t.due < filed || s.eng.ordered) {
			s.w.Reschedule(h, t.due)
		}
	}
}

// lockAndSettle calls settle with the lock held.
func (s *Shard) lockAndSettle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
}
