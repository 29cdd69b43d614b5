package loop

// A chunk holds callbacks in order of arrival. It has one owner at a time: the inbox, whose lock
// guards it, or the loop's goroutine, once the inbox has handed it over.
type chunk struct {
	n     int                // slots used, from the first one on
	calls [chunkSlots]func() // nil: unused, called or canceled
}

// With chunkSlots slots a chunk takes 512 bytes on a 64-bit system, a size that Go allocates
// without waste. A slot number fits into the lowest slotBits bits of a position (see queue).
const (
	slotBits   = 6
	chunkSlots = 1<<slotBits - 1
)

// A chunkList holds callbacks in order of arrival, in chunks. A single slice would be copied again
// and again while a backlog grows, and would become too large to allocate cheaply. A chunk before
// the last one may have unused slots, but the callbacks of two neighbors never fit into one chunk.
type chunkList struct {
	chunks     []*chunk
	last       *chunk // the last of chunks; nil: there are none
	liveBefore int    // callbacks in chunks before last, minus the canceled ones in all chunks
}

// live returns the number of callbacks that were not canceled.
func (l *chunkList) live() int {
	if l.last == nil {
		return 0
	}
	return l.liveBefore + l.last.n
}

// full reports whether the last chunk has no unused slot, in which case the caller must call
// addChunk before push. full, addChunk and push are one operation, split into parts that are small
// enough to be inlined: a function call would double the cost of CallSoon.
func (l *chunkList) full() bool { return l.last == nil || l.last.n >= chunkSlots }

// push appends a callback and returns its slot in the last chunk.
func (l *chunkList) push(f func()) (slot int) {
	c := l.last
	slot = c.n
	c.calls[slot] = f
	c.n = slot + 1
	return slot
}

// pushAll appends several callbacks.
func (l *chunkList) pushAll(fs []func(), p *chunkPool) {
	if l.last != nil {
		fs = l.last.fill(fs)
	}
	for len(fs) > 0 {
		fs = l.addChunk(p).fill(fs)
	}
}

// addChunk appends a chunk. It is rarely called, and inlining it would take registers away from the
// common path of its callers.
//
//go:noinline
func (l *chunkList) addChunk(p *chunkPool) *chunk {
	l.liveBefore = l.live()
	l.last = p.get()
	l.chunks = append(l.chunks, l.last)
	return l.last
}

// fill appends as many callbacks as there are unused slots, and returns the rest.
func (c *chunk) fill(fs []func()) (rest []func()) {
	n := copy(c.calls[c.n:], fs)
	c.n += n
	return fs[n:]
}

// splice moves all callbacks of other to the end of l. Whole chunks change owners. Callbacks are
// copied only if all of them fit into l's last chunk. Without that, posts that arrive one by one
// between calls to CallSoon would use a chunk each.
func (l *chunkList) splice(other *chunkList) {
	if len(l.chunks) == 0 || l.chunks[0].n == 0 {
		*l, *other = *other, *l
		return
	}
	if c := other.chunks[0]; len(other.chunks) == 1 && c.n <= chunkSlots-l.last.n {
		l.last.fill(c.calls[:c.n])
		clear(c.calls[:c.n])
		c.n = 0
		return
	}
	l.liveBefore = l.live() + other.liveBefore
	l.last = other.last
	l.chunks = append(l.chunks, other.chunks...)
	*other = chunkList{chunks: resetChunks(other.chunks)}
}

// resetChunks returns an empty slice that reuses the memory of chunks, or nil if that is large.
func resetChunks(chunks []*chunk) []*chunk {
	if cap(chunks) > maxKeptChunks {
		return nil
	}
	clear(chunks)
	return chunks[:0]
}

// A chunkPool holds empty chunks for reuse: n is 0, and every slot is nil.
type chunkPool []*chunk

// maxKept is the number of callbacks, and of timers, that the loop keeps memory for when there is
// nothing left to call. A larger burst allocates again. The pools of the inbox and the queue keep
// up to half of the chunks each.
const (
	maxKept       = 1 << 15
	maxKeptChunks = maxKept / chunkSlots / 2
)

// get returns an empty chunk, allocating one if the pool has none.
func (p *chunkPool) get() *chunk {
	last := len(*p) - 1
	if last < 0 {
		return new(chunk)
	}
	c := (*p)[last]
	(*p)[last] = nil
	*p = (*p)[:last]
	return c
}

// put adds a chunk whose callbacks were all called or canceled, unless the pool is full.
func (p *chunkPool) put(c *chunk) {
	if len(*p) < maxKeptChunks {
		c.n = 0
		*p = append(*p, c)
	}
}
