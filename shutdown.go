package foliot

import (
	"context"
	"sync"
	"time"
)

// Shutdown closes the runtime: nothing new runs, what runs is waited for, and the number
// of timers that were armed is returned; values that are still in a [Queue] count as such. If ctx ends first, its error is returned along
// with that number, and the runtime is closed all the same; another call waits again. In
// a callback Shutdown would wait for that very callback: give it a ctx that ends.
func (rt *Runtime) Shutdown(ctx context.Context) (armed int, err error) {
	if rt.isDefault {
		return 0, errDefault
	}
	if rt.bubble != "" && rt.foreign() {
		return 0, errBubble // its timers can be stopped, and its channels closed, in its bubble only
	}
	rt.mu.Lock()
	if !rt.closed.Load() {
		rt.batch.Lock()
		rt.closed.Store(true)
		for _, s := range *rt.shards.Load() {
			rt.armed += s.close()
		}
		rt.armed += rt.queues.close()
		rt.handoffs.close()
		rt.batch.Unlock()
		rt.timekeeper.close()
		rt.scrubber.close()
		if rt.manual != nil {
			rt.manual.detach(rt)
		}
		close(rt.done)
	}
	rt.mu.Unlock()
	err = rt.waitForCallbacks(ctx)
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.armed, err
}

// withdrawInterval is how long Shutdown waits before it takes Options.Go to be blocked.
const withdrawInterval = 20 * time.Millisecond

// waitForCallbacks waits for what runs, and for what Options.Go is to run. It withdraws what a
// blocked Options.Go has not accepted, and runs what Options.Go has dropped.
func (rt *Runtime) waitForCallbacks(ctx context.Context) error {
	if rt.goFunc == nil {
		return rt.goroutines.wait(ctx)
	}
	for pause := withdrawInterval; ; pause = min(2*pause, time.Second) {
		short, cancel := context.WithTimeout(ctx, pause)
		err := rt.goroutines.wait(short)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := rt.handoffs.withdraw()
		rt.mu.Lock()
		rt.withdrawn += n
		rt.armed += n
		rt.mu.Unlock()
		rt.handoffs.findDropped()
	}
}

// A crew counts the goroutines of a runtime that Shutdown waits for: all that may be in a
// callback, and the timekeeper's.
type goroutineGroup struct {
	// wakeup has room for one value, which wakes one of those who wait. It is made with the
	// runtime: a channel that the first to wait makes may belong to a synctest bubble, and
	// then no other goroutine could use it.
	wakeup chan struct{}

	mu      sync.Mutex
	count   int
	zeros   uint64 // how often n has fallen to 0
	waiting int    // calls of wait
}

func (c *goroutineGroup) open() {
	c.wakeup = make(chan struct{}, 1)
}

func (c *goroutineGroup) add() {
	c.mu.Lock()
	c.count++
	c.mu.Unlock()
}

func (c *goroutineGroup) done() {
	c.mu.Lock()
	c.count--
	if c.count == 0 {
		c.zeros++
		c.wake()
	}
	c.mu.Unlock()
}

// wake wakes one of those who wait, if any. The caller holds mu.
func (c *goroutineGroup) wake() {
	if c.waiting > 0 {
		select {
		case c.wakeup <- struct{}{}:
		default:
		}
	}
}

// wait returns nil when n was 0 for a moment, or the error of ctx.
func (c *goroutineGroup) wait(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == 0 {
		return nil
	}
	c.waiting++
	defer func() {
		c.waiting--
		c.wake() // the next one looks for itself
	}()
	for was := c.zeros; c.zeros == was; {
		c.mu.Unlock()
		select {
		case <-c.wakeup:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if c.zeros == was && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
