package loop

// A chunk holds callbacks in order of arrival. It has one owner at a time: the inbox, whose
// lock guards it, or the loop's goroutine, to which the inbox gives it.
type chunk struct {
	n     int                // places used. They are used from the first to the last
	calls [chunkSlots]func() // nil: not used, called or cancelled
}

// chunkSize makes a chunk 512 bytes, a size that Go allocates without waste, and fits the numbers of
// a queue: placeBits of each are the place in the chunk.
const (
	slotBits   = 6
	chunkSlots = 1<<slotBits - 1
)

// A list is callbacks in order of arrival, in chunks: a slice of callbacks would be copied again and
// again as a backlog grows, and be too large for the allocator to give it out cheaply. Chunks that are not
// the last may have places left, but no two neighbours would fit into one.
type chunkList struct {
	chunks     []*chunk
	last       *chunk // of chunks; nil: there are none
	liveBefore int    // callbacks in the chunks before the last, less those that were cancelled anywhere
}

// live returns how many callbacks there are that were not cancelled.
func (l *chunkList) live() int {
	if l.last == nil {
		return 0
	}
	return l.liveBefore + l.last.n
}

// full tells that there is no place left: extend comes before push. The three are one operation in
// parts that are small enough to be inlined, as to call it would double what a CallSoon costs.
func (l *chunkList) full() bool { return l.last == nil || l.last.n >= chunkSlots }

// push appends a callback, and returns its place in the last chunk.
func (l *chunkList) push(f func()) (place int) {
	c := l.last
	place = c.n
	c.calls[place] = f
	c.n = place + 1
	return place
}

// addAll appends many.
func (l *chunkList) pushAll(fs []func(), s *chunkPool) {
	if l.last != nil {
		fs = l.last.fill(fs)
	}
	for len(fs) > 0 {
		fs = l.addChunk(s).fill(fs)
	}
}

// extend appends a chunk. It is kept out of its callers, where it would take the registers of what they do most.
//
//go:noinline
func (l *chunkList) addChunk(s *chunkPool) *chunk {
	l.liveBefore = l.live()
	l.last = s.get()
	l.chunks = append(l.chunks, l.last)
	return l.last
}

// fill appends as many callbacks as there is room for, and returns the others.
func (c *chunk) fill(fs []func()) (rest []func()) {
	n := copy(c.calls[c.n:], fs)
	c.n += n
	return fs[n:]
}

// join moves all of another list to the end of this one. Chunks change hands; only a few callbacks that
// fit into the last chunk are copied, as posts that come one by one between CallSoons would take a chunk
// each.
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

// reuse returns an empty slice with the memory of another, unless that has grown large.
func resetChunks(chunks []*chunk) []*chunk {
	if cap(chunks) > maxKeptChunks {
		return nil
	}
	clear(chunks)
	return chunks[:0]
}

// A stock is chunks to be used again: all places are nil, and n is 0.
type chunkPool []*chunk

// keep is how many callbacks, and how many timers, there is memory for when nothing is left to run. A burst
// of more pays for it anew. The inbox and the queue have half of the chunks each in stock.
const (
	maxKept       = 1 << 15
	maxKeptChunks = maxKept / chunkSlots / 2
)

func (s *chunkPool) get() *chunk {
	last := len(*s) - 1
	if last < 0 {
		return new(chunk)
	}
	c := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return c
}

// put takes a chunk whose callbacks were called or cancelled.
func (s *chunkPool) put(c *chunk) {
	if len(*s) < maxKeptChunks {
		c.n = 0
		*s = append(*s, c)
	}
}
