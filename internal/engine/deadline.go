package engine

import (
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// The timer of a context is a one-shot of kindContext. Its callback ends the context. It does not
// block and does not call code of the user, so it never goes through Config.Go. Shutdown also calls
// it, for each of these timers that is armed: the contexts of an engine end with it. The callback
// then finds out by WasLeft why it was called, and so does the CancelFunc of a context, which may
// come just before Shutdown has called the callback.

// NewDeadline makes a timer that runs f once after d, and ends a context thereby. now is what
// [Clock.Wall] has just returned to the caller: that saves a reading of the clock.
func (eng *Engine) NewDeadline(now time.Time, d time.Duration, f func()) (Timer, error) {
	at, err := eng.enterToWaitAt(now)
	if err != nil {
		return Timer{}, err
	}
	return eng.arm(eng.Add(at, d), pointer(f), stateOneShot, kindContext)
}

// NoDeadline returns a Timer that names no timer, for a context without one. Its Engine is eng.
func (eng *Engine) NoDeadline() Timer {
	return Timer{s: (*eng.shards.Load())[0]}
}

// Engine returns the engine of the timer. The timer must not be the zero Timer.
func (t Timer) Engine() *Engine { return t.s.eng }

// WasLeft reports whether a timer of NewDeadline was armed when the engine was shut down. It is
// called after Stop has returned false, and returns true once.
func (t Timer) WasLeft() bool {
	return t.s.eng.closed.Load() && t.s.takeLeft(t.h)
}

func (s *Shard) takeLeft(h wheel.Handle) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, left := s.left[h]
	delete(s.left, h)
	return left
}

// leaveContexts records the timers of contexts that are armed, and returns their callbacks. The
// engine is being shut down. The caller holds the lock.
func (s *Shard) leaveContexts() (ends []func()) {
	if !s.hasContexts {
		return nil
	}
	s.left = map[wheel.Handle]struct{}{}
	for h, b := range s.w.All() {
		if b.kind == kindContext {
			s.left[h] = struct{}{}
			ends = append(ends, b.callback())
		}
	}
	return ends
}

// Refusal returns the error with which NewDeadline would refuse a timer, or nil. now is as there.
func (eng *Engine) Refusal(now time.Time) error {
	if _, err := eng.enterToWaitAt(now); err != nil {
		return err
	}
	switch {
	case eng.closed.Load():
		return ErrClosed
	case eng.quota.full():
		return ErrFull
	}
	return nil
}
