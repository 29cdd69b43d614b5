package engine

import (
	"sync"
	"time"
)

// A Chan is a timer or ticker that sends the time on a channel. It is a thin layer over ordinary
// timers: a timer arms a new one-shot of kindOwn each time, and a ticker uses a single timer of
// kindTick until it is stopped. Either calls fire, which runs after the shard is unlocked, so a
// Stop or Reset may overtake it. The mutex decides which came first:
//
//   - fire sends only if the Chan is armed and due has passed. A call already on its way when Stop
//     is called therefore sends nothing, and one on its way at a Reset sends nothing early.
//   - A ticker's fire moves due to the next tick. If two calls are on their way, as may happen after
//     a Stop and a Reset, the first sends and the second finds due in the future, so there is never
//     more than one tick per period.
//   - Stop and Reset drain the channel under the same mutex.
//
// The engine refers to a Chan while it is armed. A ticker therefore lives until it is stopped, and
// a timer until it fires or is stopped, whether or not the program still refers to it.
type Chan struct {
	C chan time.Time // has a buffer of one. Set by the caller before Start

	// Set by Start.
	eng   *Engine
	ticks bool
	call  func() // calls fire

	mu     sync.Mutex
	armed  bool  // there is something to send
	due    int64 // nothing is sent before this time
	period int64 // of a ticker
	timer  Timer // of the last arming
}

// Start arms a new Chan: a ticker that sends the time every d, or a timer that sends it once after
// d. It does nothing and returns an error if the engine is shut down or full, or the call foreign.
func (c *Chan) Start(eng *Engine, d time.Duration, ticks bool) error {
	now, err := eng.CheckedNowToBlock()
	if err != nil {
		return err
	}
	c.eng, c.ticks, c.call = eng, ticks, c.callback()
	c.mu.Lock() // the timer may fire before arm returns
	defer c.mu.Unlock()
	return c.arm(now, d)
}

// callback returns a function that calls fire. It is not inlined, so that all these functions share
// the same code, by which Callbacks recognizes them.
//
//go:noinline
func (c *Chan) callback() func() { return c.fire }

// arm arms the Chan. The caller holds mu.
func (c *Chan) arm(now int64, d time.Duration) (err error) {
	w := c.eng.after(now, d)
	if c.timer.s == nil || !c.timer.s.reset(c.timer.h, w, d, true) {
		t := Timer{}
		if c.ticks {
			t, err = c.eng.newRepeat(w, d, c.call, kindTick)
		} else {
			t, err = c.eng.newTimer(kindOwn, stateOneShot, pointer(c.call), w)
		}
		if err != nil {
			return err
		}
		c.timer = t
	}
	c.armed, c.due, c.period = true, w.due, int64(d)
	return nil
}

// fire, the timer's callback, sends the time. A tick for which the channel has no room is lost.
func (c *Chan) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.eng.Now()
	if !c.armed || now < c.due {
		return
	}
	if c.ticks {
		c.due = c.eng.nextOnGrid(c.due, c.period, now)
	} else {
		c.armed = false
	}
	send(c.C, c.eng.sendTime(now))
}

// Reset arms the Chan again as Start does, drains the channel, and reports whether it was armed or
// the channel still held a value. If the engine is full or the call is foreign, Reset does nothing
// and returns an error. If the engine is shut down, it drains the channel and returns an error.
func (c *Chan) Reset(d time.Duration) (was bool, err error) {
	now, err := c.eng.CheckedNow()
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	armed := c.armed
	if err := c.arm(now, d); err != nil {
		if c.eng.closed.Load() {
			c.armed = false
			drain(c.C)
		}
		return false, err
	}
	return drain(c.C) || armed, nil
}

// Stop stops the Chan, drains the channel, and reports whether the Chan was armed or the channel
// still held a value. If the engine is in a bubble, a foreign call does nothing and returns false.
func (c *Chan) Stop() bool {
	if c.eng.bubble != "" && c.eng.foreign() {
		return false // the channel belongs to the bubble
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stop()
}

// stop is Stop with mu held.
func (c *Chan) stop() (was bool) {
	was = c.armed && !c.eng.closed.Load()
	c.armed = false
	c.timer.Free()
	return drain(c.C) || was
}

// SendNow stops the Chan, as Stop does, and sends the time as if its delay had passed. A foreign
// call does nothing and returns an error. Package clock's Fake uses SendNow for delays of 0 or less.
func (c *Chan) SendNow() (was bool, err error) {
	now, err := c.eng.CheckedNow()
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was = c.stop()
	send(c.C, c.eng.sendTime(now))
	return was, nil
}

// send sends t unless the channel is full.
func send(c chan time.Time, t time.Time) {
	select {
	case c <- t:
	default:
	}
}

// drain removes a value from a channel and reports whether there was one. Usually there is none,
// and len is cheaper than a receive.
func drain(c <-chan time.Time) bool {
	if len(c) == 0 {
		return false
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}
