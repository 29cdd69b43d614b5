package foliot

import "github.com/foliot-go/foliot/internal/engine"

// An Expirer's timer calls pass, which expires a batch of values. wakeAt changes as follows, always
// with the lock held:
//
//	from          to          by
//	Never         a time      wake: a value is added, and a timer is created
//	a time        earlier     wake: a value gets a deadline before that time
//	a time        Never       releaseTimer: the last value is removed, or the Expirer is closed
//	any but
//	passing       passing     pass begins
//	passing       a time      pass ends, and values are left
//	passing       Never       pass ends, and no value is left
//
// The invariant: if there are values and the lock is free, then the timer is armed for the first
// deadline or earlier, or a pass is running, or the timer has fired and its callback is about to
// begin a pass. Postponing a deadline does not touch the timer, which may then fire for nothing. No
// wake-up is lost, because a pass ends under the lock under which values are added: either the pass
// finds the value when it arms the timer, or the goroutine that adds the value sees what the pass
// armed the timer for.
//
// releaseTimer may free a timer whose callback has already started. By the time that callback
// begins its pass, a value may have been added with a new timer. If the new timer fires during the
// pass, its callback finds wakeAt == passing and returns, because the pass arms the timer when it
// ends. Passes therefore never overlap.

const (
	slabValues = 1024 // values in a slab of the wheel

	// A pass trims up to trimSlabs slabs, or trimSlabsFew if all values would fit into one slab,
	// because Trim then moves them together.
	trimSlabs    = 16
	trimSlabsFew = 64
)

// wake makes sure that a pass begins no later than at. now is what the clock showed the caller, who
// holds the lock.
func (e *Expirer[V]) wake(at, now int64) error {
	at = min(at, e.rt.eng.Last())
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
	if !e.timer.ResetTick(e.rt.eng.Ceil(at), now) {
		return ErrClosed
	}
	e.wakeAt = at
	return nil
}

// releaseTimer frees the timer, unless a pass is running, in which case the pass does so when it
// ends. The caller holds the lock.
func (e *Expirer[V]) releaseTimer() {
	if e.wakeAt != passing {
		e.timer.Free()
		e.timer = engine.Timer{}
		e.wakeAt = engine.Never
	}
}

// pass is the timer's callback. It expires a batch of values and trims the wheel.
func (e *Expirer[V]) pass() {
	e.locker.Lock()
	if e.closed || e.wakeAt == passing {
		e.locker.Unlock()
		return
	}
	e.wakeAt = passing
	locked := true
	defer func() { // even if Evict or Expired panics or calls Goexit
		if !locked {
			e.locker.Lock()
		}
		e.endPass()
		e.locker.Unlock()
	}()
	e.takeDue()
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

// takeDue removes a batch of due values from the wheel and calls Evict for each. Values that an
// earlier pass left behind, because Evict panicked or called Goexit, count toward the batch. The
// caller holds the lock.
func (e *Expirer[V]) takeDue() {
	n := len(e.due)
	if n >= e.batch {
		return
	}
	for _, v := range e.w.Advance(e.reached(e.rt.eng.Now())) {
		if e.expired != nil {
			e.due = append(e.due, v)
		}
		if e.evict != nil {
			e.evict(v)
		}
		if n++; n >= e.batch || e.closed {
			return
		}
	}
}

// endPass ends a pass and arms the timer for the next one. The caller holds the lock.
func (e *Expirer[V]) endPass() {
	e.wakeAt = engine.Never
	next, ok := e.w.Soonest(soonestMax)
	now := e.rt.eng.Now()
	switch {
	case e.closed:
		e.releaseTimer()
	case e.trimLeft > 0 || e.shouldTrim() || len(e.due) > 0:
		_ = e.wake(now, now)
	case ok:
		_ = e.wake(max(e.nanos(next), now), now) // an error means that the runtime is shut down
	default:
		e.releaseTimer()
	}
}

// shouldTrim reports whether three quarters of the values have left since the wheel was last trimmed.
// Waiting for that many bounds the cost of trimming per value that left. The caller holds the lock.
func (e *Expirer[V]) shouldTrim() bool {
	n := e.w.Len()
	return e.trimLeft == 0 && n < e.peak && n <= e.peak/4 && e.w.Cap() > slabValues
}

// trimSoon schedules a pass that trims the wheel. If the caller is in a synctest bubble that the
// runtime is not part of, it leaves the trimming to a later pass. The caller holds the lock.
func (e *Expirer[V]) trimSoon() {
	if now, err := e.rt.eng.CheckedNow(); err == nil && !e.closed {
		_ = e.wake(now, now) // an error means that the runtime is shut down
	}
}

// trim releases memory once most of the values have left: a few slabs now, the others in the passes
// that follow. The caller holds the lock.
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
