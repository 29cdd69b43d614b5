package loop

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// With more than crowdedChunks chunks in the inbox, producers are slowed down: one
	// that starts a chunk, or posts a batch, yields its processor once. A backlog that
	// does not fit into the cache costs all goroutines more than that. And chunks that
	// the pool does not have must be allocated, and later be collected as garbage.
	crowdedChunks = 16

	// maxYields is how many times producers yield between two visits of the loop. So
	// producers are not slowed down for long by a loop that does not run, or by a
	// callback that posts a million calls to its own loop.
	maxYields = 256

	// lockTries is how many times the loop tries to get the lock before it sets wanted.
	lockTries = 20
)

// An inbox holds posted callbacks, in order of arrival, until the loop collects them.
//
// It is a mutex and a list of chunks. A producer holds the lock for some nanoseconds, to
// store a callback in a slot, and the loop takes all chunks at once. A lock-free list
// would need an allocation for each post, or a bound, and would not avoid the contended
// cache line.
//
// sync.Mutex is unfair: a busy producer can lock it many times while the loop is waking
// up from its wait for the lock, for up to a millisecond, until the mutex hands itself
// over to the loop. So the loop sets wanted, and producers yield when they see it.
type inbox struct {
	wanted atomic.Bool // the loop waits for mu. Written by the loop's goroutine
	_      [64]byte    // wanted is mostly read

	mu         sync.Mutex // guards the fields below
	calls      chunkList
	pool       chunkPool // filled by the loop, with chunks whose callbacks it has called
	yieldsLeft int       // how many more times producers yield until the loop collects
	closed     bool
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.calls, b.pool = chunkList{}, nil
}

// lockAsProducer locks mu. It yields first if the loop waits for mu.
func (b *inbox) lockAsProducer() {
	if b.wanted.Load() {
		runtime.Gosched()
	}
	b.mu.Lock()
}

// lockAsLoop locks mu, and reports whether a producer held it.
func (b *inbox) lockAsLoop() (contended bool) {
	for i := range lockTries {
		if b.mu.TryLock() {
			return i > 0
		}
	}
	b.wanted.Store(true)
	b.mu.Lock()
	b.wanted.Store(false)
	return true
}

// shouldYield reports whether the producer that holds mu should yield after it has
// unlocked mu.
func (b *inbox) shouldYield() bool {
	if len(b.calls.chunks) <= crowdedChunks || b.yieldsLeft == 0 {
		return false
	}
	b.yieldsLeft--
	return true
}

// Post schedules f for the next iteration, and wakes the loop. It may be called from any
// goroutine. Callbacks that one goroutine posts are called in that order. If a callback
// uses both Post and CallSoon, the order of its calls is kept, too.
//
// Post never waits for the loop, but it sometimes yields the processor while the loop is
// far behind. After Close it returns ErrClosed.
func (l *Loop) Post(f func()) error {
	if f == nil {
		panic("loop: Post called with a nil func")
	}
	if l.cannotWake() {
		return errBubble
	}
	b := &l.inbox
	b.lockAsProducer()
	if b.closed {
		b.mu.Unlock()
		return ErrClosed
	}
	if b.calls.full() {
		b.calls.addChunk(&b.pool)
	}
	slot := b.calls.push(f)
	mode := l.setPosted(b.calls.live() == 1)
	yield := slot == 0 && b.shouldYield()
	b.mu.Unlock()
	l.afterPost(mode, yield)
	return nil
}

// PostBatch is Post for several callbacks at once, at a fraction of the cost. No other
// callback comes between them.
func (l *Loop) PostBatch(fs []func()) error {
	for _, f := range fs {
		if f == nil {
			panic("loop: PostBatch called with a nil func")
		}
	}
	if l.cannotWake() {
		return errBubble
	}
	b := &l.inbox
	b.lockAsProducer()
	if b.closed {
		b.mu.Unlock()
		return ErrClosed
	}
	b.calls.pushAll(fs, &b.pool)
	mode := l.setPosted(len(fs) > 0 && b.calls.live() == len(fs))
	yield := b.shouldYield()
	b.mu.Unlock()
	l.afterPost(mode, yield)
	return nil
}

// setPosted sets sigPosted if the inbox was empty. It returns the sleep mode from which
// the caller must wake the loop after it has unlocked inbox.mu.
//
// The caller holds inbox.mu. Were the signal set after the unlock, a second producer
// could post, return and release a hold while the loop cannot yet see that there are
// posts.
func (l *Loop) setPosted(wasEmpty bool) (mode signalBits) {
	if !wasEmpty {
		return 0
	}
	return l.signals.set(sigPosted)
}

// afterPost does the part of a post that needs no lock.
func (l *Loop) afterPost(mode signalBits, yield bool) {
	if mode != 0 {
		l.waker.wake(mode)
	}
	if yield {
		runtime.Gosched()
	}
}

// collect moves the posted callbacks to the end of the queue. It returns their number,
// and whether a producer held the lock. The inbox gets the larger one of the two chunk
// pools: producers reuse the chunks whose callbacks the loop has called.
func (l *Loop) collect(q *queue) (posts int, contended bool) {
	b := &l.inbox
	contended = b.lockAsLoop()
	defer b.mu.Unlock()
	l.signals.clear(sigPosted)
	b.yieldsLeft = maxYields
	posts = b.calls.live()
	if posts > 0 {
		q.waiting.splice(&b.calls)
	}
	if len(b.pool) < len(q.pool) {
		b.pool, q.pool = q.pool, b.pool
	}
	return posts, contended
}
