package foliot

import "sync"

// queues has the queues of a runtime. Its lock is taken before the lock of a queue.
type queues struct {
	mu     sync.Mutex
	all    map[*queueState]struct{}
	closed bool // the runtime is shut down
}

// A queueState is the part of a queue that its runtime holds. The runtime does not hold the
// queue itself, so a queue that is not used any more can be collected.
type queueState struct {
	mu     sync.Mutex // the lock of the queue
	n      int        // values in the queue. Protected by mu
	closed bool       // the runtime is shut down. Protected by mu
}

// add adds a new queue.
func (qs *queues) add(q *queueState) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.all == nil {
		qs.all = map[*queueState]struct{}{}
	}
	qs.all[q] = struct{}{}
	q.closed = qs.closed
}

func (qs *queues) remove(q *queueState) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	delete(qs.all, q)
}

// count returns the number of values in all queues.
func (qs *queues) count() (n int) {
	qs.each(func(q *queueState) { n += q.n })
	return n
}

// close closes all queues. Queues that are made later are closed from the start. It returns
// the number of values in all queues. No value is added afterwards.
func (qs *queues) close() (n int) {
	qs.mu.Lock()
	qs.closed = true
	qs.mu.Unlock()
	qs.each(func(q *queueState) {
		n += q.n
		q.closed = true
	})
	return n
}

// each calls f for each queue. It holds the lock of that queue meanwhile.
func (qs *queues) each(f func(q *queueState)) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for q := range qs.all {
		q.mu.Lock()
		f(q)
		q.mu.Unlock()
	}
}
