package loop

// A chunk holds callbacks in order of arrival. It has one owner at a time: the inbox, whose
// lock guards it, or the loop's goroutine, to which the inbox gives it.
type chunk struct {
	n     int               // places used. They are used from the first to the last
	calls [chunkSize]func() // nil: not used, called or cancelled
}

// chunkSize makes a chunk 512 bytes, a size that Go allocates without waste, and fits the numbers of
// a queue: placeBits of each are the place in the chunk.
const (
	placeBits = 6
	chunkSize = 1<<placeBits - 1
)

// A list is callbacks in order of arrival, in chunks: a slice of callbacks would be copied again and
// again as a backlog grows, and be too large for the allocator to give it out cheaply. Chunks that are not
// the last may have places left, but no two neighbours would fit into one.
type list struct {
	chunks []*chunk
	last   *chunk // of chunks; nil: there are none
	before int    // callbacks in the chunks before the last, less those that were cancelled anywhere
}

// live returns how many callbacks there are that were not cancelled.
func (l *list) live() int {
	if l.last == nil {
		return 0
	}
	return l.before + l.last.n
}

// full tells that there is no place left: extend comes before push. The three are one operation in
// parts that are small enough to be inlined, as to call it would double what a CallSoon costs.
func (l *list) full() bool { return l.last == nil || l.last.n >= chunkSize }

// push appends a callback, and returns its place in the last chunk.
func (l *list) push(f func()) (place int) {
	c := l.last
	place = c.n
	c.calls[place] = f
	c.n = place + 1
	return place
}

// addAll appends many.
func (l *list) addAll(fs []func(), s *stock) {
	if l.last != nil {
		fs = l.last.fill(fs)
	}
	for len(fs) > 0 {
		fs = l.extend(s).fill(fs)
	}
}

// extend appends a chunk. It is kept out of its callers, where it would take the registers of what they do most.
//
//go:noinline
func (l *list) extend(s *stock) *chunk {
	l.before = l.live()
	l.last = s.take()
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
func (l *list) join(other *list) {
	if len(l.chunks) == 0 || l.chunks[0].n == 0 {
		*l, *other = *other, *l
		return
	}
	if c := other.chunks[0]; len(other.chunks) == 1 && c.n <= chunkSize-l.last.n {
		l.last.fill(c.calls[:c.n])
		clear(c.calls[:c.n])
		c.n = 0
		return
	}
	l.before = l.live() + other.before
	l.last = other.last
	l.chunks = append(l.chunks, other.chunks...)
	*other = list{chunks: reuse(other.chunks)}
}

// reuse returns an empty slice with the memory of another, unless that has grown large.
func reuse(chunks []*chunk) []*chunk {
	if cap(chunks) > keepChunks {
		return nil
	}
	clear(chunks)
	return chunks[:0]
}

// A stock is chunks to be used again: all places are nil, and n is 0.
type stock []*chunk

// keep is how many callbacks, and how many timers, there is memory for when nothing is left to run. A burst
// of more pays for it anew. The inbox and the queue have half of the chunks each in stock.
const (
	keep       = 1 << 15
	keepChunks = keep / chunkSize / 2
)

func (s *stock) take() *chunk {
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
func (s *stock) put(c *chunk) {
	if len(*s) < keepChunks {
		c.n = 0
		*s = append(*s, c)
	}
}
