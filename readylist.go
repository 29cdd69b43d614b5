package foliot

import "sync/atomic"

// A readyList is the list of tasks of a shard that are to be polled, in the order in which
// they were woken. The links are in the slots of the tasks, and a task is in the list at
// most once. So the list takes no memory and cannot overflow.
//
//	inbox  ─► c ─► b ─► a    A goroutine that wakes a task pushes it here, by one
//	                         compare-and-swap.
//	todo   ─► x ─► y ─► z    A goroutine that polls takes tasks from here. When todo is empty,
//	                         it takes the whole inbox, reverses it and stores it in todo.
//
// One goroutine polls a shard. For a moment there can be two, when one is replaced between
// two polls. So todo has a count of its changes: a goroutine that was held up between its
// load and its compare-and-swap must not put back tasks that another one has taken.
type readyList struct {
	inbox atomic.Uint32 // index of the task that was woken last; 0: none
	todo  atomic.Uint64 // changes<<32 | index of the task to be polled next; 0: none
}

// empty reports whether no task is to be polled.
func (q *readyList) empty() bool {
	return q.inbox.Load() == 0 && uint32(q.todo.Load()) == 0
}

// push adds a task and reports whether the inbox was empty.
func (q *readyList) push(t *task) bool {
	for {
		head := q.inbox.Load()
		t.link.Store(head)
		if q.inbox.CompareAndSwap(head, t.index) {
			return head == 0
		}
	}
}

// pop takes the next task, or returns nil.
func (q *readyList) pop(tasks *taskArena) *task {
	for {
		head := q.todo.Load()
		if uint32(head) != 0 {
			t := tasks.at(uint32(head))
			if q.todo.CompareAndSwap(head, (head>>32+1)<<32|uint64(t.link.Load())) {
				return t
			}
			continue
		}
		if q.inbox.Load() == 0 {
			return nil
		}
		last := q.inbox.Swap(0)
		if last == 0 {
			return nil
		}
		if t := tasks.at(last); t.link.Load() == 0 {
			return t // a list of one is its own reverse
		}
		q.refill(tasks, last)
	}
}

// refill moves the tasks of an inbox to todo. The task that was woken first comes first.
func (q *readyList) refill(tasks *taskArena, last uint32) {
	first := uint32(0)
	for i := last; i != 0; {
		t := tasks.at(i)
		next := t.link.Load()
		t.link.Store(first)
		first, i = i, next
	}
	for {
		head := q.todo.Load() // not empty only if another goroutine has just filled it
		tasks.at(last).link.Store(uint32(head))
		if q.todo.CompareAndSwap(head, (head>>32+1)<<32|uint64(first)) {
			return
		}
	}
}
