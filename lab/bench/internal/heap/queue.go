package heap

import "container/heap"

// A Queue holds entries in the order of their deadlines, by container/heap. It is not safe for concurrent use.
type Queue[V any] struct {
	entries entries[V]
}

// An Entry is a deadline with a value. It is in at most one queue.
type Entry[V any] struct {
	at    int64 // in a unit that the user of the queue chooses
	index int   // place in the queue; -1: in none
	value V
}

// Push adds an entry.
func (q *Queue[V]) Push(at int64, v V) *Entry[V] {
	e := &Entry[V]{at: at, value: v}
	heap.Push(&q.entries, e)
	return e
}

// Move changes the deadline of an entry that is in the queue.
func (q *Queue[V]) Move(e *Entry[V], at int64) {
	e.at = at
	heap.Fix(&q.entries, e.index)
}

// Remove takes out an entry that is in the queue.
func (q *Queue[V]) Remove(e *Entry[V]) { heap.Remove(&q.entries, e.index) }

// entries implements heap.Interface.
type entries[V any] []*Entry[V]

func (s entries[V]) Len() int           { return len(s) }
func (s entries[V]) Less(i, j int) bool { return s[i].at < s[j].at }

func (s entries[V]) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

func (s *entries[V]) Push(x any) {
	e := x.(*Entry[V])
	e.index = len(*s)
	*s = append(*s, e)
}

func (s *entries[V]) Pop() any {
	last := len(*s) - 1
	e := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	e.index = -1
	return e
}
