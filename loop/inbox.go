package loop

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// With more than crowdedChunks chunks in the inbox, producers are slowed down: one that starts
	// a chunk, or posts a batch, yields its processor once. A backlog that does not fit into the
	// cache costs all goroutines more than that, and chunks that the pool does not have must be
	// allocated, and later garbage collected.
	crowdedChunks = 16

	// maxYields is how many times producers yield between two visits by the loop. It keeps them
	// from being slowed down for long by a loop that does not run, or by a callback that posts a
	// million calls to its own loop.
	maxYields = 256

	// lockTries is how many times the loop tries to acquire the lock before it sets wanted.
	lockTries = 20
)

// An inbox holds posted callbacks, in order of arrival, until the loop collects them.
//
// It is a mutex and a list of chunks. A producer holds the lock for some nanoseconds, to store a
// callback in a slot, and the loop takes all chunks at once. A lock-free list would need an
// allocation for each post, or a limit, and would not avoid the contended cache line.
//
// sync.Mutex is unfair: a busy producer can lock it many times while the loop is waking up from its
// wait for the lock, for up to a millisecond, until the mutex hands itself over to the loop. The
// loop therefore sets wanted, and producers yield when they see it.
type inbox struct {
	wanted atomic.Bool // the loop is waiting for mu. Written by the loop's goroutine
	_      [64]byte    // wanted is mostly read

	mu         sync.Mutex // guards the fields below
	calls      chunkList
	pool       chunkPool // filled by the loop, with chunks whose callbacks were called
	yieldsLeft int       // how many more times producers yield until the loop collects
	closed     bool
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.calls, b.pool = chunkList{}, nil
}

// lockAsProducer locks mu. It yields first if the loop is waiting for mu.
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

// shouldYield reports whether the producer that holds mu should yield after unlocking it.
func (b *inbox) shouldYield() bool {
	if len(b.calls.chunks) <= crowdedChunks || b.yieldsLeft == 0 {
		return false
	}
	b.yieldsLeft--
	return true
}

// Post schedules f for the next iteration and wakes the loop. It may be called from any goroutine.
// Callbacks posted by one goroutine are called in the order in which it posted them, and a callback
// that uses both Post and CallSoon keeps the order of these calls.
//
// Post never waits for the loop, but may yield the processor while the loop is far behind. After
// Close it returns ErrClosed.
func (l *Loop) Post(f func()) error {
	if f == nil {
		panic("loop: Post with a nil func; pass the function to call")
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

// PostBatch is like Post for several callbacks, at a fraction of the cost. No other callback is
// called between them.
func (l *Loop) PostBatch(fs []func()) error {
	for _, f := range fs {
		if f == nil {
			panic("loop: PostBatch with a nil func; pass the function to call")
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

// setPosted sets sigPosted if the inbox was empty. It returns the sleep mode from which the caller
// must wake the loop after unlocking inbox.mu.
//
// The caller holds inbox.mu. If the signal were set after the unlock, a second producer could post,
// return and release a hold before the loop can see that there are posts.
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

// collect moves the posted callbacks to the end of the queue. It returns their number, and whether
// a producer held the lock. The inbox gets the larger of the two chunk pools, so that producers
// reuse the chunks whose callbacks the loop has called.
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
