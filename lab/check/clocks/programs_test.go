package clocks

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/foliot-go/foliot/clock"
	"github.com/foliot-go/foliot/internal/testkit"
	"github.com/jonboulle/clockwork"
)

// The programs in this file take a clock, as programs that use clockwork do.

// A poller calls poll at regular intervals until its context ends.
type poller[T timer, K ticker] struct {
	clock clocked[T, K]
	every time.Duration
	poll  func()
}

func (p *poller[T, K]) run(ctx context.Context) {
	ticker := p.clock.NewTicker(p.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.Chan():
			p.poll()
		}
	}
}

func testPoller[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	ctx, cancel := context.WithCancel(t.Context())
	polled := make(chan struct{})
	p := &poller[T, K]{fc, time.Minute, func() { polled <- struct{}{} }}
	var wg sync.WaitGroup
	wg.Go(func() { p.run(ctx) })
	block(t, fc, 1)
	for range 3 {
		fc.Advance(time.Minute)
		testkit.Receive(t, polled, "a poll")
	}
	cancel()
	wg.Wait()
}

// A debouncer calls f when it has not been touched for some time.
type debouncer[T timer, K ticker] struct {
	clock clocked[T, K]
	quiet time.Duration
	f     func()

	mu    sync.Mutex
	timer T
	armed bool
}

func (d *debouncer[T, K]) touch() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed {
		d.timer.Reset(d.quiet)
		return
	}
	d.timer, d.armed = d.clock.AfterFunc(d.quiet, d.f), true
}

func testDebouncer[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	called := make(chan bool, 10)
	d := &debouncer[T, K]{clock: fc, quiet: time.Second, f: func() { called <- true }}
	for range 5 {
		d.touch()
		fc.Advance(900 * time.Millisecond)
	}
	wantNothing(t, "while it is touched", called)
	fc.Advance(100 * time.Millisecond)
	testkit.Receive(t, called, "the call")
	fc.Advance(time.Hour)
	wantNothing(t, "later", called)
}

// A cache has one value, which is valid for some time.
type cache[T timer, K ticker] struct {
	clock clocked[T, K]
	valid time.Duration
	load  func() int

	value  int
	loaded time.Time
}

func (c *cache[T, K]) get() int {
	if c.loaded.IsZero() || c.clock.Since(c.loaded) >= c.valid {
		c.value, c.loaded = c.load(), c.clock.Now()
	}
	return c.value
}

func testCache[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	loads := 0
	c := &cache[T, K]{clock: fc, valid: time.Minute, load: func() int { loads++; return loads }}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {59 * time.Second, 1}, {time.Second, 2}, {time.Hour, 3}, {0, 3}} {
		fc.Advance(step.after)
		if got := c.get(); got != step.want {
			t.Errorf("%v later the value is %d, want %d", step.after, got, step.want)
		}
	}
}

// retry calls f until it succeeds, and waits twice as long after each failure.
func retry[T timer, K ticker](c clocked[T, K], f func() error) (attempts int) {
	for wait := time.Second; ; wait *= 2 {
		attempts++
		if f() == nil {
			return attempts
		}
		c.Sleep(wait)
	}
}

func testRetry[F fake[T, K], T timer, K ticker](t *testing.T, fc F) {
	began := fc.Now()
	done := testkit.Async(func() int {
		return retry[T, K](fc, func() error {
			if fc.Since(began) < 7*time.Second {
				return errors.New("not yet")
			}
			return nil
		})
	})
	for _, wait := range []time.Duration{1, 2, 4} {
		block(t, fc, 1)
		fc.Advance(wait * time.Second)
	}
	if n := testkit.Receive(t, done, "the retry"); n != 4 {
		t.Errorf("%d attempts, want 4", n)
	}
}

// clockwork makes contexts by functions, and package clock by methods. So here the call differs, too.
func TestContextsOnBothClocks(t *testing.T) {
	t.Run("clockwork", func(t *testing.T) {
		testContext(t, clockwork.NewFakeClock(), func(fc *clockwork.FakeClock, parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
			return clockwork.WithTimeout(parent, fc, d)
		})
	})
	t.Run("clock", func(t *testing.T) {
		testContext(t, clock.NewFake(), (*clock.Fake).WithTimeout)
	})
}

func testContext[F fake[T, K], T timer, K ticker](
	t *testing.T, fc F, withTimeout func(F, context.Context, time.Duration) (context.Context, context.CancelFunc),
) {
	ctx, cancel := withTimeout(fc, t.Context(), time.Minute)
	defer cancel()
	if at, ok := ctx.Deadline(); !ok || !at.Equal(fc.Now().Add(time.Minute)) {
		t.Errorf("the deadline is %v, %v", at, ok)
	}
	block(t, fc, 1)
	fc.Advance(59 * time.Second)
	wantNothing(t, "before the deadline", ctx.Done())
	fc.Advance(time.Second)
	testkit.Receive(t, ctx.Done(), "the deadline")
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("Err is %v, want DeadlineExceeded", ctx.Err())
	}
	cancelled, cancel := withTimeout(fc, t.Context(), time.Minute)
	cancel()
	testkit.Receive(t, cancelled.Done(), "the end")
	if !errors.Is(cancelled.Err(), context.Canceled) {
		t.Errorf("Err is %v, want Canceled", cancelled.Err())
	}
}
