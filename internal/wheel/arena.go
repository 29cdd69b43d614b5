package wheel

import "math/bits"

const (
	// slabSize is the number of elements in a slab. Go allocates a slab of 32-byte slots without
	// rounding up. A slab of half the size, with pointers in it, would be rounded up by an eighth.
	slabSize = 1 << slabBits
	slabBits = 10
	slabMask = slabSize - 1

	slabInitial = 8             // elements in the first slab when it is created
	slabWords   = slabSize / 64 // words of arena.free per slab
)

// An arena allocates elements of type T and numbers them. The elements are in slabs that never
// move, so growing the arena copies nothing, with one exception: the first slab starts small, so
// that a small wheel stays small, and is copied when it grows. Element 0 is never allocated, so
// that the number 0 can mean "none".
//
//	slabs   [ slab 0 | slab 1 | released | slab 3 ]      1,024 elements each
//	free     0101..    0000..   0000..     0111..        one bit per free element
//
// alloc takes elements from one word of free until that word is empty, and then continues with
// the lowest word that has a free element. That keeps the elements in use close together: an
// element that was just freed, and is still in the cache, is soon reused; and when most
// elements are freed, the upper slabs become empty and can be released.
type arena[T any] struct {
	slabs    [][]T // nil where a slab was released
	free     bitset
	freeWord uint32   // the word of free that alloc takes elements from
	released []uint32 // released slabs that can be allocated again
	trimmed  int      // the slab that trim examined last
}

// get returns element i, which must have been allocated.
func (a *arena[T]) get(i uint32) *T {
	return &a.slabs[i>>slabBits][i&slabMask]
}

// find returns element i, or nil if the arena has no such element.
func (a *arena[T]) find(i uint32) *T {
	if int(i>>slabBits) < len(a.slabs) {
		if slab := a.slabs[i>>slabBits]; int(i&slabMask) < len(slab) {
			return &slab[i&slabMask]
		}
	}
	return nil
}

// alloc allocates an element. It returns 0 if the current word of the free set is empty, in which
// case the caller must call allocSlow. A new element is zero. An element that was freed before
// still has its old contents.
func (a *arena[T]) alloc() uint32 {
	if int(a.freeWord) < len(a.free.words) {
		if word := a.free.words[a.freeWord]; word != 0 {
			a.free.words[a.freeWord] = word & (word - 1)
			return a.freeWord<<6 | uint32(bits.TrailingZeros64(word))
		}
	}
	return 0
}

// allocSlow allocates an element after alloc returned 0. It calls grow if no element is free.
//
//go:noinline
func (a *arena[T]) allocSlow(grow func()) uint32 {
	if !a.pickFreeWord() {
		grow()
		a.pickFreeWord()
	}
	return a.alloc()
}

// pickFreeWord makes alloc continue with the lowest word that has a free element. It reports
// whether there is one.
func (a *arena[T]) pickFreeWord() bool {
	w, ok := a.free.lowestWord()
	if ok {
		a.freeWord = w
	}
	return ok
}

// grow adds free elements and returns the number of their slab. It panics if that would take
// more than limit slabs.
func (a *arena[T]) grow(limit int) int {
	if last := len(a.released) - 1; last >= 0 {
		s := int(a.released[last])
		a.released = a.released[:last]
		a.slabs[s] = make([]T, slabSize)
		return a.addFree(s, 0)
	}
	switch {
	case len(a.slabs) == 0:
		a.slabs = append(a.slabs, make([]T, slabInitial))
		return a.addFree(0, 1)
	case len(a.slabs[0]) < slabSize:
		old := a.slabs[0]
		a.slabs[0] = make([]T, 2*len(old))
		copy(a.slabs[0], old)
		return a.addFree(0, len(old))
	case len(a.slabs) == limit:
		panic("wheel: full: too many entries in one wheel")
	}
	a.slabs = append(a.slabs, make([]T, slabSize))
	return a.addFree(len(a.slabs)-1, 0)
}

// addFree adds the elements of slab s, from index first on, to the free set. It returns s.
func (a *arena[T]) addFree(s, first int) int {
	a.free.reserve(uint32(s<<slabBits + len(a.slabs[s])))
	for k := first; k < len(a.slabs[s]); k++ {
		a.free.add(uint32(s<<slabBits + k))
	}
	return s
}

// capacity returns the number of elements that the arena has memory for.
func (a *arena[T]) capacity() int {
	if len(a.slabs) == 0 {
		return 0
	}
	return len(a.slabs[0]) - 1 + (len(a.slabs)-1-len(a.released))*slabSize
}

// trim examines the next n slabs that are not released yet, and releases those whose elements are
// all free. It calls before with the number of each slab that it is about to release, and returns
// how many it released. The first slab is never released, because its element 0 is never free.
func (a *arena[T]) trim(n int, before func(s int)) (released int) {
	for range a.slabs {
		if n <= 0 {
			break
		}
		a.trimmed = (a.trimmed + 1) % len(a.slabs)
		s := a.trimmed
		if a.slabs[s] == nil {
			continue
		}
		n--
		if s == 0 || !a.allFree(s) {
			continue
		}
		before(s)
		clear(a.free.words[s*slabWords : (s+1)*slabWords])
		a.slabs[s] = nil
		a.released = append(a.released, uint32(s))
		released++
	}
	return released
}

// allFree reports whether every element of slab s is free.
func (a *arena[T]) allFree(s int) bool {
	for _, word := range a.free.words[s*slabWords : (s+1)*slabWords] {
		if word != ^uint64(0) {
			return false
		}
	}
	return true
}
