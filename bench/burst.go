package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A burst is timers that are registered in one go and all fire soon. Each has a callback
// of its own, made beforehand, that reads the clock, writes down how late it is and
// counts.
type burst struct {
	start  time.Time
	delays []time.Duration
	late   []time.Duration // when each is due, since start; then how late it was
	calls  []func()
	left   atomic.Int64
	done   chan struct{}
}

// soonest is the least delay of a timer in a burst.
const soonest = 10 * time.Millisecond

func newBurst(n int, latest time.Duration) *burst {
	b := &burst{
		start:  time.Now(),
		delays: make([]time.Duration, n),
		late:   make([]time.Duration, n),
		calls:  make([]func(), n),
	}
	for i := range n {
		b.delays[i] = soonest + rand.N(latest-soonest)
		b.calls[i] = func() {
			b.late[i] = time.Since(b.start) - b.late[i]
			if b.left.Add(-1) == 0 {
				close(b.done)
			}
		}
	}
	return b
}

// A toll is what bursts took one contender, round by round.
type toll struct {
	cpu, median, p99, most, early []float64
}

// run has all timers armed and fire once.
func (b *burst) run(ctx context.Context, t *toll, arm func(d time.Duration, f func()) error) error {
	runtime.GC()
	b.done = make(chan struct{})
	b.left.Store(int64(len(b.calls)))
	cpu := processCPU()
	for i, f := range b.calls {
		b.late[i] = time.Since(b.start) + b.delays[i]
		if err := arm(b.delays[i], f); err != nil {
			return err
		}
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Minute):
		return fmt.Errorf("%d timers have not fired", b.left.Load())
	}
	t.cpu = append(t.cpu, max(float64((processCPU()-cpu).Microseconds()), 1)/1e3)
	late := make([]float64, len(b.late))
	early := 0
	for i, d := range b.late {
		if d < 0 {
			early++
		}
		late[i] = float64(d.Nanoseconds()) / 1e6
	}
	late = sorted(late)
	t.median = append(t.median, quantile(late, 0.5))
	t.p99 = append(t.p99, quantile(late, 0.99))
	t.most = append(t.most, quantile(late, 1))
	t.early = append(t.early, float64(early))
	return nil
}

// measureBurst measures timers that fire, as many in each microsecond whatever their
// number. The standard library starts a goroutine for each; where it does not keep up,
// they pile up, and a process never gives back the memory of the most it has had.
func measureBurst(ctx context.Context, o Options, n int) ([]Result, error) {
	latest := max(time.Duration(n)*time.Microsecond, 5*soonest)
	b := newBurst(n, latest)
	var std, ours toll
	var err error
	for range o.few() {
		err = b.run(ctx, &std, func(d time.Duration, f func()) error {
			time.AfterFunc(d, f)
			return nil
		})
		if err != nil {
			break
		}
		if err = b.runFoliot(ctx, &ours); err != nil {
			break
		}
	}
	if errors.Is(err, ctx.Err()) {
		err = nil // Run says so
	}
	row := func(name, unit string, a, b []float64) Result {
		r := Result{Name: name, Unit: unit, Timers: n, Std: spread(a), Foliot: spread(b), Ratio: spread(ratios(a, b))}
		r.Group = fmt.Sprintf("%d timers, all due in %v to %v", n, soonest, latest)
		return r
	}
	return []Result{
		row("processor time in all", "ms", std.cpu, ours.cpu),
		row("late by, median", "ms", std.median, ours.median),
		row("late by, 99 of 100 less than", "ms", std.p99, ours.p99),
		row("late by, at most", "ms", std.most, ours.most),
		row("fired early", "", std.early, ours.early),
	}, err
}

func (b *burst) runFoliot(ctx context.Context, t *toll) error {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	defer shutdown(rt)
	return b.run(ctx, t, func(d time.Duration, f func()) error {
		_, err := rt.AfterFunc(d, f)
		return err
	})
}
