package loop

// A queue holds the callbacks from CallSoon and Post, in order of arrival. Each callback has a
// position: the number of its chunk, counted over the life of the loop, and its slot in the chunk.
// A handle finds its callback by the position alone. Chunks are reused, positions are not.
//
//	running  [✗ ✗ f f ·] [f f f f f]    this iteration; ✗ called or canceled, · unused
//	waiting  [f f f · ·]                the next iteration
//	          ▲ chunk number base + len(running)
type queue struct {
	running   []*chunk
	nextChunk int    // index in running of the chunk with the next callback to call
	nextSlot  int    // slot of that callback
	base      uint64 // number of the chunk running[0]. At least 1, so that no position is 0
	waiting   chunkList
	spare     *chunk // empty chunk of the last iteration; nil: it is in use again
	pool      chunkPool
}

// position returns the position of a slot in the last waiting chunk.
func (q *queue) position(slot int) uint64 {
	return (q.base+uint64(len(q.running)+len(q.waiting.chunks)-1))<<slotBits | uint64(slot)
}

// rotate turns the waiting callbacks into the running ones. It is called after recycle. The spare
// chunk becomes the first chunk of waiting, so that a loop with little to do uses the same two
// chunks over and over.
func (q *queue) rotate() {
	q.running, q.waiting.chunks = q.waiting.chunks, q.running
	q.waiting.last, q.waiting.liveBefore = nil, 0
	if q.spare != nil {
		q.waiting.chunks = append(q.waiting.chunks, q.spare)
		q.waiting.last, q.spare = q.spare, nil
	}
}

// recycle keeps the chunks that ran for reuse, and drops those in excess.
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

// empty reports whether no callback is waiting for the next iteration.
func (q *queue) empty() bool { return q.waiting.live() == 0 }

// cancel removes a callback. It returns false if the callback was called or canceled.
func (q *queue) cancel(position uint64) bool {
	f := q.find(position)
	if f == nil {
		return false
	}
	*f = nil
	if position>>slotBits >= q.base+uint64(len(q.running)) {
		q.waiting.liveBefore--
	}
	return true
}

// find returns the slot at a position, or nil if the callback was called or canceled.
func (q *queue) find(position uint64) *func() {
	i := position>>slotBits - q.base
	chunks := q.running
	if i >= uint64(len(chunks)) {
		i -= uint64(len(chunks))
		chunks = q.waiting.chunks
	}
	if position>>slotBits < q.base || i >= uint64(len(chunks)) {
		return nil
	}
	f := &chunks[i].calls[position&(1<<slotBits-1)]
	if *f == nil {
		return nil
	}
	return f
}

// CallSoon schedules f for the next iteration, after all callbacks that CallSoon scheduled or Post
// posted earlier.
func (l *Loop) CallSoon(f func()) Handle {
	if f == nil {
		panic("loop: CallSoon with a nil func; pass the function to call")
	}
	s := l.state.Load()
	if s == nil {
		return Handle{}
	}
	if l.signals.load()&sigPosted != 0 {
		l.collect(&s.queue) // posts that came before f are called before f
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
