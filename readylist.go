package foliot

import "sync/atomic"

// A queue is the list of tasks that are to be polled, in the order in which they were
// woken. The link is in the slot of the task and a task is in it at most once, so it
// takes no memory and cannot overflow.
//
//	inbox  ─► c ─► b ─► a        whoever wakes a task pushes it: one compare-and-swap
//	todo   ─► x ─► y ─► z        whoever polls takes from here; when it is empty, the
//	                             inbox is taken as a whole and turned round
//
// There is one who polls, or two for a moment, when a goroutine is replaced while it is
// between two polls. Therefore todo has a count of its changes beside it: a goroutine that
// was held up between looking and taking must not put back what others have taken.
type readyList struct {
	inbox atomic.Uint32 // number of the task woken last; 0: none
	todo  atomic.Uint64 // changes<<32 | number of the task to be polled next; 0: none
}

// empty tells whether nobody is to be polled.
func (q *readyList) empty() bool {
	return q.inbox.Load() == 0 && uint32(q.todo.Load()) == 0
}

// push adds a task and tells whether the inbox was empty.
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
			return t // a list of one needs no turning round
		}
		q.refill(tasks, last)
	}
}

// refill puts the tasks of an inbox into todo, the one that was woken first in front.
func (q *readyList) refill(tasks *taskArena, last uint32) {
	first := uint32(0)
	for i := last; i != 0; {
		t := tasks.at(i)
		next := t.link.Load()
		t.link.Store(first)
		first, i = i, next
	}
	for {
		head := q.todo.Load() // not empty only if another has filled it just now
		tasks.at(last).link.Store(uint32(head))
		if q.todo.CompareAndSwap(head, (head>>32+1)<<32|uint64(first)) {
			return
		}
	}
}
