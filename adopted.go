package foliot

import (
	"sync"
	"sync/atomic"
)

// adopted holds the shards that a worker has adopted from retired workers and that have
// something to do. The worker reads all of its own shards for each callback, because they
// are few. It may have adopted thousands, so it needs a quicker way to find the right one:
//
//	heap   the adopted shards that have timers armed, ordered by shard.next
//	list   the adopted shards that have tasks to be polled, the first to be polled first
//
// An adopted shard that has neither is in neither, and costs nothing.
//
// The heap agrees with shard.next, except while shard.mu is held: whoever stores a new next
// moves the shard in the heap before it unlocks shard.mu.
//
// The list has every adopted shard whose queue of tasks is not empty. It may also have shards
// whose queue is empty by now; take removes those. Tasks are pushed without a lock. These
// rules make sure that no shard is missing:
//
//   - A goroutine that pushes a task into an empty inbox calls list afterwards.
//   - take looks at the queue and removes the shard while it holds mu. If a task is pushed
//     after take has looked, the call of list for it waits for mu and adds the shard again.
//   - queue.pop empties the inbox before it fills todo. In between the queue looks empty. So
//     after a pop the goroutine calls list if there are tasks left. A goroutine that has the
//     turn of the maker of the shard need not: it, or the one that replaces it, looks at the
//     queue again.
//   - A goroutine that changes the owner of a shard looks at the queue afterwards, and calls
//     list if the queue is not empty.
//
// A shard is in no list but that of its owner: list looks at the owner while it holds mu, and
// the owner of an adopted shard is changed while mu of the old owner is held.
type adopted struct {
	first atomic.Int64          // the time of the first shard in the heap; never if it is empty. Written with mu held
	ready atomic.Pointer[shard] // the first shard in the list; nil if it is empty. Written with mu held

	mu   sync.Mutex
	heap []heapEntry
	last *shard // the last shard in the list
}

// A heapEntry is a shard in the heap and its next.
type heapEntry struct {
	at int64
	s  *shard
}

// places says where a shard is in the heap and in the list of its owner. It is protected by
// adopted.mu of the owner.
type places struct {
	heap   int // the index in the heap, counted from 1; 0: it is not there
	listed bool
	before *shard // the shard before it in the list
	after  *shard // the shard after it
}

// peek returns the first shard in the heap and its time, or nil and never.
func (a *adopted) peek() (*shard, int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.heap) == 0 {
		return nil, never
	}
	return a.heap[0].s, a.heap[0].at
}

// set moves a shard to the place in the heap that a time belongs to. It removes the shard if
// the time is never. The caller holds shard.mu.
func (a *adopted) set(s *shard, at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.move(s, at)
}

// move does what set does. The caller holds mu.
func (a *adopted) move(s *shard, at int64) {
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

// sift puts an entry where it belongs, starting at index i. It overwrites the entry there.
func (a *adopted) sift(i int, e heapEntry) {
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

func (a *adopted) put(i int, e heapEntry) {
	a.heap[i] = e
	e.s.places.heap = i + 1
}

// list puts a shard that w has adopted into its list, unless it is there. It returns false
// if w is not the owner of the shard any more.
func (w *worker) list(s *shard) bool {
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

// take returns the first shard in the list that has tasks to be polled, or nil. It moves that
// shard to the end of the list, so that the next call returns another one, and removes the
// shards before it.
//
// The shard stays in the list while its tasks are polled. If a poll blocks, another goroutine
// finds the rest of the tasks.
func (a *adopted) take() *shard {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s := a.ready.Load(); s != nil; s = a.ready.Load() {
		if s.ready.empty() {
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
func (a *adopted) link(s *shard) {
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
func (a *adopted) unlink(s *shard) {
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

// moved moves an adopted shard in the heap of its owner after a new next was stored. The
// caller holds the lock of the shard. It is not inlined so that storeNext is.
//
//go:noinline
func (s *shard) moved() {
	s.owner.Load().adopted.set(s, s.next.Load())
}

// announce makes sure that the tasks in the queue of the shard are polled.
func (s *shard) announce() {
	w := s.owner.Load()
	for w != s.maker && !w.list(s) {
		w = s.owner.Load()
	}
	// The goroutine that runs the worker stores 0 in busy and then looks for tasks. Here it is
	// the other way round, so at least one of the two sees the other.
	if w.busy.Load() == 0 {
		s.rt.timekeeper.startWorker(w)
	}
}

// handOver makes w the owner of the shard and returns the number of armed timers. The
// caller holds Runtime.mu, and calls keeper.notice for w afterwards.
func (s *shard) handOver(w *worker) (armed int) {
	s.mu.Lock()
	if s.adopted {
		s.leave(w)
	} else {
		s.owner.Store(w)
	}
	s.adopted = w != s.maker
	if s.adopted {
		s.moved()
	}
	armed = s.armed
	s.mu.Unlock()
	if !s.ready.empty() {
		s.announce()
	}
	return armed
}

// leave removes an adopted shard from the heap and the list of its owner, and makes w the
// owner. The caller holds the lock of the shard.
func (s *shard) leave(w *worker) {
	a := &s.owner.Load().adopted
	a.mu.Lock()
	defer a.mu.Unlock()
	a.move(s, never)
	if s.places.listed {
		a.unlink(s)
	}
	s.owner.Store(w)
}

// pollable returns the i-th shard in which the worker looks for tasks, or nil if there are no
// more. First come its own shards, then at most as many adopted shards that have tasks.
func (w *worker) pollable(i int) *shard {
	if i < len(w.own) {
		return w.own[i]
	}
	return w.adoptedPollable(i)
}

func (w *worker) adoptedPollable(i int) *shard {
	if i >= 2*len(w.own) || w.adopted.ready.Load() == nil {
		return nil
	}
	return w.adopted.take()
}
