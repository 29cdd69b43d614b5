package foliot

import (
	"context"
	"time"
)

// A sleeper is what a goroutine in Sleep waits for. It is used again, if it is certain
// that its timer will not ring it later.
type sleeper struct {
	bell chan struct{} // has room for one
	ring func()
}

func newSleeper() any {
	s := &sleeper{bell: make(chan struct{}, 1)}
	s.ring = func() { s.bell <- struct{}{} }
	return s
}

// Sleep pauses the calling goroutine for at least d. It returns early with the error of
// ctx when that ends, or with ErrClosed when the runtime is shut down.
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
	if rt.now() < 0 {
		return errBubble // before a channel is made that belongs to the bubble
	}
	s := rt.sleepers.Get().(*sleeper)
	t, err := rt.AfterFunc(d, s.ring)
	if err != nil {
		rt.sleepers.Put(s)
		return err
	}
	select {
	case <-s.bell:
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
