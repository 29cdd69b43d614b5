package engine

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/wheel"
)

// waiters holds the goroutines that wait, in BlockUntil and its like, until enough timers are armed
// on a manual clock. A goroutine that has armed a timer checks count. A goroutine that is about to
// wait raises count before it checks the timers, so at least one of the two sees the other. The
// second holds mu until it is in the list, so the first cannot scan the list before that.
type waiters struct {
	count atomic.Int32 // goroutines that wait or are about to
	mu    sync.Mutex
	list  []*waiter // protected by mu
}

// A waiter is one waiting goroutine.
type waiter struct {
	enough func() bool   // reports whether the wait is over
	ready  chan struct{} // closed when enough returns true
}

// Waiters returns the number of timers, on all engines, that are armed for a time after both the
// clock's time and the end of a running Advance. Timers that are due do not count, because they are
// about to fire, but repeating timers always count. Task timers count, queue timers do not.
func (c *ManualClock) Waiters() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := max(c.now.Load(), c.target.Load())
	for _, eng := range c.engines {
		for _, s := range *eng.shards.Load() {
			n += s.waiting(now)
		}
	}
	return n
}

func (s *Shard) waiting(now int64) int {
	s.mu.Lock()
	defer s.unlock()
	n := s.armed
	if s.next.Load() > now {
		return n
	}
	for h, b := range s.w.All() {
		if at, _ := s.w.Entry(h); b.state.pending() && b.kind.isCounted() && !b.kind.repeats() && s.eng.Nanos(at) <= now {
			n--
		}
	}
	return n
}

// Next returns the earliest deadline that the clock has not reached. ok is false if there is none.
func (c *ManualClock) Next() (t time.Time, ok bool) {
	at := c.nextDeadline(max(c.now.Load(), c.target.Load()))
	return c.start.Add(time.Duration(at)), at != never
}

// nextDeadline returns the earliest deadline after now on any engine, or never.
func (c *ManualClock) nextDeadline(now int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := never
	for _, eng := range c.engines {
		at = min(at, (*eng.openShards.Load())[0].nextDeadline(now))
	}
	return at
}

// nextDeadline returns the shard's earliest deadline after now, or never. The engine is ordered, so
// each timer is filed at its deadline.
func (s *Shard) nextDeadline(now int64) int64 {
	s.mu.Lock()
	defer s.unlock()
	at, ok := s.front().Soonest(math.MaxInt)
	if !ok {
		return never
	}
	due := s.eng.Nanos(at)
	if due > now {
		return due
	}
	due = never
	for h, b := range s.w.All() {
		if at, _ := s.w.Entry(h); b.state.pending() && s.eng.Nanos(at) > now {
			due = min(due, s.eng.Nanos(at))
		}
	}
	return due
}

// isDue reports whether a timer is armed for exactly due, rounded up to the engine's ticks.
func (c *ManualClock) isDue(due int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.engines, func(eng *Engine) bool {
		return due >= 0 && due <= eng.last && (*eng.openShards.Load())[0].isDue(eng.Ceil(due))
	})
}

func (s *Shard) isDue(tick wheel.Tick) bool {
	s.mu.Lock()
	defer s.unlock()
	for h, b := range s.w.All() {
		if at, _ := s.w.Entry(h); at == tick && b.state.pending() {
			return true
		}
	}
	return false
}

// BlockUntilContext blocks until the clock has at least n waiters, as counted by Waiters. It
// returns ctx's error if ctx ends first. A foreign call that would have to wait returns errBubble.
func (c *ManualClock) BlockUntilContext(ctx context.Context, n int) error {
	return c.block(ctx, func() bool { return c.Waiters() >= n })
}

// BlockUntilDeadline is like BlockUntilContext, but blocks until a timer is armed for exactly t.
func (c *ManualClock) BlockUntilDeadline(ctx context.Context, t time.Time) error {
	due := int64(t.Sub(c.start))
	return c.block(ctx, func() bool { return c.isDue(due) })
}

func (c *ManualClock) block(ctx context.Context, enough func() bool) error {
	w, err := c.newWaiter(enough)
	if w == nil {
		return err
	}
	defer c.waiters.count.Add(-1)
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		c.waiters.mu.Lock()
		defer c.waiters.mu.Unlock()
		c.waiters.list = slices.DeleteFunc(c.waiters.list, func(other *waiter) bool { return other == w })
		return ctx.Err()
	}
}

// newWaiter adds a waiter to the list. It returns nil if there is no need to wait, or no way to.
func (c *ManualClock) newWaiter(enough func() bool) (*waiter, error) {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	c.waiters.count.Add(1)
	if !enough() {
		err := c.checkWait()
		if err == nil {
			w := &waiter{enough, make(chan struct{})}
			c.waiters.list = append(c.waiters.list, w)
			return w, nil
		}
		c.waiters.count.Add(-1)
		return nil, err
	}
	c.waiters.count.Add(-1)
	return nil, nil
}

// checkWait returns an error if the caller cannot wait for timers to be armed, because that happens
// in another synctest bubble.
func (c *ManualClock) checkWait() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, eng := range c.engines {
		if eng.foreign() {
			return errBubble
		}
	}
	return nil
}

// wakeWaiters wakes the waiting goroutines whose condition now holds.
func (c *ManualClock) wakeWaiters() {
	if c.waiters.count.Load() == 0 {
		return
	}
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	c.waiters.list = slices.DeleteFunc(c.waiters.list, func(w *waiter) bool {
		if !w.enough() {
			return false
		}
		close(w.ready)
		return true
	})
}

// armed is called after a timer is armed for due by a goroutine that had read asked from the clock.
// The caller holds no shard's lock. If the clock has reached due in the meantime, the timer was
// overtaken: nothing would fire it before the next Advance, so armed does. A timer that was due
// from the start waits for the next Advance instead.
//
// The caller stored the deadline in Shard.next before armed loads the clock's time, and Advance
// stores that time before it loads Shard.next, so at least one of the two fires the timer.
func (c *ManualClock) armed(asked, due int64) {
	if due > asked && due <= c.now.Load() {
		go c.Advance(0)
	}
	c.wakeWaiters()
}
