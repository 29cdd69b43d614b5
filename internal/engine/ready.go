package engine

import "sync/atomic"

// A ready list holds a shard's ready tasks in the order in which they were woken. The links are in
// the tasks' slots, and a task is in the list at most once, so the list needs no memory of its own
// and cannot overflow.
//
//	inbox  ─► c ─► b ─► a    A goroutine that wakes a task pushes it here, with one
//	                         compare-and-swap.
//	todo   ─► x ─► y ─► z    A goroutine that polls takes tasks from here. When todo is empty,
//	                         it takes the whole inbox, reverses it and stores it in todo.
//
// Normally one goroutine polls a shard, but for a moment there can be two, when one is replaced
// between polls. That is why todo counts its changes: a goroutine that was delayed between its load
// and its compare-and-swap must not put back tasks that the other one took.
type ready struct {
	inbox atomic.Uint32 // the index of the task woken last; 0: none
	todo  atomic.Uint64 // changes<<32 | the index of the task to poll next; 0: none
}

// empty reports whether no task is ready.
func (q *ready) empty() bool {
	return q.inbox.Load() == 0 && uint32(q.todo.Load()) == 0
}

// push adds tasks and reports whether the inbox was empty, in which case the caller must call
// Shard.wakeOwner. The tasks are linked from last to first; for a single task, these are the same.
func (q *ready) push(first, last *task) bool {
	for {
		head := q.inbox.Load()
		first.link.Store(head)
		if q.inbox.CompareAndSwap(head, last.index) {
			return head == 0
		}
	}
}

// pop removes and returns the next task, or returns nil. refilled reports that it moved tasks from
// inbox to todo; in between, the list looked empty (see turn.afterRefill).
func (q *ready) pop(tasks *taskArena) (next *task, refilled bool) {
	for {
		head := q.todo.Load()
		if uint32(head) != 0 {
			t := tasks.at(uint32(head))
			if q.todo.CompareAndSwap(head, (head>>32+1)<<32|uint64(t.link.Load())) {
				return t, refilled
			}
			continue
		}
		if q.inbox.Load() == 0 {
			return nil, refilled
		}
		last := q.inbox.Swap(0)
		if last == 0 {
			return nil, refilled
		}
		if t := tasks.at(last); t.link.Load() == 0 {
			return t, refilled // a list of one is its own reverse
		}
		q.refill(tasks, last)
		refilled = true
	}
}

// refill moves the tasks of an inbox to todo, reversing them so that the one woken first comes first.
func (q *ready) refill(tasks *taskArena, last uint32) {
	first := uint32(0)
	for i := last; i != 0; {
		t := tasks.at(i)
		next := t.link.Load()
		t.link.Store(first)
		first, i = i, next
	}
	for {
		head := q.todo.Load() // not empty only if another goroutine just filled it
		tasks.at(last).link.Store(uint32(head))
		if q.todo.CompareAndSwap(head, (head>>32+1)<<32|uint64(first)) {
			return
		}
	}
}

// A taskChain is a list of tasks to be pushed together, linked from last to first.
type taskChain struct {
	first, last *task
	n           int // how many tasks were woken, whether or not they are in the chain
}

// wake wakes a task whose timer expired. It adds the task to the chain unless it is already ready or
// being polled.
func (c *taskChain) wake(t *task) {
	c.n++
	gen, _ := t.word.load()
	if t.word.move(gen, taskWake).do != taskQueue {
		return
	}
	if c.first == nil {
		c.first = t
	} else {
		t.link.Store(c.last.index)
	}
	c.last = t
}

// pushChain is push for a chain, which may be empty.
func (q *ready) pushChain(c *taskChain) bool {
	return c.first != nil && q.push(c.first, c.last)
}
