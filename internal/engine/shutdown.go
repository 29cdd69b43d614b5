package engine

import (
	"context"
	"sync"
	"time"
)

// Shutdown closes the engine: from then on no timer fires and no task is polled. It waits for
// running callbacks and polls, and returns the number of timers that were still armed. The first
// call also calls onClose once the shards are closed, and adds its result to that number. It then
// ends the contexts whose timers were armed, because a running callback may be waiting for one.
//
// If ctx ends first, Shutdown returns that number and ctx's error. The engine is closed all the
// same, and another call to Shutdown waits again.
func (eng *Engine) Shutdown(ctx context.Context, onClose func() int) (armed int, err error) {
	if eng.isDefault {
		return 0, errDefault
	}
	if eng.bubble != "" && eng.foreign() {
		return 0, errBubble // its timers can be stopped and its channels closed only in its bubble
	}
	eng.roster.mu.Lock()
	var contexts []func()
	first := !eng.closed.Load()
	if first {
		eng.goroutines.add() // another Shutdown must wait until the contexts have ended
		eng.batchMu.Lock()
		eng.closed.Store(true)
		for _, s := range *eng.shards.Load() {
			left, ends := s.close()
			eng.armedAtShutdown += left
			contexts = append(contexts, ends...)
		}
		eng.armedAtShutdown += onClose()
		eng.batchMu.Unlock()
		eng.timekeeper.close()
		eng.scrubber.close()
		if eng.manual != nil {
			eng.manual.detach(eng)
		}
		close(eng.done)
	}
	eng.roster.mu.Unlock()
	if first {
		for _, end := range contexts {
			end()
		}
		eng.goroutines.done()
	}
	err = eng.waitForCallbacks(ctx)
	eng.roster.mu.Lock()
	defer eng.roster.mu.Unlock()
	return eng.armedAtShutdown, err
}

// withdrawAfter is how long Shutdown waits before it considers Config.Go blocked.
const withdrawAfter = 20 * time.Millisecond

// waitForCallbacks waits for running callbacks and polls, and for callbacks that Config.Go has
// accepted. After withdrawAfter it withdraws the callbacks that Config.Go has not accepted.
func (eng *Engine) waitForCallbacks(ctx context.Context) error {
	if eng.Go == nil {
		return eng.goroutines.wait(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, withdrawAfter)
	err := eng.goroutines.wait(soon)
	cancel()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	eng.withdraw()
	return eng.goroutines.wait(ctx)
}

// withdraw withdraws the callbacks that Config.Go has not accepted and adds them to Shutdown's
// result. One call is enough, because later callbacks are refused and run on their worker.
func (eng *Engine) withdraw() {
	eng.roster.mu.Lock()
	defer eng.roster.mu.Unlock()
	for _, w := range *eng.everyone.Load() {
		taken, left := w.goCalls.withdraw()
		eng.armedAtShutdown += taken
		for range taken + left {
			eng.goroutines.done()
		}
	}
}

// A goroutineGroup counts the engine's goroutines that Shutdown waits for: the driver, and every
// goroutine that may be in a callback or poll. A callback for Config.Go counts as one until it is
// over. A goroutine that is in Config.Go no longer counts after withdraw, because Config.Go may
// block for as long as it likes. Unlike a sync.WaitGroup, it can be waited for with a context.
type goroutineGroup struct {
	// wakeup has a buffer of one; a value wakes one call to wait. The channel is created with the
	// engine, because one created by the first call to wait might belong to a synctest bubble, and
	// no goroutine outside could use it.
	wakeup chan struct{}

	mu      sync.Mutex
	count   int
	zeros   uint64 // how often count has reached 0
	waiting int    // calls to wait that are waiting
}

func (g *goroutineGroup) init() {
	g.wakeup = make(chan struct{}, 1)
}

func (g *goroutineGroup) add() {
	g.mu.Lock()
	g.count++
	g.mu.Unlock()
}

func (g *goroutineGroup) done() {
	g.mu.Lock()
	g.count--
	if g.count == 0 {
		g.zeros++
		g.wake()
	}
	g.mu.Unlock()
}

// wake wakes one call to wait, if any is waiting. The caller holds mu.
func (g *goroutineGroup) wake() {
	if g.waiting > 0 {
		select {
		case g.wakeup <- struct{}{}:
		default:
		}
	}
}

// wait waits until count has been 0, if only for a moment. It returns ctx's error if ctx ends
// first.
func (g *goroutineGroup) wait(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count == 0 {
		return nil
	}
	g.waiting++
	defer func() {
		g.waiting--
		g.wake() // wakeup wakes one call at a time, so each wakes the next
	}()
	for was := g.zeros; g.zeros == was; {
		g.mu.Unlock()
		select {
		case <-g.wakeup:
		case <-ctx.Done():
		}
		g.mu.Lock()
		if g.zeros == was && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
