package foliot

import (
	"context"
	"runtime"
	"time"
)

// A sleeper is what a goroutine in Sleep waits for. It is used again, if it is certain
// that its timer will not ring it later.
type sleeper struct {
	ch   chan struct{} // has room for one
	wake func()
}

func newSleeper() any {
	s := &sleeper{ch: make(chan struct{}, 1)}
	s.wake = func() { s.ch <- struct{}{} }
	return s
}

// waitOut is the longest time that is waited out on the spot, as that takes less than to have
// somebody else wait.
const shortWait = time.Microsecond

// soon waits for d, from the time now on, if it is short, and tells whether d has passed. The
// clock is the system's. Who waits lets others run, as if it were asleep.
func (rt *Runtime) waitShort(now int64, d time.Duration) bool {
	return d <= shortWait && rt.spinFor(now, d)
}

func (rt *Runtime) spinFor(now int64, d time.Duration) bool {
	for d > 0 && rt.now()-now < int64(d) { // not once, or up to ten times
		runtime.Gosched()
	}
	return true
}

// Sleep pauses the calling goroutine for at least d. It returns early with the error of
// ctx when that ends, or with ErrClosed when the runtime is shut down. A sleep counts as a
// timer: Sleep returns ErrFull if there are Options.MaxTimers of them already.
//
// On a manual clock Sleep panics in a callback or a poll, unless d is 0 or less: the clock
// does not go on before that has returned.
func (rt *Runtime) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rt.closed.Load() {
		return ErrClosed
	}
	if d <= 0 {
		return nil
	}
	now, err := rt.enterToWait()
	if err != nil {
		return err
	}
	if !rt.fake && rt.waitShort(now, d) {
		runtime.Gosched() // as a sleep lets others run
		return nil
	}
	rt.mustNotBlock("Sleep")
	s := rt.sleepers.Get().(*sleeper)
	t, err := rt.afterFunc(d, s.wake, kindBrief)
	if err != nil {
		rt.sleepers.Put(s)
		return err
	}
	select {
	case <-s.ch:
		rt.sleepers.Put(s)
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-rt.done:
		err = ErrClosed
	}
	if t.Stop() {
		rt.sleepers.Put(s)
	}
	return err
}
