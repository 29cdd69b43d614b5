package engine

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A ManualClock is a clock that moves only in Advance. Several engines may use the same one. Its
// methods may be called from any goroutine. Package foliot documents them.
type ManualClock struct {
	start time.Time
	now   atomic.Int64  // nanoseconds since start. Written only during Advance
	seq   atomic.Uint32 // the sequence number of the last arming on any of the engines, modulo 2^32

	// target is where the running or last Advance ends. It is used if the timers of an engine are
	// counted, see counted.go. Written with advancing held.
	target  atomic.Int64
	counted atomic.Bool // an engine has timers that are counted. Set by attach

	advancing sync.Mutex // held during Advance

	mu      sync.Mutex
	engines []*Engine      // in the order in which they were made
	inside  map[string]int // by goroutine: how many callbacks or items it may be in, one inside the other
}

// NewManualClock returns a clock whose time is start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{start: start, inside: map[string]int{}}
}

// Now returns the time of the clock.
func (c *ManualClock) Now() time.Time {
	return c.start.Add(time.Duration(c.seen()))
}

// Advance moves the clock forward by d. It fires all timers that are due on the way, on all
// engines of the clock, in the order of their deadlines, and in the order of arming among equal
// deadlines. It returns when all callbacks and items have returned and the clock has reached the
// new time. If d is negative, Advance does nothing.
func (c *ManualClock) Advance(d time.Duration) {
	c.lock()
	defer c.advancing.Unlock()
	if d < 0 {
		return
	}
	target := c.now.Load()
	if int64(d) < never-target {
		target += int64(d)
	} else {
		target = never - 1
	}
	c.waitIdle()
	c.advanceTo(target)
}

// lock locks advancing, unless the caller must not advance the clock: then it panics.
func (c *ManualClock) lock() {
	if c.isInside() {
		panic("foliot: Advance in a callback or a poll on the same clock: it would wait for itself; call it outside, or arm a timer")
	}
	c.refuseForeign()
	c.advancing.Lock()
}

// advanceTo is Advance to a time. The caller holds advancing, and has called waitIdle.
func (c *ManualClock) advanceTo(target int64) {
	c.target.Store(target)
	if c.earliest() <= target {
		run := &advance{clock: c, target: target, finished: make(chan struct{})}
		go run.run()
		<-run.finished
	}
	c.now.Store(target)
}

// An advance is a call of Advance. The callbacks run on a goroutine that it starts, because a
// callback may end its goroutine, and must not end the caller of Advance.
type advance struct {
	clock    *ManualClock
	target   int64
	finished chan struct{}
	me       string // the goroutine that runs the callbacks
}

// run moves the clock from one deadline to the next and fires the timers, until the next
// deadline is after target.
func (d *advance) run() {
	c := d.clock
	d.me = goroutine()
	c.setInside(d.me, true)
	for {
		at := max(c.earliest(), c.now.Load())
		if at > d.target {
			break
		}
		c.now.Store(at)
		eng := c.nextEngine(at)
		if eng == nil {
			continue // the timer was stopped, or next was too early; firstSeq has updated next
		}
		w := (*eng.workers.Load())[0]
		if e := w.claim(at, 0); e != 0 {
			eng.goroutines.add()
			// The span lets run fire one timer only, because the next one may belong to
			// another runtime.
			w.run(runMode{claim: e, span: -1, advance: d})
			w.busy.Store(0)
			eng.goroutines.done()
		}
		c.waitIdle()
	}
	c.setInside(d.me, false)
	close(d.finished)
}

// resume continues after a callback of w has ended the goroutine. It runs on a new one.
func (d *advance) resume(w *worker) {
	w.busy.Store(0)
	w.eng.goroutines.done()
	d.clock.setInside(d.me, false)
	d.run()
}

// runItems runs the ready items of a worker. It fires no timers.
func (c *ManualClock) runItems(w *worker, e uint64) {
	me := goroutine()
	c.setInside(me, true)
	defer c.setInside(me, false)
	w.eng.label()
	for more := true; more; {
		_, more = w.run(runMode{claim: e, span: never, itemsOnly: true})
	}
	w.release(e)
	w.eng.goroutines.done()
}

// waitIdle waits for the callbacks and items of all engines.
func (c *ManualClock) waitIdle() {
	c.mu.Lock()
	engines := slices.Clone(c.engines)
	c.mu.Unlock()
	for _, eng := range engines {
		eng.goroutines.wait(context.Background())
	}
}

// earliest returns a time before which no timer is due on any of the engines. It returns the
// time of the clock if an item is ready.
func (c *ManualClock) earliest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := never
	for _, r := range c.engines {
		s := (*r.openShards.Load())[0]
		if !s.Ready.Empty() {
			return c.now.Load()
		}
		at = min(at, s.next.Load())
	}
	return at
}

// nextEngine returns the engine to run next at the time at. The clock has reached that time,
// so no timer can be armed for an earlier one. An engine with a ready item comes first.
// Otherwise it is the engine with the timer that is due and was armed first. nextEngine
// returns nil if nothing is due.
func (c *ManualClock) nextEngine(at int64) (eng *Engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var order uint32
	for _, r := range c.engines {
		s := (*r.openShards.Load())[0]
		if !s.Ready.Empty() {
			return r
		}
		if s.next.Load() > at {
			continue
		}
		if o, ok := s.firstSeq(at); ok && (eng == nil || int32(o-order) < 0) {
			eng, order = r, o
		}
	}
	return eng
}

// refuseForeign panics if the clock has an engine that belongs to another synctest bubble than
// the caller: goroutines that wait there can be woken from there only.
func (c *ManualClock) refuseForeign() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, eng := range c.engines {
		if eng.bubble != "" && eng.foreign() {
			panic("foliot: Advance of a clock that serves another synctest bubble; call it there, or shut down the runtime of the clock")
		}
	}
}

// MustNotBlock panics if the caller is in a callback or an item on a manual clock. The caller is
// about to wait until the clock moves. Advance waits for the callback, so neither would return.
func (eng *Engine) MustNotBlock(what string) {
	if eng.manual != nil && eng.manual.isInside() {
		panic("foliot: " + what + " in a callback or a poll on the same manual clock, which does not move until that has returned;" +
			" arm a timer instead, or wait on another goroutine")
	}
}

// attach adds an engine. It returns an error if the clock has one that belongs to another
// synctest bubble: Advance could not serve both.
func (c *ManualClock) attach(eng *Engine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.engines) > 0 && c.engines[0].bubble != eng.bubble {
		return errClockBubble
	}
	c.engines = append(c.engines, eng)
	if eng.counted {
		c.counted.Store(true)
	}
	return nil
}

func (c *ManualClock) detach(eng *Engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.engines, eng); i >= 0 {
		c.engines = slices.Delete(c.engines, i, i+1)
	}
}

func (c *ManualClock) setInside(g string, in bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if in {
		c.inside[g]++
	} else if c.inside[g]--; c.inside[g] == 0 {
		delete(c.inside, g)
	}
}

func (c *ManualClock) isInside() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.inside) > 0 && c.inside[goroutine()] > 0
}

// goroutine returns a name for the calling goroutine. It is slow, and there is no faster way,
// so it is called only where speed does not matter.
func goroutine() string {
	var buf [40]byte
	b := buf[:runtime.Stack(buf[:], false)]
	b, _, _ = bytes.Cut(b, []byte(" ["))
	return string(b)
}
