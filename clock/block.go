package clock

import (
	"context"
	"slices"
	"sync"
)

// blockers has the goroutines that wait in BlockUntil and BlockUntilContext. A goroutine that arms
// something on the clock calls armed afterwards, which looks at them. A goroutine that begins to wait
// counts and enters the list without unlocking mu in between. So one of the two finds that there are
// enough.
type blockers struct {
	mu  sync.Mutex
	all []*blocker // protected by mu
}

// A blocker is a goroutine that waits.
type blocker struct {
	n     int           // until so many wait on the clock
	ready chan struct{} // closed when they do
}

// Waiters returns how many wait on the clock. A timer that is armed, a ticker that is not stopped, a
// goroutine in Sleep, a channel of After on which nothing was sent, and a context with a deadline that
// has not ended count one each.
func (f *Fake) Waiters() int { return f.eng.Waiting() }

// BlockUntil waits until at least n wait on the clock, counted as in [Fake.Waiters]. A test calls it
// before Advance, so that the goroutines that it tests have come to wait.
func (f *Fake) BlockUntil(n int) {
	if err := f.BlockUntilContext(context.Background(), n); err != nil {
		panic(err)
	}
}

// BlockUntilContext is BlockUntil, and returns the error of ctx if ctx ends first. It also returns an
// error if it would wait in a synctest bubble to which the clock does not belong.
func (f *Fake) BlockUntilContext(ctx context.Context, n int) error {
	b, err := f.newBlocker(n)
	if b == nil {
		return err
	}
	select {
	case <-b.ready:
		return nil
	case <-ctx.Done():
		f.waits.remove(b)
		return ctx.Err()
	}
}

// newBlocker returns nil if n wait on the clock already, or if the caller cannot wait.
func (f *Fake) newBlocker(n int) (*blocker, error) {
	f.waits.mu.Lock()
	defer f.waits.mu.Unlock()
	if f.Waiters() >= n {
		return nil, nil
	}
	if _, err := f.eng.EnterToWait(); err != nil {
		return nil, err
	}
	b := &blocker{n, make(chan struct{})}
	f.waits.all = append(f.waits.all, b)
	return b, nil
}

func (w *blockers) remove(b *blocker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = slices.DeleteFunc(w.all, func(other *blocker) bool { return other == b })
}

// armed wakes the goroutines in BlockUntil that have waited for as many as there are now.
func (f *Fake) armed() {
	f.waits.mu.Lock()
	defer f.waits.mu.Unlock()
	if len(f.waits.all) == 0 {
		return
	}
	n := f.Waiters()
	f.waits.all = slices.DeleteFunc(f.waits.all, func(b *blocker) bool {
		if b.n > n {
			return false
		}
		close(b.ready)
		return true
	})
}
