package engine

import (
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// A Chan is a timer that sends the time on a channel. The caller allocates it.
type Chan struct {
	C      chan time.Time // has room for one
	handle wheel.Handle   // the handle of its last wheel entry. Protected by the shard's lock
	shard  uint32         // the number of its shard in the default engine. Set by Start; 0: it was never armed
}

// Start arms a new timer in the default engine. The timer sends the time after d, and then after
// every period if the period is not 0. Start returns false, and does nothing, if the caller is in
// a synctest bubble, because the default engine is in none.
func (t *Chan) Start(d, period time.Duration) bool {
	eng := Default()
	now, err := eng.Enter()
	if err != nil {
		return false
	}
	soon := period == 0 && eng.waitShort(now, d)
	due := eng.Add(now, d)
	s := eng.lockShard()
	t.shard = s.number
	early := s.armChan(t, due, soon, period)
	s.mu.Unlock()
	if early {
		s.afterArming(due, true, false)
	}
	return true
}

// Reset arms a timer again, and returns in was whether it was armed. It takes a value that has
// not been received out of the channel; then was is true, too. Reset returns ok false, and does
// nothing, if the caller is in a synctest bubble.
func (t *Chan) Reset(d, period time.Duration) (was, ok bool) {
	return shardByNumber(t.shard).resetChan(t, d, period)
}

// Stop stops a timer, and reports whether it was armed. It takes a value that has not been
// received out of the channel; then it also returns true.
func (t *Chan) Stop() bool {
	return shardByNumber(t.shard).stopChan(t)
}

func (s *Shard) resetChan(t *Chan, d, period time.Duration) (was, ok bool) {
	now, err := s.eng.Enter()
	if err != nil {
		return false, false
	}
	soon := period == 0 && s.eng.waitShort(now, d)
	due := s.eng.Add(now, d)
	early, dirty := false, false
	s.mu.Lock()
	filed, b := s.w.Entry(t.handle)
	switch {
	case b == nil:
		was = drain(t.C)
		early = s.armChan(t, due, soon, period)
	case soon:
		was, dirty = s.cancelForRearm(t.handle, b)
		was = drain(t.C) || was
		s.armChan(t, due, true, period)
	default:
		was = b.state.pending()
		was = drain(t.C) || was
		s.chans.at(b.aux).schedule(due, period)
		_, early = s.move(t.handle, b, filed, s.eng.Ceil(due))
	}
	s.mu.Unlock()
	if early || dirty {
		s.afterArming(due, early, dirty)
	}
	return was, true
}

func (s *Shard) stopChan(t *Chan) bool {
	s.mu.Lock()
	was, dirty := s.cancel(t.handle, s.w.Value(t.handle), eventStop)
	was = drain(t.C) || was
	s.mu.Unlock()
	if dirty {
		s.eng.scrubber.start()
	}
	return was
}

// armChan arms a timer in a new slot. If soon is set, the timer is due, and armChan sends
// directly. The caller holds the lock, and calls afterArming with the result after it has
// unlocked.
func (s *Shard) armChan(t *Chan, due int64, soon bool, period time.Duration) (early bool) {
	if soon {
		s.fired++
		s.recordLate(0)
		send(t.C, time.Now())
		return false
	}
	at := s.eng.Ceil(due)
	s.eng.quota.acquire(1)
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

// drain takes a value out of a channel, and reports whether there was one.
func drain(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
