package main

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// sharing measures timers that compete for a worker: with each other, because one goroutine armed all of them, and with
// tasks that are always ready.
func sharing(r *run) error {
	if r.measures("accept-loop", "accept-late") {
		for _, workers := range pick(r, []int{2, 4}, []int{1, 2, 4, 8}) {
			acceptLoop(r, workers)
		}
	}
	if r.measures("beside-tasks") {
		return besideTasks(r)
	}
	return nil
}

// acceptLoop measures timers that one goroutine arms for everybody, as the accept loop of a server does. All of them
// are due at almost the same time, and each callback computes for a while.
func acceptLoop(r *run, workers int) {
	const computing = 20 * time.Microsecond
	n := min(r.n/5, pick(r, 2000, 20_000))
	makers := []maker[timers]{
		{"std", stdTimers},
		{"foliot", func() (timers, error) { return runtimeTimers(foliot.Options{Workers: workers}) }},
	}
	key := fmt.Sprintf("workers=%d/%s", workers, count(n))
	b := newBurst(n, between(50*time.Millisecond, 51*time.Millisecond))
	for i, f := range b.calls {
		b.calls[i] = func() { compute(computing); f() }
	}
	turns(r, r.few(5), ready(r, makers), func(_ int, e *entrant[func() (timers, error)]) ([]result, error) {
		t, err := e.it()
		if err != nil {
			return nil, err
		}
		defer t.close()
		cpu, wall, err := b.run(r.ctx, t.arm)
		if err != nil {
			return nil, err
		}
		wall -= 50 * time.Millisecond
		return []result{
			{"accept-loop", key, n, []value{{float64(wall) / float64(n), "ns/op"}, {float64(cpu) / float64(n), "cpu-ns/op"}}},
			{"accept-late", key, n, lateness(b.late)},
		}, nil
	})
}

// compute keeps the processor busy.
func compute(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}

// besideTasks measures how late timers are while four hundred tasks, or goroutines, always have something to do.
func besideTasks(r *run) error {
	const computing, busy = 10 * time.Microsecond, 400
	n := min(r.n, 2000)
	start := map[string]func(rt *foliot.Runtime, stop *atomic.Bool) error{
		"std": func(_ *foliot.Runtime, stop *atomic.Bool) error {
			for range busy {
				go func() {
					for !stop.Load() {
						compute(computing)
						runtime.Gosched()
					}
				}()
			}
			return nil
		},
		"foliot": func(rt *foliot.Runtime, stop *atomic.Bool) error {
			for range busy {
				_, err := rt.Spawn(foliot.TaskFunc(func(cx *foliot.Context) foliot.Status {
					if stop.Load() {
						return foliot.Done
					}
					compute(computing)
					cx.Handle().Wake()
					return foliot.Pending
				}))
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	all := enter(r, []maker[string]{{"std", always("std")}, {"foliot", always("foliot")}})
	bursts := perRound(func() *burst { return newBurst(n, between(time.Millisecond, 100*time.Millisecond)) })
	turns(r, r.few(5), all, func(round int, e *entrant[string]) ([]result, error) {
		rt, err := foliot.New(foliot.Options{})
		if err != nil {
			return nil, err
		}
		defer shutdown(rt)
		var stop atomic.Bool
		defer stop.Store(true)
		if err := start[e.name](rt, &stop); err != nil {
			return nil, err
		}
		arm := func(d time.Duration, f func()) error { _, err := rt.AfterFunc(d, f); return err }
		if e.name == "std" {
			arm = func(d time.Duration, f func()) error { time.AfterFunc(d, f); return nil }
		}
		b := bursts(round)
		if _, _, err := b.run(r.ctx, arm); err != nil {
			return nil, err
		}
		return []result{{"beside-tasks", count(n), n, lateness(b.late)}}, nil
	})
	return nil
}
