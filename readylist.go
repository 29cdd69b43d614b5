package foliot

import "github.com/foliot-go/foliot/internal/engine"

// The ready list of a shard has the tasks that are to be polled, in the order in which they were
// woken. The links are in the slots of the tasks, and a task is in the list at
// most once. So the list takes no memory and cannot overflow.
//
//	Inbox  ─► c ─► b ─► a    A goroutine that wakes a task pushes it here, by one
//	                         compare-and-swap.
//	Todo   ─► x ─► y ─► z    A goroutine that polls takes tasks from here. When Todo is empty,
//	                         it takes the whole Inbox, reverses it and stores it in Todo.
//
// One goroutine polls a shard. For a moment there can be two, when one is replaced between
// two polls. So Todo has a count of its changes: a goroutine that was held up between its
// load and its compare-and-swap must not put back tasks that another one has taken.
//
//	engine.Ready.Inbox   index of the task that was woken last; 0: none
//	engine.Ready.Todo    changes<<32 | index of the task to be polled next; 0: none

// push adds tasks and reports whether the inbox was empty. The tasks are linked from last to
// first, which are the same if there is one.
func push(q *engine.Ready, first, last *task) bool {
	for {
		head := q.Inbox.Load()
		first.link.Store(head)
		if q.Inbox.CompareAndSwap(head, last.index) {
			return head == 0
		}
	}
}

// pop takes the next task, or returns nil.
func pop(q *engine.Ready, tasks *taskArena) *task {
	for {
		head := q.Todo.Load()
		if uint32(head) != 0 {
			t := tasks.at(uint32(head))
			if q.Todo.CompareAndSwap(head, (head>>32+1)<<32|uint64(t.link.Load())) {
				return t
			}
			continue
		}
		if q.Inbox.Load() == 0 {
			return nil
		}
		last := q.Inbox.Swap(0)
		if last == 0 {
			return nil
		}
		if t := tasks.at(last); t.link.Load() == 0 {
			return t // a list of one is its own reverse
		}
		refill(q, tasks, last)
	}
}

// refill moves the tasks of an inbox to todo. The task that was woken first comes first.
func refill(q *engine.Ready, tasks *taskArena, last uint32) {
	first := uint32(0)
	for i := last; i != 0; {
		t := tasks.at(i)
		next := t.link.Load()
		t.link.Store(first)
		first, i = i, next
	}
	for {
		head := q.Todo.Load() // not empty only if another goroutine has just filled it
		tasks.at(last).link.Store(uint32(head))
		if q.Todo.CompareAndSwap(head, (head>>32+1)<<32|uint64(first)) {
			return
		}
	}
}
