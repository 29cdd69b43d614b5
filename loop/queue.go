package loop

// A queue holds what is to be called soon, posts included, in order of arrival. Each
// callback has a number: that of its chunk, counted over the life of the loop, and its place
// in the chunk. It tells where the callback is, so nothing else is needed to find it again,
// and numbers never come back, although chunks do.
//
//	running  [✗ ✗ f f ·] [f f f f f]    this iteration; ✗ was called or cancelled, · not used
//	waiting  [f f f · ·]                the next
//	          ▲ chunk number base + len(running)
type queue struct {
	running   []*chunk
	nextChunk int    // index in running of the chunk with the next to be called
	nextSlot  int    // and where it is in there
	base      uint64 // number of running[0]; at least 1, so that no callback has number 0
	waiting   chunkList
	spare     *chunk    // of those that ran, empty; nil: in use again
	pool      chunkPool // chunks to be used next
}

// number returns the number of what is at a place of the last chunk that waits.
func (q *queue) position(place int) uint64 {
	return (q.base+uint64(len(q.running)+len(q.waiting.chunks)-1))<<slotBits | uint64(place)
}

// turn makes the callbacks that wait those that run. Those that ran were retired, and their first
// chunk is the first of what waits from now on: a loop with little to do needs no other two.
func (q *queue) rotate() {
	q.running, q.waiting.chunks = q.waiting.chunks, q.running
	q.waiting.last, q.waiting.liveBefore = nil, 0
	if q.spare != nil {
		q.waiting.chunks = append(q.waiting.chunks, q.spare)
		q.waiting.last, q.spare = q.spare, nil
	}
}

// retire lets go of the chunks that ran, and of all that a burst has left in excess.
func (q *queue) recycle() {
	if len(q.running) == 0 {
		return
	}
	q.base += uint64(len(q.running))
	q.spare = q.running[0]
	q.spare.n = 0
	for _, c := range q.running[1:] {
		q.pool.put(c)
	}
	q.running = resetChunks(q.running)
	q.nextChunk, q.nextSlot = 0, 0
}

// empty tells whether nothing waits.
func (q *queue) empty() bool { return q.waiting.live() == 0 }

// cancel takes a callback out and tells whether it was there.
func (q *queue) cancel(number uint64) bool {
	f := q.find(number)
	if f == nil {
		return false
	}
	*f = nil
	if number>>slotBits >= q.base+uint64(len(q.running)) {
		q.waiting.liveBefore--
	}
	return true
}

// find returns where the callback of a number is kept, or nil if it was called or cancelled.
func (q *queue) find(number uint64) *func() {
	i := number>>slotBits - q.base
	in := q.running
	if i >= uint64(len(in)) {
		i -= uint64(len(in))
		in = q.waiting.chunks
	}
	if number>>slotBits < q.base || i >= uint64(len(in)) {
		return nil
	}
	f := &in[i].calls[number&(1<<slotBits-1)]
	if *f == nil {
		return nil
	}
	return f
}

// CallSoon queues f for the next iteration, behind all that is queued.
func (l *Loop) CallSoon(f func()) Handle {
	if f == nil {
		panic("loop: CallSoon of a nil func")
	}
	s := l.state.Load()
	if s == nil {
		return Handle{}
	}
	if l.signals.load()&sigPosted != 0 {
		l.collect(&s.queue) // what was posted before comes before
	}
	if !s.iterating {
		s.now = s.readClock()
	}
	q := &s.queue
	if q.waiting.full() {
		q.waiting.addChunk(&q.pool)
	}
	return Handle{loop: l, when: s.now, position: q.position(q.waiting.push(f))}
}
