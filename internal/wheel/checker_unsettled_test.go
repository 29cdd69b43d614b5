package wheel

import "fmt"

// The checks of this file are about the work that settle does.

// checkRecent checks that the refs of recent entries and their slots name each other.
func (c *checker[V]) checkRecent() error {
	w := c.w
	if w.recentCount >= chunkRefs {
		return fmt.Errorf("%d recent refs have not been filed", w.recentCount)
	}
	for k := range w.recentCount {
		i := w.recent[chunkFirstRef+k]
		if i == 0 {
			continue
		}
		c.live++
		s := w.slots.find(i)
		if s == nil || s.pos != refPos(chunkFirstRef+k) {
			return fmt.Errorf("recent ref %d names slot %d, which has another position: %+v", k, i, s)
		}
		if s.at < w.recentMin || s.at < w.cursor {
			return fmt.Errorf("recent ref %d: tick %#x is before recentMin %#x or the cursor %#x",
				k, s.at, w.recentMin, w.cursor)
		}
	}
	return nil
}

// checkRemovals notes the removals that are not finished. It checks that no position and no slot
// is removed twice, and that the slots are free but not in the free set.
func (c *checker[V]) checkRemovals() error {
	w := c.w
	if w.removalCount >= removalMax {
		return fmt.Errorf("%d removals have not been finished", w.removalCount)
	}
	for _, r := range w.removals[:w.removalCount] {
		if r.pos < posBucket || c.removals[r.pos] || r.slot != 0 && c.unlisted[r.slot] {
			return fmt.Errorf("position %d or slot %d is removed twice, or there is no such position", r.pos, r.slot)
		}
		c.removals[r.pos] = true
		if r.slot == 0 {
			continue
		}
		c.unlisted[r.slot] = true
		if s := w.slots.find(r.slot); s == nil || s.pos != posFree {
			return fmt.Errorf("slot %d is to be freed, but is in use: %+v", r.slot, s)
		}
		if w.slots.free.words[r.slot>>6]>>(r.slot&63)&1 != 0 {
			return fmt.Errorf("slot %d is to be freed, but is in the free set", r.slot)
		}
	}
	return nil
}

// checkRemoved checks that every ref that is to be removed is in a bucket.
func (c *checker[V]) checkRemoved() error {
	if len(c.removals) > 0 {
		return fmt.Errorf("no bucket has the refs that are to be removed: %v", c.removals)
	}
	return nil
}

// unsettle makes three recent entries and one removal that is not finished. It returns the ref
// and the slot of the first recent entry, and the removal.
func (s *sample) unsettle() (ref *uint32, e *slot[uint32], r *removal) {
	s.settle()
	h := s.Schedule(5000, 1)
	s.Schedule(6000, 2)
	s.Schedule(7000, 3)
	s.Cancel(s.withDead)
	return &s.recent[chunkFirstRef], s.slot(h), &s.removals[0]
}

// unsettledFaults are faults in what settle has to do.
var unsettledFaults = []fault{
	{"a recent ref names another slot", func(s *sample) { ref, _, _ := s.unsettle(); *ref = uint32(s.alone) }},
	{"a recent ref names a slot that never existed", func(s *sample) { ref, _, _ := s.unsettle(); *ref = noSuchSlot }},
	{"a recent ref is missing", func(s *sample) { ref, _, _ := s.unsettle(); *ref = 0 }},
	{"a recent entry has the position of another", func(s *sample) { _, e, _ := s.unsettle(); e.pos++ }},
	{"a recent entry has no position", func(s *sample) { _, e, _ := s.unsettle(); e.pos = posParked }},
	{"a recent entry is due before recentMin", func(s *sample) { _, e, _ := s.unsettle(); e.at-- }},
	{"a recent entry is due before the cursor", func(s *sample) { _, e, _ := s.unsettle(); e.at, s.recentMin = s.cursor-1, 0 }},
	{"the last recent ref is not counted", func(s *sample) { s.unsettle(); s.recentCount-- }},
	{"there are more recent refs than fit", func(s *sample) { s.unsettle(); s.recentCount = chunkRefs }},
	{"a ref is removed twice", func(s *sample) { _, _, r := s.unsettle(); s.removals[1], s.removalCount = *r, 2 }},
	{"a removal is of no position", func(s *sample) { _, _, r := s.unsettle(); r.pos = posParked }},
	{"a removal is of a ref that is dead", func(s *sample) { _, _, r := s.unsettle(); r.pos = s.parkedPos }},
	{"a removal is lost", func(s *sample) { s.unsettle(); s.removalCount = 0 }},
	{"a removal frees a slot in use", func(s *sample) { _, _, r := s.unsettle(); r.slot = uint32(s.alone) }},
	{"a removal frees a slot that is free", func(s *sample) { _, _, r := s.unsettle(); s.slots.free.add(r.slot) }},
	{"a removal forgets to free its slot", func(s *sample) { _, _, r := s.unsettle(); r.slot = 0 }},
	{"there are more removals than fit", func(s *sample) { s.unsettle(); s.removalCount = removalMax }},
}
