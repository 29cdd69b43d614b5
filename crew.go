package foliot

import (
	"context"
	"sync"
	"sync/atomic"
)

// A crew counts the goroutines of a runtime that Shutdown waits for: all that may be in a
// callback, and the timekeeper's.
type crew struct {
	// wakeup has room for one value, which wakes one of those who wait. It is made with the
	// runtime: a channel that the first to wait makes may belong to a synctest bubble, and
	// then no other goroutine could use it.
	wakeup chan struct{}

	mu      sync.Mutex
	n       int
	empty   uint64 // how often n has fallen to 0
	waiting int    // calls of wait
}

func (c *crew) open() {
	c.wakeup = make(chan struct{}, 1)
}

func (c *crew) enter() {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
}

func (c *crew) leave() {
	c.mu.Lock()
	c.n--
	if c.n == 0 {
		c.empty++
		c.wake()
	}
	c.mu.Unlock()
}

// wake wakes one of those who wait, if any. The caller holds mu.
func (c *crew) wake() {
	if c.waiting > 0 {
		select {
		case c.wakeup <- struct{}{}:
		default:
		}
	}
}

// wait returns nil when n was 0 for a moment, or the error of ctx.
func (c *crew) wait(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == 0 {
		return nil
	}
	c.waiting++
	defer func() {
		c.waiting--
		c.wake() // the next one looks for itself
	}()
	for was := c.empty; c.empty == was; {
		c.mu.Unlock()
		select {
		case <-c.wakeup:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if c.empty == was && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// A room is a bounded number of places.
type room struct {
	max  int64 // 0: no bound, and nothing is counted
	used atomic.Int64
}

// take takes n places, or takes none and returns false. It never returns false while there
// are n places: a plain Add that is undone when it went too far would make others
// that fit be refused meanwhile.
func (r *room) take(n int64) bool {
	return r.max == 0 || r.claim(n)
}

func (r *room) claim(n int64) bool {
	for {
		used := r.used.Load()
		if n > r.max-used {
			return false
		}
		if r.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

func (r *room) give(n int64) {
	if r.max != 0 {
		r.used.Add(-n)
	}
}
