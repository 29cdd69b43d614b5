package clock

import (
	"sync"
	"time"
)

// A funcTimer is an AfterFunc Timer on a runtime or a Fake. A one-shot timer is gone once it fires
// there, so each Reset arms a new one.
type funcTimer struct {
	arm func(d time.Duration) stopper // arms a one-shot timer. Does not change

	mu   sync.Mutex
	last stopper // the timer armed last; nil: there is none. Protected by mu
}

// A stopper is the handle of a one-shot timer. Stop reports whether the timer was armed.
type stopper interface{ Stop() bool }

func newFuncTimer(d time.Duration, arm func(d time.Duration) stopper) *funcTimer {
	return &funcTimer{arm: arm, last: arm(d)}
}

func (t *funcTimer) Chan() <-chan time.Time { return nil }

func (t *funcTimer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop()
}

func (t *funcTimer) Reset(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.stop()
	t.last = t.arm(d)
	return was
}

// stop stops the timer armed last. The caller holds mu.
func (t *funcTimer) stop() bool {
	return t.last != nil && t.last.Stop()
}
