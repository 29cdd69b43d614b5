// Package list is a timing wheel of the classic layout, as a baseline for benchmarks: every bucket is a doubly linked
// list, and the links are indexes in the entries themselves.
//
// It divides ticks into the same digits as package wheel and keeps the same order: by tick, and then by the order of
// arming. Cancelling an entry unlinks it, so there are no stale words and no sweep. Cascading follows a list whose
// next element is anywhere in memory, with one cache miss after the other.
package list

import "math/bits"

const (
	digitBits = 6
	fanOut    = 1 << digitBits
	digitMask = fanOut - 1
	levels    = (64 + digitBits - 1) / digitBits
	slabBits  = 9
	slabSize  = 1 << slabBits
)

// A Wheel holds entries with payloads of type V. Make it with New.
type Wheel[V any] struct {
	now      uint64
	occupied [levels]uint64
	head     [levels * fanOut]uint32
	tail     [levels * fanOut]uint32
	slabs    [][]entry[V]
	free     uint32 // first of the list of free entries, linked through next; 0: none
	made     uint32 // number of entries ever used; entry 0 is not used
	count    int
}

type entry[V any] struct {
	at         uint64
	next, prev uint32
	gen        uint32 // odd while the entry is in use
	v          V
}

// New returns an empty wheel at tick 0.
func New[V any]() *Wheel[V] { return &Wheel[V]{made: 1} }

// Len returns the number of entries.
func (w *Wheel[V]) Len() int { return w.count }

func (w *Wheel[V]) entry(i uint32) *entry[V] {
	return &w.slabs[i>>slabBits][i&(slabSize-1)]
}

// bucket returns the bucket of a tick after now.
func (w *Wheel[V]) bucket(at uint64) uint {
	level := uint(bits.Len64(at^w.now|1)-1) / digitBits
	return level*fanOut + uint(at>>(level*digitBits))&digitMask
}

// Schedule arms an entry for a tick. A tick that has passed counts as the next one.
func (w *Wheel[V]) Schedule(at uint64, v V) (handle uint64) {
	i := w.free
	if i != 0 {
		w.free = w.entry(i).next
	} else {
		if i = w.made; int(i>>slabBits) == len(w.slabs) {
			w.slabs = append(w.slabs, make([]entry[V], slabSize))
		}
		w.made++
	}
	e := w.entry(i)
	e.at, e.v = max(at, w.now+1), v
	e.gen++
	w.link(i, e)
	w.count++
	return uint64(e.gen)<<32 | uint64(i)
}

// Reschedule moves an entry to another tick, and reports whether the entry was armed.
func (w *Wheel[V]) Reschedule(handle, at uint64) bool {
	i := uint32(handle)
	e := w.entry(i)
	if e.gen != uint32(handle>>32) {
		return false
	}
	w.unlink(e)
	e.at = max(at, w.now+1)
	w.link(i, e)
	return true
}

// Cancel removes an entry, and reports whether it was armed.
func (w *Wheel[V]) Cancel(handle uint64) bool {
	i := uint32(handle)
	e := w.entry(i)
	if e.gen != uint32(handle>>32) {
		return false
	}
	w.unlink(e)
	w.release(i, e)
	return true
}

func (w *Wheel[V]) link(i uint32, e *entry[V]) {
	b := w.bucket(e.at)
	last := w.tail[b]
	e.next, e.prev = 0, last
	w.tail[b] = i
	if last != 0 {
		w.entry(last).next = i
	} else {
		w.head[b] = i
		w.occupied[b/fanOut] |= 1 << (b % fanOut)
	}
}

func (w *Wheel[V]) unlink(e *entry[V]) {
	if e.prev != 0 && e.next != 0 {
		w.entry(e.prev).next = e.next
		w.entry(e.next).prev = e.prev
		return
	}
	b := w.bucket(e.at)
	if e.prev != 0 {
		w.entry(e.prev).next = e.next
	} else {
		w.head[b] = e.next
	}
	if e.next != 0 {
		w.entry(e.next).prev = e.prev
	} else {
		w.tail[b] = e.prev
	}
	if w.head[b] == 0 {
		w.occupied[b/fanOut] &^= 1 << (b % fanOut)
	}
}

func (w *Wheel[V]) release(i uint32, e *entry[V]) {
	var zero V
	e.v = zero
	e.gen++
	e.next = w.free
	w.free = i
	w.count--
}

// Advance moves the wheel to now and calls fire for all entries that are due, in order.
func (w *Wheel[V]) Advance(now uint64, fire func(at uint64, v V)) {
	for level := uint(0); level < levels; {
		if w.occupied[level] == 0 {
			level++
			continue
		}
		shift := level * digitBits
		d := uint(bits.TrailingZeros64(w.occupied[level]))
		start := w.now>>shift>>digitBits<<digitBits<<shift | uint64(d)<<shift
		if start > now {
			break
		}
		b := level*fanOut + d
		i := w.head[b]
		w.head[b], w.tail[b] = 0, 0
		w.occupied[level] &^= 1 << d
		w.now = start
		for i != 0 {
			e := w.entry(i)
			next := e.next
			if level == 0 || e.at == start {
				at, v := e.at, e.v
				w.release(i, e)
				fire(at, v)
			} else {
				w.link(i, e)
			}
			i = next
		}
		level = 0
	}
	w.now = max(w.now, now)
}
