package engine

import (
	"context"
	"sync"
	"time"
)

// Shutdown closes the engine. No timer fires and no item is run any more. Shutdown waits for the
// callbacks and items that are running, and returns the number of timers that were still armed.
// The first call also calls onClose after it has closed the shards, and adds its result. Then it
// ends the contexts whose timers were armed: a callback that is running may wait for one.
//
// If ctx ends first, Shutdown returns that number and the error of ctx. The engine is closed all
// the same, and another call of Shutdown waits again.
func (eng *Engine) Shutdown(ctx context.Context, onClose func() int) (armed int, err error) {
	if eng.isDefault {
		return 0, errDefault
	}
	if eng.bubble != "" && eng.foreign() {
		return 0, errBubble // its timers may only be stopped, and its channels only closed, in its bubble
	}
	eng.mu.Lock()
	var contexts []func()
	first := !eng.closed.Load()
	if first {
		eng.goroutines.add() // another Shutdown waits until the contexts have ended
		eng.batch.Lock()
		eng.closed.Store(true)
		for _, s := range *eng.shards.Load() {
			armed, ends := s.close()
			eng.leftArmed += armed
			contexts = append(contexts, ends...)
		}
		eng.leftArmed += onClose()
		eng.handoffs.close()
		eng.batch.Unlock()
		eng.timekeeper.close()
		eng.scrubber.close()
		if eng.manual != nil {
			eng.manual.detach(eng)
		}
		close(eng.done)
	}
	eng.mu.Unlock()
	if first {
		for _, end := range contexts {
			end()
		}
		eng.goroutines.done()
	}
	err = eng.waitForCallbacks(ctx)
	eng.mu.Lock()
	defer eng.mu.Unlock()
	return eng.leftArmed, err
}

// withdrawInterval is how long Shutdown waits before it considers Config.Go blocked.
const withdrawInterval = 20 * time.Millisecond

// waitForCallbacks waits for all callbacks and polls that are running, and for the callbacks
// that Config.Go has accepted. It withdraws the callbacks that a blocked Config.Go has not
// accepted, and lets the engine run those that Config.Go has dropped.
func (eng *Engine) waitForCallbacks(ctx context.Context) error {
	if eng.goFunc == nil {
		return eng.goroutines.wait(ctx)
	}
	for pause := withdrawInterval; ; pause = min(2*pause, time.Second) {
		short, cancel := context.WithTimeout(ctx, pause)
		err := eng.goroutines.wait(short)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := eng.handoffs.withdraw()
		eng.mu.Lock()
		eng.leftArmed += n
		eng.mu.Unlock()
		eng.handoffs.findDropped()
		if eng.goroutines.allInGo() {
			return nil // their callbacks have returned, or were withdrawn
		}
	}
}

// A goroutineGroup counts the goroutines of an engine that Shutdown waits for: the driver, and
// all goroutines that may be in a callback or a poll. A callback that was given to Config.Go
// counts as one until it is over. Unlike sync.WaitGroup, it can be waited for with a context.
type goroutineGroup struct {
	// wakeup has a buffer of one value. A value wakes one call of wait. The channel is made
	// with the engine. If the first call of wait made it, it might belong to a synctest
	// bubble, and no goroutine outside of that could use it.
	wakeup chan struct{}

	mu      sync.Mutex
	count   int
	inGo    int    // how many of them are in a call of Config.Go
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

// addInGo counts goroutines of the group that enter Config.Go, or with -1 leave it.
func (c *goroutineGroup) addInGo(n int) {
	c.mu.Lock()
	c.inGo += n
	c.mu.Unlock()
}

// allInGo reports whether all goroutines are in calls of Config.Go.
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
