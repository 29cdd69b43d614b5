package wheel

const (
	// sampleReads and sampleTries limit how many slots and how many bits of the free set Sample
	// reads for each entry that it wants. Most slots are in use and armed, but not after many
	// entries were canceled or parked.
	sampleReads = 4
	sampleTries = 64
)

// Sample appends to dst the handles of armed entries that it picks at random, each with the same
// probability, and returns dst. It stops when dst is full and never grows dst. random returns a
// random number below n, which is not 0, as rand.Uint32N does.
//
// If the wheel has memory for at most 1,024 entries, no entry is picked twice, and all of them are
// picked if dst has room. In a larger wheel an entry may be picked more than once, and Sample may
// return fewer handles than dst has room for if few of the slots hold an armed entry, because the
// room in dst limits its work.
func (w *Wheel[V]) Sample(dst []Handle, random func(n uint32) uint32) []Handle {
	if w == nil || len(w.slots.slabs) == 0 {
		return dst
	}
	if len(w.slots.slabs) == 1 {
		return w.sampleSlab(dst, random)
	}
	want := cap(dst) - len(dst)
	reads := sampleReads * want
	count := uint32(len(w.slots.slabs)) << slabBits
	for tries := sampleTries * want; tries > 0 && reads > 0 && len(dst) < cap(dst); tries-- {
		i := random(count)
		if w.slots.free.words[i>>6]>>(i&63)&1 != 0 {
			continue
		}
		s := w.slots.find(i)
		if s == nil {
			continue
		}
		reads--
		if s.pos > posParked {
			dst = append(dst, w.handle(i, s.gen))
		}
	}
	return dst
}

// sampleSlab implements Sample for a wheel with one slab: it shuffles the armed entries as far as
// dst has room.
func (w *Wheel[V]) sampleSlab(dst []Handle, random func(n uint32) uint32) []Handle {
	var all [slabSize]uint32
	armed := uint32(0)
	for i := range w.slots.slabs[0] {
		if w.slots.slabs[0][i].pos > posParked {
			all[armed&slabMask] = uint32(i)
			armed++
		}
	}
	for k := uint32(0); k < armed && len(dst) < cap(dst); k++ {
		r := k + random(armed-k)
		i := all[r&slabMask]
		all[r&slabMask] = all[k&slabMask]
		dst = append(dst, w.handle(i, w.slots.get(i).gen))
	}
	return dst
}
