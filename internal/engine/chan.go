package engine

import (
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// A Chan is a timer that sends the time on a channel. The caller allocates it. It counts as a
// timer, also for Config.MaxTimers, while it is armed.
type Chan struct {
	C      chan time.Time // has room for one
	handle wheel.Handle   // the handle of its last wheel entry. Protected by the shard's lock
	shard  *Shard         // set by Start; nil: it was never armed
}

// Start arms a new timer in an engine. The timer sends the time after d, and then after every
// period if the period is not 0. Start returns an error, and does nothing, if the engine is shut
// down or full, and if the call is foreign.
func (t *Chan) Start(eng *Engine, d, period time.Duration) error {
	now, err := eng.EnterToWait()
	if err != nil {
		return err
	}
	soon := period == 0 && eng.isSoon(now, d)
	due := eng.Add(now, d)
	s := eng.lockShard()
	if s.closed || !eng.quota.acquire(1) {
		err := s.refusal()
		s.mu.Unlock()
		return err
	}
	t.shard = s
	early := false
	if soon {
		s.sendNow(t, now)
		eng.quota.release(1)
	} else {
		early = s.armChan(t, due, period)
	}
	s.mu.Unlock()
	if early {
		s.afterArming(due, true, false)
	}
	return nil
}

// Reset arms a timer again, and returns in was whether it was armed. It takes a value that has
// not been received out of the channel; then was is true, too. Reset returns an error, and does
// nothing, if the engine is full or the call is foreign. If the engine is shut down, Reset returns an
// error and only takes a value out of the channel.
func (t *Chan) Reset(d, period time.Duration) (was bool, err error) {
	now, err := t.shard.eng.Enter()
	if err != nil {
		return false, err
	}
	return t.shard.resetChan(t, now, d, period)
}

// ResetFrom is Reset for a timer that is armed at the time now, as with [GoFunc.Reset].
func (t *Chan) ResetFrom(now int64, d, period time.Duration) (was bool, err error) {
	return t.shard.resetChan(t, now, d, period)
}

// Stop stops a timer, and reports whether it was armed. It takes a value that has not been
// received out of the channel; then it also returns true. A foreign call on the timer of an
// engine that belongs to a bubble does nothing and returns false.
func (t *Chan) Stop() bool {
	return t.shard.stopChan(t)
}

func (s *Shard) resetChan(t *Chan, now int64, d, period time.Duration) (was bool, err error) {
	soon := period == 0 && s.eng.isSoon(now, d)
	due := s.eng.Add(now, d)
	early, dirty := false, false
	s.mu.Lock()
	filed, b := s.w.Entry(t.handle)
	pending := b != nil && b.state.pending()
	if s.closed || !soon && !pending && !s.eng.quota.acquire(1) {
		err := s.refusal()
		if s.closed {
			drain(t.C)
		}
		s.mu.Unlock()
		return false, err
	}
	switch {
	case soon:
		was, dirty = s.cancelForRearm(t.handle, b)
		was = drain(t.C) || was
		s.sendNow(t, now)
	case b == nil:
		was = drain(t.C)
		early = s.armChan(t, due, period)
	default:
		if !pending {
			s.chans.parked--
		}
		was = drain(t.C) || pending
		s.chans.at(b.aux).schedule(due, period)
		_, early = s.move(t.handle, b, filed, s.eng.Ceil(due))
	}
	s.mu.Unlock()
	if early || dirty {
		s.afterArming(due, early, dirty)
	}
	return was, nil
}

func (s *Shard) stopChan(t *Chan) bool {
	if s.eng.bubble != "" && s.eng.foreign() {
		return false // the channel belongs to the bubble
	}
	s.mu.Lock()
	was, dirty := s.cancel(t.handle, s.w.Value(t.handle), eventStop)
	was = drain(t.C) || was
	s.mu.Unlock()
	if dirty {
		s.eng.scrubber.start()
	}
	return was
}

// isSoon reports whether a timer that is armed at the time now, for after d, is due: then it has
// waited for d. On a manual clock and in a bubble all timers go through the wheel, so that they
// fire in order, except in an engine whose timers are counted.
func (eng *Engine) isSoon(now int64, d time.Duration) bool {
	if eng.fake {
		return eng.counted && d <= 0
	}
	return eng.waitShort(now, d)
}

// sendNow lets a timer that is due at the time now fire without the wheel: the way through the wheel
// and a worker would take some microseconds. The caller holds the lock.
func (s *Shard) sendNow(t *Chan, now int64) {
	s.fired++
	s.recordLate(0)
	send(t.C, s.eng.sent(now))
}

// armChan arms a timer in a new slot. The caller holds the lock, has acquired the quota, and calls
// afterArming with the result after it has unlocked.
func (s *Shard) armChan(t *Chan, due int64, period time.Duration) (early bool) {
	at := s.eng.Ceil(due)
	s.armed++
	t.handle = s.newChanTimer(at, due, t.C, period)
	return s.lowerNext(at)
}

// send sends a time if the channel has room, and reports whether it had.
func send(c chan time.Time, t time.Time) bool {
	select {
	case c <- t:
		return true
	default:
		return false
	}
}

// drain takes a value out of a channel, and reports whether there was one. In most cases there is
// none, and len is cheaper than a receive.
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
