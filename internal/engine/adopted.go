package engine

import (
	"sync"
	"sync/atomic"
)

// adoptedShards has the shards that a worker has adopted from retired workers and that have
// armed timers or ready items. Before each callback, the worker reads all of its own
// shards (worker.own), because they are few. It may have adopted thousands, so it needs a
// faster way to find the next one:
//
//	heap   the adopted shards that have armed timers, ordered by Shard.next
//	list   the adopted shards that have ready items, in the order of running
//
// An adopted shard without armed timers and without ready items is in neither and costs
// nothing.
//
// The heap agrees with Shard.next, except while Shard.mu is held: a goroutine that stores a
// new next moves the shard in the heap before it unlocks Shard.mu.
//
// The list contains every adopted shard whose ready list is not empty. It may also contain
// shards whose ready list has become empty; take removes those. Items are pushed without a
// lock. These rules ensure that no shard is missing from the list:
//
//   - A goroutine that pushes an item into an empty inbox calls list afterwards.
//   - take checks the ready list and removes the shard with mu held. If an item is pushed
//     after the check, its call of list waits for mu and adds the shard again.
//   - taking an item empties Inbox before it fills Todo. In between, the ready list looks
//     empty. So after that the goroutine calls list if items are left. A goroutine that
//     still holds the claim of the shard's maker need not: it, or the goroutine that
//     replaces it, reads the ready list again.
//   - A goroutine that changes the owner of a shard checks the ready list afterwards, and
//     calls list if it is not empty.
//
// A Shard is only ever in the list of its owner: list checks the owner with mu held, and the
// owner of an adopted shard is only changed with mu of the old owner held.
type adoptedShards struct {
	first atomic.Int64          // next of the first shard in the heap; never: it is empty. Written under mu
	ready atomic.Pointer[Shard] // the first shard in the list; nil: it is empty. Written under mu

	mu   sync.Mutex
	heap []heapEntry
	last *Shard // the last shard in the list
}

// A heapEntry is a shard in the heap and its next.
type heapEntry struct {
	at int64
	s  *Shard
}

// places holds the positions of a shard in the heap and in the list of its owner. It is
// protected by adoptedShards.mu of the owner.
type places struct {
	heap   int    // the index in the heap plus 1; 0: the shard is not in the heap
	listed bool   // the shard is in the list
	before *Shard // the previous shard in the list
	after  *Shard // the next shard in the list
}

// peek returns the first shard in the heap and its next, or nil and never.
func (a *adoptedShards) peek() (*Shard, int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.heap) == 0 {
		return nil, never
	}
	return a.heap[0].s, a.heap[0].at
}

// set moves a shard to its place in the heap for the given next, and adds it if it is not
// there. If at is never, set removes the shard. The caller holds Shard.mu.
func (a *adoptedShards) set(s *Shard, at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.move(s, at)
}

// move does what set does. The caller holds mu.
func (a *adoptedShards) move(s *Shard, at int64) {
	i := s.places.heap - 1
	switch {
	case at == never:
		if i < 0 {
			return
		}
		s.places.heap = 0
		last := len(a.heap) - 1
		e := a.heap[last]
		a.heap[last] = heapEntry{}
		a.heap = a.heap[:last]
		if i < last {
			a.sift(i, e)
		}
	case i < 0:
		a.heap = append(a.heap, heapEntry{})
		a.sift(len(a.heap)-1, heapEntry{at, s})
	default:
		a.sift(i, heapEntry{at, s})
	}
	first := never
	if len(a.heap) > 0 {
		first = a.heap[0].at
	}
	a.first.Store(first)
}

// sift overwrites the entry at index i with e and restores the order of the heap.
func (a *adoptedShards) sift(i int, e heapEntry) {
	for i > 0 {
		up := (i - 1) / 2
		if a.heap[up].at <= e.at {
			break
		}
		a.put(i, a.heap[up])
		i = up
	}
	for {
		down := 2*i + 1
		if down >= len(a.heap) {
			break
		}
		if other := down + 1; other < len(a.heap) && a.heap[other].at < a.heap[down].at {
			down = other
		}
		if e.at <= a.heap[down].at {
			break
		}
		a.put(i, a.heap[down])
		i = down
	}
	a.put(i, e)
}

func (a *adoptedShards) put(i int, e heapEntry) {
	a.heap[i] = e
	e.s.places.heap = i + 1
}

// list adds a shard that w has adopted to the list of w, unless it is in there. It returns
// false if w is no longer the owner of the shard.
func (w *worker) list(s *Shard) bool {
	a := &w.adopted
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.owner.Load() != w {
		return false
	}
	if !s.places.listed {
		a.link(s)
	}
	return true
}

// take returns the first shard in the list that has ready items, or nil. It removes
// the shards before that one, which have none, and moves the shard itself to the end of the
// list, so that the next call returns another one.
//
// The shard stays in the list while its items are run. If an item blocks, another goroutine
// finds the remaining items there.
func (a *adoptedShards) take() *Shard {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s := a.ready.Load(); s != nil; s = a.ready.Load() {
		if s.Ready.Empty() {
			a.unlink(s)
			continue
		}
		if s != a.last {
			a.unlink(s)
			a.link(s)
		}
		return s
	}
	return nil
}

// link adds a shard to the end of the list. The caller holds mu.
func (a *adoptedShards) link(s *Shard) {
	s.places.listed = true
	s.places.before = a.last
	if a.last == nil {
		a.ready.Store(s)
	} else {
		a.last.places.after = s
	}
	a.last = s
}

// unlink removes a shard from the list. The caller holds mu.
func (a *adoptedShards) unlink(s *Shard) {
	p := &s.places
	if p.before == nil {
		a.ready.Store(p.after)
	} else {
		p.before.places.after = p.after
	}
	if p.after == nil {
		a.last = p.before
	} else {
		p.after.places.before = p.before
	}
	p.listed, p.before, p.after = false, nil, nil
}

// updateHeap updates the place of an adopted shard in the heap of its owner after a new next was
// stored. The caller holds Shard.mu. It is kept out of line so that storeNext is inlined.
//
//go:noinline
func (s *Shard) updateHeap() {
	s.owner.Load().adopted.set(s, s.next.Load())
}

// Announce ensures that the ready items of the shard are run. A goroutine that has added an item
// to an empty inbox calls it.
func (s *Shard) Announce() {
	w := s.owner.Load()
	for w != s.maker && !w.list(s) {
		w = s.owner.Load()
	}
	// A goroutine that releases the worker stores 0 in busy and then looks for items. A caller
	// of Announce adds an item and then loads busy. So at least one of the two sees the other.
	if w.busy.Load() == 0 {
		s.eng.timekeeper.startWorker(w)
	}
}

// handOver makes w the owner of the shard and returns the number of its armed timers. The
// caller holds roster.mu, and calls timekeeper.notify with w.next() afterwards.
func (s *Shard) handOver(w *worker) (armed int) {
	s.mu.Lock()
	if s.isAdopted {
		s.leaveTo(w)
	} else {
		s.owner.Store(w)
	}
	s.isAdopted = w != s.maker
	if s.isAdopted {
		s.updateHeap()
	}
	armed = s.armed
	s.mu.Unlock()
	if !s.Ready.Empty() {
		s.Announce()
	}
	return armed
}

// leaveTo removes an adopted shard from the heap and the list of its owner, and makes w the
// owner. The caller holds Shard.mu.
func (s *Shard) leaveTo(w *worker) {
	a := &s.owner.Load().adopted
	a.mu.Lock()
	defer a.mu.Unlock()
	a.move(s, never)
	if s.places.listed {
		a.unlink(s)
	}
	s.owner.Store(w)
}

// withItems returns the i-th shard in which the worker looks for items, or nil after the last
// one. Its own shards come first, then at most as many adopted shards that have items.
func (w *worker) withItems(i int) *Shard {
	if i < len(w.own) {
		return w.own[i]
	}
	return w.adoptedWithItems(i)
}

// adoptedWithItems is the part of withItems for adopted shards.
func (w *worker) adoptedWithItems(i int) *Shard {
	if i >= 2*len(w.own) || w.adopted.ready.Load() == nil {
		return nil
	}
	return w.adopted.take()
}
