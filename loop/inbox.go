package loop

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// crowd is the number of chunks in the inbox from which on producers are slowed down: each that begins
	// a chunk, or brings a batch, yields its processor once. A backlog that outgrows the cache costs
	// everybody more than that, and chunks beyond the stock must be allocated, and be collected as garbage.
	crowdedChunks = 16

	// yields is how often they do so between two visits of the loop. A loop that does not run, or
	// a callback that posts a million calls to its own loop, slows nobody down for long.
	maxYields = 256

	// tries is how often the loop tries to get the lock before it asks producers to stand back.
	lockTries = 20
)

// An inbox holds what was posted, in order of arrival, until the loop takes it.
//
// A mutex and chunks: a producer has the lock for some nanoseconds, to store a callback in
// its place, and the loop takes everything in one go. A lock-free list costs an allocation a
// post, or a bound, and the contended cache line all the same.
//
// A mutex is not fair: a producer that is at it takes it again and again before the loop, once that
// waits, has woken up, until a millisecond has passed and the mutex is handed over. Therefore wanted.
type inbox struct {
	wanted     atomic.Bool // the loop waits for mu. Written by the loop's goroutine; producers yield once
	_          [64]byte    // wanted is mostly read
	mu         sync.Mutex
	calls      chunkList // under mu
	pool       chunkPool // under mu. Filled by the loop, which has called what was in the chunks
	yieldsLeft int       // under mu: how many are left until the loop comes by
	closed     bool      // under mu
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.calls, b.pool = chunkList{}, nil
}

// lock is for producers.
func (b *inbox) lockAsProducer() {
	if b.wanted.Load() {
		runtime.Gosched()
	}
	b.mu.Lock()
}

// lockFirst is for the loop. It tells whether the lock was taken.
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

// crowded tells a producer, who holds mu, to yield once it has let go.
func (b *inbox) shouldYield() bool {
	if len(b.calls.chunks) <= crowdedChunks || b.yieldsLeft == 0 {
		return false
	}
	b.yieldsLeft--
	return true
}

// Post queues f to be called by the loop, and wakes the loop. It may be called from any
// goroutine. What one goroutine posts runs in that order, and a callback's own posts run in
// order with its CallSoons. It does not wait for the loop, but yields the processor now and then
// while the loop is far behind. After Close: ErrClosed.
func (l *Loop) Post(f func()) error {
	if f == nil {
		panic("loop: Post of a nil func")
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
	place := b.calls.push(f)
	wake := l.setPosted(b.calls.live() == 1)
	ahead := place == 0 && b.shouldYield()
	b.mu.Unlock()
	l.afterPost(wake, ahead)
	return nil
}

// PostBatch queues many callbacks at once, next to each other, at a fraction of the cost.
func (l *Loop) PostBatch(fs []func()) error {
	for _, f := range fs {
		if f == nil {
			panic("loop: PostBatch of a nil func")
		}
	}
	b := &l.inbox
	b.lockAsProducer()
	if b.closed {
		b.mu.Unlock()
		return ErrClosed
	}
	b.calls.pushAll(fs, &b.pool)
	wake := l.setPosted(len(fs) > 0 && b.calls.live() == len(fs))
	ahead := b.shouldYield()
	b.mu.Unlock()
	l.afterPost(wake, ahead)
	return nil
}

// announce sets sigPosted if the inbox was empty. The caller holds inbox.mu: set later,
// a second producer could return, and release a hold, while its post is not yet to be seen.
// The wake-up is left to the caller, to be done without the lock.
func (l *Loop) setPosted(first bool) (wake signalBits) {
	if !first {
		return 0
	}
	return l.signals.set(sigPosted)
}

// posted does what a producer has to do after it has let go of the lock.
func (l *Loop) afterPost(wake signalBits, ahead bool) {
	if wake != 0 {
		l.waker.wake(wake)
	}
	if ahead {
		runtime.Gosched()
	}
}

// collect moves what was posted to the end of the queue. The larger stock of chunks goes the
// other way: what the loop has done with is what producers use next. It tells how many calls there
// were, and whether a producer was in the way.
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
