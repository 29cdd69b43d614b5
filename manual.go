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

// A ManualClock is a clock for tests and simulations. It moves only in Advance. Several
// runtimes may use the same one. Its methods may be called from any goroutine.
//
// Callbacks run during Advance. Tasks are polled when they are spawned or woken, without an
// Advance, on a goroutine of the runtime. Advance waits for these polls before it moves the
// time. Callbacks and polls run one after the other, and in the same order each time.
//
// Between a Spawn or a Wake and the next Advance, the polls run concurrently with the
// goroutine that has called Spawn or Wake. In a simulation that must be reproducible, spawn
// and wake tasks in callbacks and polls, or call Advance(0) after each Spawn and Wake.
type ManualClock struct {
	start time.Time
	now   atomic.Int64  // nanoseconds since start. Written only during Advance
	seq   atomic.Uint32 // the sequence number of the last arming on any of the runtimes, modulo 2^32

	advancing sync.Mutex // held during Advance

	mu       sync.Mutex
	runtimes []*Runtime     // in the order in which they were made
	inside   map[string]int // by goroutine: how many callbacks or polls it may be in, one inside the other
}

// NewManualClock returns a clock whose time is start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{start: start, inside: map[string]int{}}
}

// Now returns the time of the clock. In a callback, that is normally the deadline of its
// timer. It is later if the deadline had passed when the timer was armed.
func (c *ManualClock) Now() time.Time {
	return c.start.Add(time.Duration(c.now.Load()))
}

func (c *ManualClock) sealed() {}

// Advance moves the clock forward by d. It fires all timers that are due on the way, on all
// runtimes of the clock, in the order of their deadlines, and in the order of arming among
// equal deadlines. That includes timers that callbacks arm meanwhile. Advance returns when all
// callbacks and polls have returned and the clock has reached the new time. Advance(0) fires
// timers that are due already. If d is negative, Advance does nothing. Advance panics in a
// callback or a poll, because it would wait for that callback or poll.
//
// Advance does not wait for goroutines that it wakes. A goroutine that calls [Runtime.Sleep]
// in a loop is woken once by an Advance, however long the Advance is, because it calls Sleep
// again only after the clock has moved on. For something that happens repeatedly, use a timer
// or a task. Or advance by one period at a time and wait for the goroutine after each: when it
// sleeps again, it counts in [Stats].Armed.
func (c *ManualClock) Advance(d time.Duration) {
	if c.isInside() {
		panic("foliot: Advance in a callback or a poll on the same clock: it would wait for itself; call it outside, or arm a timer")
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
		rt := c.nextRuntime(at)
		if rt == nil {
			continue // the timer was stopped, or next was too early; firstSeq has updated next
		}
		w := (*rt.workers.Load())[0]
		if e := w.claim(at, 0); e != 0 {
			rt.goroutines.add()
			// The span lets run fire one timer only, because the next one may belong to
			// another runtime.
			w.run(runMode{claim: e, span: -1, advance: d})
			w.busy.Store(0)
			rt.goroutines.done()
		}
		c.waitIdle()
	}
	c.setInside(d.me, false)
	close(d.finished)
}

// resume continues after a callback of w has ended the goroutine. It runs on a new one.
func (d *advance) resume(w *worker) {
	w.busy.Store(0)
	w.rt.goroutines.done()
	d.clock.setInside(d.me, false)
	d.run()
}

// pollWoken polls the tasks of a worker that were woken. It fires no timers.
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

// waitIdle waits for the callbacks and polls of all runtimes.
func (c *ManualClock) waitIdle() {
	c.mu.Lock()
	runtimes := slices.Clone(c.runtimes)
	c.mu.Unlock()
	for _, rt := range runtimes {
		rt.goroutines.wait(context.Background())
	}
}

// earliest returns a time before which no timer is due on any of the runtimes. It returns the
// time of the clock if a task is to be polled.
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

// nextRuntime returns the runtime to run next at the time at. The clock has reached that time,
// so no timer can be armed for an earlier one. A runtime with a task to be polled comes first.
// Otherwise it is the runtime with the timer that is due and was armed first. nextRuntime
// returns nil if nothing is due.
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

// mustNotBlock panics if the caller is in a callback or a poll on a manual clock. The caller is
// about to wait until the clock moves. Advance waits for the callback, so neither would return.
func (rt *Runtime) mustNotBlock(what string) {
	if rt.manual != nil && rt.manual.isInside() {
		panic("foliot: " + what + " in a callback or a poll on the same manual clock, which does not move until that has returned;" +
			" arm a timer instead, or wait on another goroutine")
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

// goroutine returns a name for the calling goroutine. It is slow, and there is no faster way,
// so it is called only where speed does not matter.
func goroutine() string {
	var buf [40]byte
	b := buf[:runtime.Stack(buf[:], false)]
	b, _, _ = bytes.Cut(b, []byte(" ["))
	return string(b)
}
