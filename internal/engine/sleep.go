package engine

import (
	"context"
	"runtime"
	"time"
)

// A sleeper is what a goroutine in Sleep waits on. It may be used again only after its timer
// has fired or was stopped in time. Otherwise the old timer could wake the next goroutine.
type sleeper struct {
	ch   chan struct{} // has room for one
	wake func()        // the callback of the timer. It does not block
}

func newSleeper() any {
	s := &sleeper{ch: make(chan struct{}, 1)}
	s.wake = func() { s.ch <- struct{}{} }
	return s
}

// shortWait is the longest time that the calling goroutine waits by itself. Arming a timer and
// waking the goroutine would take longer.
const shortWait = time.Microsecond

// waitShort waits until d has passed since the time now, and returns true. If d is longer than
// shortWait, it returns false at once. Other goroutines can run meanwhile, as during a sleep.
// It is only for engines on the system clock.
func (c *Clock) waitShort(now int64, d time.Duration) bool {
	return d <= shortWait && c.spinFor(now, d)
}

func (c *Clock) spinFor(now int64, d time.Duration) bool {
	for d > 0 && c.Now()-now < int64(d) { // at most about ten rounds
		runtime.Gosched()
	}
	return true
}

// Sleep pauses the calling goroutine for at least d. It returns earlier with the error of ctx
// when ctx ends, and with ErrClosed when the engine is shut down.
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
	now, err := eng.EnterToWait()
	if err != nil {
		return err
	}
	if !eng.fake && eng.waitShort(now, d) {
		runtime.Gosched() // other goroutines can run, as during a longer sleep
		return nil
	}
	eng.MustNotBlock("Sleep")
	s := eng.sleepers.Get().(*sleeper)
	t, err := eng.arm(eng.Add(now, d), pointer(s.wake), stateOneShot, kindBrief)
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
