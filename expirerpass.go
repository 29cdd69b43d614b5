package foliot

import (
	"github.com/foliot-go/foliot/internal/engine"
	"github.com/foliot-go/foliot/wheel"
)

// The timer of an Expirer calls pass, which lets a batch of values expire. The moves of wakeAt,
// all of them with the lock held:
//
//	from          to          by
//	Never         a time      wake: a value is added, and a timer is made
//	a time        earlier     wake: a value gets a deadline before that time
//	a time        Never       rest: the last value is cancelled, or the Expirer is closed
//	any but
//	passing       passing     pass begins
//	passing       a time      pass ends, and values are left
//	passing       Never       pass ends, and no value is left
//
// The invariant is: if there are values and the lock is free, then the timer is armed for the
// first deadline or before it, or a pass runs and has not ended, or the timer has fired and its
// callback will begin a pass. A later deadline leaves the timer alone, so it may fire for
// nothing. No wake-up is lost, because a value is added under the same lock under which a pass
// ends: either the pass finds the value when it arms the timer, or the pass has ended, and the
// goroutine that adds the value sees for what time.
//
// rest frees a timer whose callback may have started. Then that pass may begin after a value
// was added with a new timer. If the new timer fires during the pass, its callback finds
// wakeAt == passing and returns: the pass arms the timer when it ends. So passes do not overlap.

const (
	slabValues = 1024 // values in a slab of the wheel

	// trimSlabs and trimSlabsFew are how many slabs a pass looks at to release memory: the second
	// if all values fit into one slab, because Trim then moves them together.
	trimSlabs    = 16
	trimSlabsFew = 64
)

// wake makes sure that a pass begins at the time at or before. The caller holds the lock.
func (e *Expirer[V]) wake(at int64) error {
	if at >= e.wakeAt {
		return nil
	}
	if e.timer == (engine.Timer{}) {
		t, err := e.rt.eng.NewTimer(e.onTimer)
		if err != nil {
			return err
		}
		e.timer = t
	}
	if !e.timer.ResetTick(e.rt.eng.Ceil(at)) {
		return ErrClosed
	}
	e.wakeAt = at
	return nil
}

// rest frees the timer, unless a pass runs, which does so when it ends. The caller holds the
// lock.
func (e *Expirer[V]) rest() {
	if e.wakeAt != passing {
		e.timer.Free()
		e.timer = engine.Timer{}
		e.wakeAt = engine.Never
	}
}

// pass is the callback of the timer. It lets a batch of values expire, and trims the wheel.
func (e *Expirer[V]) pass() {
	e.locker.Lock()
	if e.closed || e.wakeAt == passing {
		e.locker.Unlock()
		return
	}
	e.wakeAt = passing
	locked := true
	defer func() { // also if Evict or Expired panics or calls Goexit
		if !locked {
			e.locker.Lock()
		}
		e.endPass()
		e.locker.Unlock()
	}()
	n := len(e.due) // of a pass that Evict has ended by a panic or Goexit
	for _, v := range e.w.Advance(wheel.Tick(e.rt.eng.Now() >> e.shift)) {
		if e.expired != nil {
			e.due = append(e.due, v)
		}
		if e.evict != nil {
			e.evict(v)
		}
		if n++; n >= e.batch || e.closed {
			break
		}
	}
	e.trim()
	if len(e.due) > 0 {
		due := e.due
		e.due = nil
		e.locker.Unlock()
		locked = false
		e.expired(due)
		clear(due)
		e.due = due[:0]
	}
}

// endPass ends a pass: it arms the timer for the next one. The caller holds the lock.
func (e *Expirer[V]) endPass() {
	e.wakeAt = engine.Never
	next, ok := e.w.Soonest(soonestMax)
	now := e.rt.eng.Now()
	switch {
	case e.closed:
		e.rest()
	case e.trimLeft > 0 || e.shouldTrim() || len(e.due) > 0:
		_ = e.wake(now)
	case ok:
		_ = e.wake(max(e.nanos(next), now)) // an error says that the runtime is shut down
	default:
		e.rest()
	}
}

// shouldTrim reports whether three quarters of the values have left since Trim last went through
// the wheel. So trimming takes a bounded time for each value that has left. The caller holds the
// lock.
func (e *Expirer[V]) shouldTrim() bool {
	n := e.w.Len()
	return e.trimLeft == 0 && n < e.peak && n <= e.peak/4 && e.w.Cap() > slabValues
}

// trimSoon has a pass trim the wheel. It does nothing for a caller in a synctest bubble that the
// runtime is not part of: a later pass trims the wheel. The caller holds the lock.
func (e *Expirer[V]) trimSoon() {
	if now, err := e.rt.eng.Enter(); err == nil && !e.closed {
		_ = e.wake(now) // an error says that the runtime is shut down
	}
}

// trim releases memory, if most of the values have left. It looks at some slabs only; the next
// passes continue. The caller holds the lock.
func (e *Expirer[V]) trim() {
	if e.shouldTrim() {
		e.trimLeft = e.w.Cap()/slabValues + 1
	}
	if e.trimLeft == 0 {
		return
	}
	n := min(trimSlabs, e.w.Len()/slabValues)
	if n == 0 {
		n = trimSlabsFew
	}
	e.w.Trim(n)
	if e.trimLeft = max(e.trimLeft-n, 0); e.trimLeft == 0 {
		e.peak = e.w.Len()
	}
}
