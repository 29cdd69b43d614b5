package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// between returns a function that returns random delays.
func between(least, most time.Duration) func() time.Duration {
	return func() time.Duration { return least + rand.N(most-least) }
}

// draws returns some delays.
func draws(n int, draw func() time.Duration) []time.Duration {
	delays := make([]time.Duration, n)
	for i := range delays {
		delays[i] = draw()
	}
	return delays
}

// oneTimer measures one timer at a time, while the process does nothing else or all processors are busy.
func oneTimer(r *run) error {
	all, done := r.filled(0, withPrecise())
	defer done()
	debug.FreeOSMemory() // otherwise the runtime would do so in the background meanwhile
	sleepInTurn(r, all, "sparse-timer", "sparse-wakeup", pick(r, 8, 60), between(50*time.Microsecond, 20*time.Millisecond))
	sleepInTurn(r, all, "short-timer", "short-wakeup", pick(r, 50, 200), between(20*time.Microsecond, 900*time.Microsecond))
	if r.measures("busy-timer") {
		defer occupy(runtime.GOMAXPROCS(0))()
		sleepInTurn(r, all, "busy-timer", "", pick(r, 3, 10), between(time.Millisecond, 20*time.Millisecond))
	}
	return nil
}

// sleepInTurn measures how late timers are, one after the other, and the processor time of a wake-up. All contenders
// have the same delays in a round.
func sleepInTurn(r *run, all []*entrant[timers], timer, wakeup string, times int, draw func() time.Duration) {
	if !r.measures(timer, wakeup) {
		return
	}
	for _, e := range all {
		_, _ = sleep(e.it, draw()) // to warm up
	}
	delays := perRound(func() []time.Duration { return draws(times, draw) })
	turns(r, r.rounds, all, func(round int, e *entrant[timers]) ([]result, error) {
		late := make([]time.Duration, 0, times)
		cpu := processCPU()
		for _, d := range delays(round) {
			l, err := sleep(e.it, d)
			if err != nil || r.ctx.Err() != nil {
				return nil, err
			}
			late = append(late, l)
		}
		used := max(float64(processCPU()-cpu), 1) / float64(times)
		results := []result{{timer, "", times, lateness(late)}}
		if wakeup != "" {
			results = append(results, result{wakeup, "", times, []value{{used, "cpu-ns/op"}}})
		}
		return results, nil
	})
}

// sleep waits for one timer and returns how late its callback was.
func sleep(t timers, d time.Duration) (late time.Duration, err error) {
	woke := make(chan time.Duration, 1)
	began := time.Now()
	if err := t.arm(d, func() { woke <- time.Since(began) - d }); err != nil {
		return 0, err
	}
	select {
	case late = <-woke:
		return late, nil
	case <-time.After(d + time.Minute):
		return 0, fmt.Errorf("a timer of %v has not fired a minute after its deadline", d)
	}
}

// occupy keeps processors busy until the function returned is called.
func occupy(procs int) (release func()) {
	var stop atomic.Bool
	var busy sync.WaitGroup
	for range procs {
		busy.Go(func() {
			for !stop.Load() {
			}
		})
	}
	return func() {
		stop.Store(true)
		busy.Wait()
	}
}

// A burst is many timers that are armed in a row and all fire soon. Each has its own callback, which is made
// beforehand. The callback reads the clock, records how late it is and counts down.
type burst struct {
	start  time.Time
	delays []time.Duration
	late   []time.Duration // first the time each timer is due, since start; after its call, how late it was
	calls  []func()
	left   atomic.Int64  // timers that have not fired
	done   chan struct{} // closed when all have fired
}

func newBurst(n int, draw func() time.Duration) *burst {
	b := &burst{start: time.Now(), delays: draws(n, draw), late: make([]time.Duration, n), calls: make([]func(), n)}
	for i := range n {
		b.calls[i] = func() {
			b.late[i] = time.Since(b.start) - b.late[i]
			if b.left.Add(-1) == 0 {
				close(b.done)
			}
		}
	}
	return b
}

// run arms all timers, waits until they have fired, and returns the time that took. b.late then holds how late they
// were.
func (b *burst) run(ctx context.Context, arm func(d time.Duration, f func()) error) (cpu, wall time.Duration, err error) {
	runtime.GC()
	b.done = make(chan struct{})
	b.left.Store(int64(len(b.calls)))
	began := time.Now()
	cpu = processCPU()
	for i, f := range b.calls {
		b.late[i] = time.Since(b.start) + b.delays[i]
		if err := arm(b.delays[i], f); err != nil {
			return 0, 0, err
		}
	}
	for {
		left := b.left.Load()
		select {
		case <-b.done:
			return processCPU() - cpu, time.Since(began), nil
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-time.After(30 * time.Second):
			if b.left.Load() == left {
				return 0, 0, fmt.Errorf("%d of %d timers have not fired in half a minute", left, len(b.calls))
			}
		}
	}
}

// turn lets a contender fire all timers once, and returns how late they were and what they cost.
func (b *burst) turn(r *run, make func() (timers, error), lateName, cpuName string) ([]result, error) {
	t, err := make()
	if err != nil {
		return nil, err
	}
	defer t.close()
	cpu, wall, err := b.run(r.ctx, t.arm)
	if err != nil {
		return nil, err
	}
	n := len(b.late)
	key := count(n)
	each := func(d time.Duration) float64 { return max(float64(d), 1) / float64(n) }
	return []result{
		{lateName, key, n, lateness(b.late)},
		{cpuName, key, n, []value{{each(cpu), "cpu-ns/op"}, {each(wall), "ns/op"}}},
	}, nil
}

// ready returns contenders that are made in their turns, and closed before the next one begins.
func ready(r *run, makers []maker[timers]) []*entrant[func() (timers, error)] {
	later := make([]maker[func() (timers, error)], len(makers))
	for i, m := range makers {
		later[i] = maker[func() (timers, error)]{m.name, always(m.make)}
	}
	return enter(r, later)
}

// thousand measures a thousand timers within a tenth of a second. Event loops have the same load.
func thousand(r *run) error {
	const least, most = time.Millisecond, 100 * time.Millisecond
	n := min(r.n, 1000)
	type turn = func(b *burst) ([]result, error)
	var makers []maker[turn]
	for _, m := range withPrecise() {
		makers = append(makers, maker[turn]{m.name, always(func(b *burst) ([]result, error) { return b.turn(r, m.make, "thousand-late", "thousand-cpu") })})
	}
	for _, m := range r.loopMakers() {
		makers = append(makers, maker[turn]{m.name, func() (turn, error) {
			l, err := m.make()
			return func(*burst) ([]result, error) {
				late, err := l.late(n, least, most)
				return []result{{"thousand-late", count(n), n, lateness(late)}}, err
			}, err
		}})
	}
	bursts := perRound(func() *burst { return newBurst(n, between(least, most)) })
	turns(r, r.rounds, enter(r, makers), func(round int, e *entrant[turn]) ([]result, error) {
		return e.it(bursts(round))
	})
	return nil
}

// bulkExpiry measures timers that fire, about one per microsecond whatever their number. The standard library starts
// a goroutine for each. Where the processors do not keep up, goroutines pile up, and a Go process never gives back
// all the memory of its goroutines.
func bulkExpiry(r *run) error {
	const soonest = 10 * time.Millisecond
	b := newBurst(r.n, between(soonest, max(time.Duration(r.n)*time.Microsecond, 5*soonest)))
	turns(r, r.few(5), ready(r, timerMakers), func(_ int, e *entrant[func() (timers, error)]) ([]result, error) {
		return b.turn(r, e.it, "bulk-late", "bulk-expiry")
	})
	return nil
}
