package wheel

import "math/bits"

const (
	// slabSize is how many places a slab has. With slots of 32 bytes that is a size that Go
	// allocates as it is; half of it, with pointers in it, would be rounded up by an eighth.
	slabSize = 1 << slabBits
	slabBits = 10
	slabMask = slabSize - 1

	slabFirst = 8 // places of the first slab to begin with
	slabWords = slabSize / 64
)

// An arena hands out numbered places for values of type T, in slabs that never move:
// to grow copies nothing but the first slab, which begins small to keep small wheels
// small. Place 0 is never handed out; it is everybody's "none".
//
//	slabs   [ slab 0 | slab 1 | given back | slab 3 ]      1,024 places each
//	free     0101..    0000..   0000..       0111..        a bit per free place
//
// Places are taken from one word of the free set until it is used up, then from the
// lowest word there is. That keeps the places in use together: a hot place is used
// again at once, and the upper slabs of an arena that shrank run empty and can be
// given back.
type arena[T any] struct {
	slabs [][]T
	free  bitset
	hint  uint32   // the word of free that places are taken from
	gone  []uint32 // slabs that have been given back and may be made anew
	probe int      // the slab that trim looks at next
}

// at returns the place i, which must be one that was taken.
func (a *arena[T]) at(i uint32) *T {
	return &a.slabs[i>>slabBits][i&slabMask]
}

// find returns the place i, or nil if there is none of that number.
func (a *arena[T]) find(i uint32) *T {
	if int(i>>slabBits) < len(a.slabs) {
		if slab := a.slabs[i>>slabBits]; int(i&slabMask) < len(slab) {
			return &slab[i&slabMask]
		}
	}
	return nil
}

// take hands out a free place, or 0 if the word at hand has none: then takeMore is
// due. Its contents are what was left there, or zero if the place is new.
func (a *arena[T]) take() uint32 {
	if int(a.hint) < len(a.free.words) {
		if word := a.free.words[a.hint]; word != 0 {
			a.free.words[a.hint] = word & (word - 1)
			return a.hint<<6 | uint32(bits.TrailingZeros64(word))
		}
	}
	return 0
}

// takeMore hands out a place where take had none, after grow if none is free at all.
//
//go:noinline
func (a *arena[T]) takeMore(grow func()) uint32 {
	if !a.refill() {
		grow()
		a.refill()
	}
	return a.take()
}

// refill finds free places for take and tells whether there are any.
func (a *arena[T]) refill() bool {
	w, ok := a.free.lowestWord()
	if ok {
		a.hint = w
	}
	return ok
}

// grow makes more free places, in at most limit slabs, and returns the slab that they
// are in.
func (a *arena[T]) grow(limit int) int {
	if last := len(a.gone) - 1; last >= 0 {
		s := int(a.gone[last])
		a.gone = a.gone[:last]
		a.slabs[s] = make([]T, slabSize)
		return a.open(s, 0)
	}
	switch {
	case len(a.slabs) == 0:
		a.slabs = append(a.slabs, make([]T, slabFirst))
		return a.open(0, 1)
	case len(a.slabs[0]) < slabSize:
		old := a.slabs[0]
		a.slabs[0] = make([]T, 2*len(old))
		copy(a.slabs[0], old)
		return a.open(0, len(old))
	case len(a.slabs) == limit:
		panic("wheel: full: too many entries in one wheel")
	}
	a.slabs = append(a.slabs, make([]T, slabSize))
	return a.open(len(a.slabs)-1, 0)
}

// open adds the places of slab s from the first on to the free set.
func (a *arena[T]) open(s, first int) int {
	a.free.reserve(uint32(s<<slabBits + len(a.slabs[s])))
	for k := first; k < len(a.slabs[s]); k++ {
		a.free.add(uint32(s<<slabBits + k))
	}
	return s
}

// places returns how many places the arena has memory for.
func (a *arena[T]) places() int {
	if len(a.slabs) == 0 {
		return 0
	}
	return len(a.slabs[0]) - 1 + (len(a.slabs)-1-len(a.gone))*slabSize
}

// trim looks at the next n slabs that there are and gives back those all of whose places
// are free, after calling farewell on each. It returns how many it gave back. The first
// slab stays: its place 0 is never free.
func (a *arena[T]) trim(n int, farewell func(s int)) (freed int) {
	for range a.slabs {
		if n <= 0 {
			break
		}
		a.probe = (a.probe + 1) % len(a.slabs)
		s := a.probe
		if a.slabs[s] == nil {
			continue
		}
		n--
		if s == 0 || !a.idle(s) {
			continue
		}
		farewell(s)
		clear(a.free.words[s*slabWords : (s+1)*slabWords])
		a.slabs[s] = nil
		a.gone = append(a.gone, uint32(s))
		freed++
	}
	return freed
}

// idle tells whether every place of slab s is free.
func (a *arena[T]) idle(s int) bool {
	for _, word := range a.free.words[s*slabWords : (s+1)*slabWords] {
		if word != ^uint64(0) {
			return false
		}
	}
	return true
}
