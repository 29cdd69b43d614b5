package foliot

import (
	"context"
	"sync"
	"time"
)

// Shutdown closes the runtime. No timer fires and no task is polled any more. Shutdown waits
// for the callbacks and polls that are running, and returns the number of timers that were
// still armed; values in a [Queue] count as armed timers.
//
// If ctx ends first, Shutdown returns that number and the error of ctx. The runtime is closed
// all the same, and another call of Shutdown waits again. A Shutdown in a callback waits for
// that callback itself, so it needs a ctx that ends.
func (rt *Runtime) Shutdown(ctx context.Context) (armed int, err error) {
	if rt.isDefault {
		return 0, errDefault
	}
	if rt.bubble != "" && rt.foreign() {
		return 0, errBubble // its timers may only be stopped, and its channels only closed, in its bubble
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

// withdrawInterval is how long Shutdown waits before it considers Options.Go blocked.
const withdrawInterval = 20 * time.Millisecond

// waitForCallbacks waits for all callbacks and polls that are running, and for the callbacks
// that Options.Go has accepted. It withdraws the callbacks that a blocked Options.Go has not
// accepted, and lets the runtime run those that Options.Go has dropped.
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
		if rt.goroutines.allInGo() {
			return nil // their callbacks have returned, or were withdrawn
		}
	}
}

// A goroutineGroup counts the goroutines of a runtime that Shutdown waits for: the driver, and
// all goroutines that may be in a callback or a poll. A callback that was given to Options.Go
// counts as one until it is over. Unlike sync.WaitGroup, it can be waited for with a context.
type goroutineGroup struct {
	// wakeup has a buffer of one value. A value wakes one call of wait. The channel is made
	// with the runtime. If the first call of wait made it, it might belong to a synctest
	// bubble, and no goroutine outside of that could use it.
	wakeup chan struct{}

	mu      sync.Mutex
	count   int
	inGo    int    // how many of them are in a call of Options.Go
	zeros   uint64 // how often count has become 0
	waiting int    // the number of calls of wait that are waiting
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

// enterGo is called by a goroutine of the group before it calls Options.Go, leaveGo afterwards.
func (c *goroutineGroup) enterGo() {
	c.mu.Lock()
	c.inGo++
	c.mu.Unlock()
}

func (c *goroutineGroup) leaveGo() {
	c.mu.Lock()
	c.inGo--
	c.mu.Unlock()
}

// allInGo reports whether all goroutines are in calls of Options.Go.
func (c *goroutineGroup) allInGo() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count == c.inGo
}

// wake wakes one call of wait, if any is waiting. The caller holds mu.
func (c *goroutineGroup) wake() {
	if c.waiting > 0 {
		select {
		case c.wakeup <- struct{}{}:
		default:
		}
	}
}

// wait waits until count is 0, at least for a moment, and returns nil. If ctx ends before, it
// returns the error of ctx.
func (c *goroutineGroup) wait(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == 0 {
		return nil
	}
	c.waiting++
	defer func() {
		c.waiting--
		c.wake() // wakeup wakes one call at a time, so each wakes the next
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
