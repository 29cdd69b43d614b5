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

// A ManualClock is a clock that moves only when it is advanced. Several engines may share one. Its
// methods may be called from any goroutine; package foliot documents them.
type ManualClock struct {
	start time.Time

	// ShowsEnd selects what goroutines other than callbacks see during an Advance: the time at
	// which it ends or, if false, the time that it has reached. Set before the clock is used.
	ShowsEnd bool

	now atomic.Int64  // nanoseconds since start, as callbacks see them. Written only during Advance
	seq atomic.Uint32 // the sequence number of the last arming on any engine, modulo 2^32

	// target is where the current or last Advance ends, which is what other goroutines see if
	// ShowsEnd is set: a goroutine that Advance wakes then counts its next delay from there,
	// however fast it runs. Written with advancing held.
	target atomic.Int64

	advancing sync.Mutex // held during Advance

	waiters waiters

	mu      sync.Mutex
	engines []*Engine          // in order of creation
	inside  map[string]*inside // by goroutine
}

// inside counts the callbacks and polls that a goroutine is in, which may be nested. The goroutine
// must not wait for the clock there.
type inside struct {
	advance int // run by an Advance: they see the time that it has reached
	wake    int // polls started by a wake: they see what the goroutine that woke the task sees
}

// NewManualClock returns a clock that shows start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{start: start, inside: map[string]*inside{}}
}

// Now returns the time that the clock shows to the caller.
func (c *ManualClock) Now() time.Time {
	return c.start.Add(time.Duration(c.visibleNow()))
}

// visibleNow is Now in nanoseconds since start. It may lock mu, so the caller must not hold a
// shard's lock.
func (c *ManualClock) visibleNow() int64 {
	now := c.now.Load()
	if target := c.target.Load(); c.ShowsEnd && target > now && !c.inAdvance() {
		return target
	}
	return now
}

// Advance moves the clock forward by d. On the way it fires the timers of all its engines in order
// of their deadlines, and in order of arming where deadlines are equal. It returns once all
// callbacks and polls have returned and the clock shows the new time. If d is negative, Advance
// does nothing.
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

// lock locks advancing. It panics if the caller must not advance the clock.
func (c *ManualClock) lock() {
	if c.isInside() {
		panic("foliot: Advance in a callback or a poll on the same clock: it would wait for itself; call it outside, or arm a timer")
	}
	c.refuseForeign()
	c.advancing.Lock()
}

// advanceTo advances the clock to target. The caller holds advancing and has called waitIdle.
func (c *ManualClock) advanceTo(target int64) {
	c.target.Store(target)
	c.fireUntil(target)
	if c.now.Load() < target {
		c.now.Store(target)
		c.fireUntil(target) // what another goroutine armed before the store: see armed
	}
	c.wakeWaiters()
}

// fireUntil fires the timers that are due by target, if there are any. It does not look again when it is
// done, so a goroutine that keeps arming timers for now cannot hold it up for ever.
func (c *ManualClock) fireUntil(target int64) {
	if c.earliest() <= target {
		a := &advance{clock: c, target: target, finished: make(chan struct{})}
		go a.run()
		<-a.finished
	}
}

// An advance is one call to Advance. It runs callbacks on a goroutine of its own, because a
// callback may call Goexit, which must not end the goroutine that called Advance.
type advance struct {
	clock    *ManualClock
	target   int64
	finished chan struct{}
	me       string // the goroutine that runs the callbacks
}

// run moves the clock from deadline to deadline and fires the timers, until the next deadline is
// after target.
func (a *advance) run() {
	c := a.clock
	a.me = goroutineID()
	c.setInside(a.me, 1, 0)
	for {
		at := max(c.earliest(), c.now.Load())
		if at > a.target {
			break
		}
		c.now.Store(at)
		eng := c.nextEngine(at)
		if eng == nil {
			continue // the timer was stopped, or next was too early; firstSeq raised it
		}
		w := (*eng.workers.Load())[0]
		if claim := w.claim(at, 0); claim != 0 {
			eng.goroutines.add()
			t := w.newTurn(claim)
			t.run((*turn).step, func() { go a.resume(w) })
			t.leave()
			w.busy.Store(0)
			eng.goroutines.done()
		}
		c.waitIdle()
	}
	c.setInside(a.me, -1, 0)
	close(a.finished)
}

// resume continues run on a new goroutine after one of w's callbacks or polls ended the old one.
func (a *advance) resume(w *worker) {
	w.busy.Store(0)
	w.eng.goroutines.done()
	a.clock.setInside(a.me, -1, 0)
	a.run()
}

// step polls a batch of ready tasks or, if there are none, fires one timer. It fires only one
// because the next may belong to another engine of the clock.
func (t *turn) step() (more bool) {
	t.now = t.w.eng.Now()
	if t.poll() {
		return false
	}
	if s, at := t.w.first(); at <= t.now {
		if c, _ := s.pop(t); c.fn != nil {
			t.call(c)
		}
	}
	return false
}

// waitIdle waits until no engine has a callback or poll running.
func (c *ManualClock) waitIdle() {
	c.mu.Lock()
	engines := slices.Clone(c.engines)
	c.mu.Unlock()
	for _, eng := range engines {
		eng.goroutines.wait(context.Background())
	}
}

// earliest returns a time before which no timer is due on any engine, or the clock's time if a task
// is ready.
func (c *ManualClock) earliest() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := never
	for _, eng := range c.engines {
		s := (*eng.openShards.Load())[0]
		if !s.ready.empty() {
			return c.now.Load()
		}
		at = min(at, s.next.Load())
	}
	return at
}

// nextEngine returns the engine to run next at time at: one with a ready task, otherwise the one
// whose due timer was armed first. It returns nil if nothing is due. The clock has reached at, so
// no timer can be armed for an earlier time.
func (c *ManualClock) nextEngine(at int64) (first *Engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var firstSeq uint32
	for _, eng := range c.engines {
		s := (*eng.openShards.Load())[0]
		if !s.ready.empty() {
			return eng
		}
		if s.next.Load() > at {
			continue
		}
		if seq, ok := s.firstSeq(at); ok && (first == nil || int32(seq-firstSeq) < 0) {
			first, firstSeq = eng, seq
		}
	}
	return first
}

// refuseForeign panics if the clock has an engine in a synctest bubble and the caller is not in
// that bubble, because goroutines that wait in a bubble can be woken only from inside it.
func (c *ManualClock) refuseForeign() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, eng := range c.engines {
		if eng.bubble != "" && eng.foreign() {
			panic("foliot: Advance of a clock that serves another synctest bubble; call it there, or shut down the runtime of the clock")
		}
	}
}

// AdvanceToNext advances the clock to the earliest deadline after now and returns how far it moved.
// If no timer is armed, the clock does not move and ok is false. Timers that are already due fire
// first: they may be about to fire anyway, so the result must not depend on them.
func (c *ManualClock) AdvanceToNext() (d time.Duration, ok bool) {
	c.lock()
	defer c.advancing.Unlock()
	c.waitIdle()
	before := c.now.Load()
	c.advanceTo(before)
	at := c.nextDeadline(before)
	if at == never {
		return 0, false
	}
	c.advanceTo(at)
	return time.Duration(at - before), true
}

// MustNotBlock panics if the caller, which is about to wait until the clock moves, is in a callback
// or poll on the same manual clock. Advance waits for the callback, so neither would ever return.
func (eng *Engine) MustNotBlock(what string) {
	if eng.manual != nil && eng.manual.isInside() {
		panic("foliot: " + what + " in a callback or a poll on the same manual clock, which does not move until that has returned;" +
			" arm a timer instead, or wait on another goroutine")
	}
}

// attach adds an engine. It returns an error if the clock already has an engine in another synctest
// bubble, because Advance could not serve both.
func (c *ManualClock) attach(eng *Engine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.engines) > 0 && c.engines[0].bubble != eng.bubble {
		return errClockBubble
	}
	c.engines = append(c.engines, eng)
	return nil
}

func (c *ManualClock) detach(eng *Engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.engines, eng); i >= 0 {
		c.engines = slices.Delete(c.engines, i, i+1)
	}
}

// setInside records that a goroutine enters a callback or poll (1) or leaves it (-1).
func (c *ManualClock) setInside(goroutine string, advance, wake int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.inside[goroutine]
	if in == nil {
		in = new(inside)
		c.inside[goroutine] = in
	}
	in.advance += advance
	in.wake += wake
	if *in == (inside{}) {
		delete(c.inside, goroutine)
	}
}

// isInside reports whether the caller is in a callback or poll on the clock.
func (c *ManualClock) isInside() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.inside) > 0 && c.inside[goroutineID()] != nil
}

// inAdvance reports whether the caller is in a callback or poll that is run by an Advance.
func (c *ManualClock) inAdvance() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.inside) == 0 {
		return false
	}
	in := c.inside[goroutineID()]
	return in != nil && in.advance > 0
}

// goroutineID returns a name for the calling goroutine. It is slow and there is no faster way, so
// it must be called only where speed does not matter.
func goroutineID() string {
	var buf [40]byte
	b := buf[:runtime.Stack(buf[:], false)]
	b, _, _ = bytes.Cut(b, []byte(" ["))
	return string(b)
}
