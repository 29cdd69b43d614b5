package engine

import (
	"context"
	"runtime"
	"time"

	"github.com/foliot-go/foliot/internal/wheel"
)

// A sleeper is what a goroutine in Sleep waits on. It is reused only if its timer fired or was
// stopped in time, because otherwise the old timer could wake the next goroutine.
type sleeper struct {
	ch   chan struct{} // has a buffer of one
	wake func()        // the timer's callback, which does not block
}

func newSleeper() any {
	s := &sleeper{ch: make(chan struct{}, 1)}
	s.wake = func() { s.ch <- struct{}{} }
	return s
}

// shortSleep is the longest sleep that a goroutine spins through. Arming a timer and being woken by
// it would take longer.
const shortSleep = time.Microsecond

// Sleep pauses the calling goroutine for at least d. It returns early with ctx's error if ctx ends,
// and with ErrClosed if the engine is shut down.
func (eng *Engine) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if eng.closed.Load() {
		return ErrClosed
	}
	if d <= 0 {
		return nil
	}
	now, err := eng.CheckedNowToBlock()
	if err != nil {
		return err
	}
	if !eng.fake && d <= shortSleep {
		runtime.Gosched() // let other goroutines run, as a longer sleep would
		for eng.Now()-now < int64(d) {
			runtime.Gosched()
		}
		return nil
	}
	eng.MustNotBlock("Sleep")
	s := eng.sleepers.Get().(*sleeper)
	t, err := eng.newTimer(kindOwn, stateOneShot, pointer(s.wake), eng.after(now, d))
	if err != nil {
		eng.sleepers.Put(s)
		return err
	}
	select {
	case <-s.ch:
		eng.sleepers.Put(s)
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-eng.done:
		err = ErrClosed
	}
	if t.Stop() {
		eng.sleepers.Put(s)
	}
	return err
}

// A context's timer is a one-shot of kindContext. Its callback ends the context and all contexts
// below it. The callback calls no user code and so never goes through Config.Go, but it takes long
// if very many contexts are below, so the watchdog watches it.
//
// A context timer that is still armed at Shutdown is an orphan. Nothing else would end its context,
// so Shutdown calls its callback. The callback uses IsOrphan to tell a shutdown from a deadline. So
// does the context's CancelFunc, which may run just before Shutdown gets to the callback.

// NewDeadline creates a timer that calls f, which ends a context, once after d. now is what
// [Clock.NowTime] has just returned to the caller, which saves reading the clock again.
func (eng *Engine) NewDeadline(now time.Time, d time.Duration, f func()) (Timer, error) {
	at, err := eng.checkedAt(now)
	if err != nil {
		return Timer{}, err
	}
	return eng.newTimer(kindContext, stateOneShot, pointer(f), eng.after(at, d))
}

// NilTimer returns a Timer that names no timer, for a context without one. Its Engine is eng.
func (eng *Engine) NilTimer() Timer {
	return Timer{s: (*eng.shards.Load())[0]}
}

// Engine returns the timer's engine. t must not be the zero Timer.
func (t Timer) Engine() *Engine { return t.s.eng }

// IsOrphan reports whether a NewDeadline timer was armed when the engine was shut down. It is
// called after Stop returns false, and returns true only once.
func (t Timer) IsOrphan() bool {
	return t.s.eng.closed.Load() && t.s.takeOrphan(t.h)
}

func (s *Shard) takeOrphan(h wheel.Handle) bool {
	s.mu.Lock()
	defer s.unlock()
	_, found := s.orphans[h]
	delete(s.orphans, h)
	return found
}

// collectOrphans records the armed context timers as orphans and returns their callbacks. Shutdown
// is closing the shard. The caller holds the lock.
func (s *Shard) collectOrphans() (ends []func()) {
	if !s.eng.hasContexts.Load() {
		return nil
	}
	s.orphans = map[wheel.Handle]struct{}{}
	for h, e := range s.w.All() {
		if e.kind == kindContext {
			s.orphans[h] = struct{}{}
			ends = append(ends, e.callback())
		}
	}
	return ends
}

// CheckDeadline returns the error that NewDeadline would return, or nil.
func (eng *Engine) CheckDeadline(now time.Time) error {
	if _, err := eng.checkedAt(now); err != nil {
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
