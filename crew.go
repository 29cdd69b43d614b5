package foliot

import (
	"context"
	"sync"
	"sync/atomic"
)

// A crew counts the goroutines of a runtime, for Shutdown to wait for: all that may be
// in a callback, and the timekeeper's.
type crew struct {
	mu   sync.Mutex
	n    int
	gone chan struct{} // closed when n falls to 0; nil if nobody waits
}

func (c *crew) enter() {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
}

func (c *crew) leave() {
	c.mu.Lock()
	c.n--
	if c.n == 0 && c.gone != nil {
		close(c.gone)
		c.gone = nil
	}
	c.mu.Unlock()
}

// wait returns when there was nobody for a moment, or with the error of ctx.
func (c *crew) wait(ctx context.Context) error {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.gone == nil {
		c.gone = make(chan struct{})
	}
	gone := c.gone
	c.mu.Unlock()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A room is a bounded number of places.
type room struct {
	max  int64 // 0: no bound, and nothing is counted
	used atomic.Int64
}

// take takes n places, or none and answers false. It never answers false while there
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
