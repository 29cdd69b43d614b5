package foliot

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A ManualClock stands still until it is told to go on: time for tests and simulations.
// It may serve several runtimes. Its methods may be called from any goroutine.
//
// Callbacks run in Advance. Tasks are polled when they are spawned or woken, without an
// Advance, on a goroutine of their own; Advance waits for them before it moves the time. All
// that happens in callbacks and polls happens one after the other and in the same order
// each time. What a goroutine does beside them, between a Spawn and the next Advance, may
// fall before or after those polls: a simulation that is to be the same each time makes
// its tasks in a callback or a poll, or has an Advance(0) after each.
type ManualClock struct {
	start time.Time
	now   atomic.Int64  // nanoseconds since start. Written by the goroutine of Advance
	seq   atomic.Uint32 // numbers the armings of all runtimes, modulo 2^32

	advancing sync.Mutex // held by Advance: one at a time

	mu       sync.Mutex
	runtimes []*Runtime     // in the order in which they were made
	inside   map[string]int // the goroutines that run callbacks, and how many, one in the other
}

// NewManualClock returns a clock that shows the time start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{start: start, inside: map[string]int{}}
}

// Now returns the time that the clock shows. In a callback that is its deadline.
func (c *ManualClock) Now() time.Time {
	return c.start.Add(time.Duration(c.now.Load()))
}

func (c *ManualClock) sealed() {}

// Advance lets the time go on by d, and runs all that comes due on the way, by deadline, then
// in the order of arming, on whichever runtime: also what callbacks arm meanwhile. It returns
// when all of that has run and the clock shows the new time. Advance(0) runs what is due
// already. A negative d does nothing. Advance in a callback panics: it would wait for that
// very callback.
//
// Advance does not wait for goroutines that it wakes. A goroutine that loops on
// [Runtime.Sleep] is woken once by an Advance, however long that is, as it calls Sleep again only
// after Advance has gone on. Use a timer or a task for what has to happen again and again, or
// advance by one period at a time and wait for the goroutine in between: it sleeps again when
// Stats().Armed says so.
func (c *ManualClock) Advance(d time.Duration) {
	if c.isInside() {
		panic("foliot: Advance in a callback or a poll on the same clock: it would wait for that very one; call it outside, or arm a timer")
	}
	c.refuseForeign()
	c.advancing.Lock()
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
	if c.earliest() <= target {
		run := &advance{clock: c, target: target, finished: make(chan struct{})}
		go run.run()
		<-run.finished
	}
	c.now.Store(target)
}

// A drive is an Advance under way: a goroutine of its own, so that a callback that ends its
// goroutine does not end the one of Advance.
type advance struct {
	clock    *ManualClock
	target   int64
	finished chan struct{}
	me       string // the goroutine
}

// on runs what comes due until the time target.
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
		rt := c.nextRuntime(at)
		if rt == nil {
			continue // it was stopped, and there is another earliest now
		}
		w := (*rt.workers.Load())[0]
		if e := w.claim(at, 0); e != 0 {
			rt.goroutines.add()
			// A span of nothing: just one timer, for the next may be another runtime's.
			w.run(runMode{claim: e, span: -1, advance: d})
			w.busy.Store(0)
			rt.goroutines.done()
		}
		c.waitIdle()
	}
	c.setInside(d.me, false)
	close(d.finished)
}

// resume goes on with a drive whose goroutine was ended by a callback of w.
func (d *advance) resume(w *worker) {
	w.busy.Store(0)
	w.rt.goroutines.done()
	d.clock.setInside(d.me, false)
	d.run()
}

// serve polls tasks that were woken while the clock stands still.
func (c *ManualClock) pollWoken(w *worker, e uint64) {
	me := goroutine()
	c.setInside(me, true)
	defer c.setInside(me, false)
	w.rt.label()
	for more := true; more; {
		_, more = w.run(runMode{claim: e, span: never, polls: true})
	}
	w.release(e)
	w.rt.goroutines.done()
}

// quiet waits until nothing runs on any of the runtimes.
func (c *ManualClock) waitIdle() {
	c.mu.Lock()
	runtimes := slices.Clone(c.runtimes)
	c.mu.Unlock()
	for _, rt := range runtimes {
		rt.goroutines.wait(context.Background())
	}
}

// earliest returns when there is something to do on any of the runtimes: now if a task is
// to be polled.
func (c *ManualClock) earliest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := never
	for _, r := range c.runtimes {
		s := (*r.openShards.Load())[0]
		if !s.ready.empty() {
			return c.now.Load()
		}
		at = min(at, s.next.Load())
	}
	return at
}

// whose returns the runtime whose turn it is at a time that the clock shows already, so
// that nothing can be armed for before: one with a task to be polled, or of those with
// something due the one that armed it first; nil if there is none.
func (c *ManualClock) nextRuntime(at int64) (rt *Runtime) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var order uint32
	for _, r := range c.runtimes {
		s := (*r.openShards.Load())[0]
		if !s.ready.empty() {
			return r
		}
		if s.next.Load() > at {
			continue
		}
		if o, ok := s.firstSeq(at); ok && (rt == nil || int32(o-order) < 0) {
			rt, order = r, o
		}
	}
	return rt
}

// refuseForeign panics if the clock has a runtime that belongs to another synctest bubble than
// the caller: goroutines that wait there can be woken from there only.
func (c *ManualClock) refuseForeign() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rt := range c.runtimes {
		if rt.bubble != "" && rt.foreign() {
			panic("foliot: Advance of a clock whose runtime was made in another synctest bubble; call it there, or shut the runtime down")
		}
	}
}

// mustNotBlock panics if the caller is in a callback or a poll on a manual clock, and about to
// wait for that clock to go on. Advance waits for the callback, so both would wait for ever.
func (rt *Runtime) mustNotBlock(what string) {
	if rt.manual != nil && rt.manual.isInside() {
		panic("foliot: " + what + " in a callback or a poll on the same manual clock, which goes on only when that has returned;" +
			" arm a timer instead, or wait on a goroutine of its own")
	}
}

// attach adds a runtime. It returns an error if the clock has one that belongs to another
// synctest bubble: Advance could not serve both.
func (c *ManualClock) attach(rt *Runtime) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.runtimes) > 0 && c.runtimes[0].bubble != rt.bubble {
		return errClockBubble
	}
	c.runtimes = append(c.runtimes, rt)
	return nil
}

func (c *ManualClock) detach(rt *Runtime) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.runtimes, rt); i >= 0 {
		c.runtimes = slices.Delete(c.runtimes, i, i+1)
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

// goroutine names the calling goroutine. There is no quicker way to ask, so it is asked
// only where time is not the point.
func goroutine() string {
	var buf [40]byte
	b := buf[:runtime.Stack(buf[:], false)]
	b, _, _ = bytes.Cut(b, []byte(" ["))
	return string(b)
}
