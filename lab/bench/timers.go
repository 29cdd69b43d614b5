package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/lab/bench/internal/heap"
	dropin "github.com/foliot-go/foliot/time"
)

// timers is a contender that calls functions after a delay. Each method runs a whole loop of operations, rather
// than one, so that handles do not pass through an interface, which would allocate for large handles.
//
// Indexes are those of outstanding timers, which fill has armed. Results count the operations that failed.
type timers interface {
	arm(d time.Duration, f func()) error                // arm one timer that fires
	fill(n int) (failed int)                            // arm n more outstanding timers, one to two hours ahead
	armAndStop(from, to int) (failed int)               // arm a timer and stop it at once
	requests(from, to int) (failed int)                 // the same, but every thousandth fires after a millisecond
	reset(indexes []int, d time.Duration) (failed int)  // reset outstanding timers
	resetAt(indexes []int, when time.Time) (failed int) // the same, with the new deadline given as a time
	stop(indexes []int) (failed int)                    // stop outstanding timers, each once
	refill(indexes []int) (failed int)                  // arm others in the places of stopped ones
	handOver(ops int) (failed int)                      // arm on one goroutine, stop on another
	register(ops int) (failed int)                      // arm in a row, in batches where the contender has them
	unregister(ops int) (failed int)                    // stop the timers that register has armed
	measureFootprint(f *footprint, n int) (failed int)  // arm n outstanding timers and measure their memory
	close()
}

// timerFuncs are the operations of a contender whose handles are of type H. newTimerSet makes timers of them.
type timerFuncs[H any] struct {
	afterFunc func(d time.Duration, f func()) (H, error)
	stop      func(H) bool
	reset     func(H, time.Duration) bool
	resetAt   func(H, time.Time) bool
	batch     func(dst []H, calls []foliot.Call) ([]H, error) // nil: not supported, timers are registered one by one
	close     func()                                          // nil: there is nothing to close
}

// A timerSet implements timers.
type timerSet[H any] struct {
	funcs       timerFuncs[H]
	outstanding []H             // armed by fill
	registered  []H             // armed by register
	delays      []time.Duration // random
	calls       []foliot.Call   // one for each of delays
}

// farAhead is the shortest delay of outstanding timers. None of them comes due during a measurement.
const farAhead = time.Hour

func newTimerSet[H any](f timerFuncs[H]) timers {
	return &timerSet[H]{funcs: f, delays: randomDelays()}
}

// randomDelays returns 65,536 random delays of one to two hours.
func randomDelays() []time.Duration {
	d := make([]time.Duration, 1<<16)
	for i := range d {
		d[i] = farAhead + rand.N(farAhead)
	}
	return d
}

func noop() {}

func (t *timerSet[H]) delay(i int) time.Duration { return t.delays[i&(len(t.delays)-1)] }

func (t *timerSet[H]) arm(d time.Duration, f func()) error {
	_, err := t.funcs.afterFunc(d, f)
	return err
}

// armAll arms a timer for every handle. Several goroutines do so, because the standard library and others keep the
// timers of each processor apart.
func (t *timerSet[H]) armAll(handles []H) (failed int) {
	return parallel(4*runtime.GOMAXPROCS(0), len(handles), func(from, to int) (failed int) {
		for i := from; i < to; i++ {
			h, err := t.funcs.afterFunc(t.delay(i), noop)
			if err != nil {
				failed++
			}
			handles[i] = h
		}
		return failed
	})
}

func (t *timerSet[H]) fill(n int) (failed int) {
	before := len(t.outstanding)
	t.outstanding = append(t.outstanding, make([]H, n)...)
	return t.armAll(t.outstanding[before:])
}

func (t *timerSet[H]) armAndStop(from, to int) (failed int) {
	for i := from; i < to; i++ {
		if h, err := t.funcs.afterFunc(t.delay(i), noop); err != nil || !t.funcs.stop(h) {
			failed++
		}
	}
	return failed
}

func (t *timerSet[H]) requests(from, to int) (failed int) {
	for i := from; i < to; i++ {
		d := t.delay(i)
		slow := i%1000 == 999
		if slow {
			d = time.Millisecond
		}
		if h, err := t.funcs.afterFunc(d, noop); err != nil || !slow && !t.funcs.stop(h) {
			failed++
		}
	}
	return failed
}

func (t *timerSet[H]) reset(indexes []int, d time.Duration) (failed int) {
	for _, k := range indexes {
		if !t.funcs.reset(t.outstanding[k], d) {
			failed++
		}
	}
	return failed
}

func (t *timerSet[H]) resetAt(indexes []int, when time.Time) (failed int) {
	for _, k := range indexes {
		if !t.funcs.resetAt(t.outstanding[k], when) {
			failed++
		}
	}
	return failed
}

func (t *timerSet[H]) stop(indexes []int) (failed int) {
	for _, k := range indexes {
		if !t.funcs.stop(t.outstanding[k]) {
			failed++
		}
	}
	return failed
}

func (t *timerSet[H]) refill(indexes []int) (failed int) {
	for i, k := range indexes {
		h, err := t.funcs.afterFunc(t.delay(i), noop)
		if err != nil {
			failed++
		}
		t.outstanding[k] = h
	}
	return failed
}

func (t *timerSet[H]) handOver(ops int) (failed int) {
	return handOver(ops, func(i int) H { h, _ := t.funcs.afterFunc(t.delay(i), noop); return h }, t.funcs.stop)
}

// batchSize is the number of timers registered in one call.
const batchSize = 1000

func (t *timerSet[H]) register(ops int) (failed int) {
	if cap(t.registered) < ops {
		t.registered = make([]H, 0, ops)
	}
	t.registered = t.registered[:0]
	if t.funcs.batch == nil {
		for i := range ops {
			h, err := t.funcs.afterFunc(t.delay(i), noop)
			if err != nil {
				failed++
			}
			t.registered = append(t.registered, h)
		}
		return failed
	}
	if t.calls == nil {
		for _, d := range t.delays {
			t.calls = append(t.calls, foliot.Call{After: d, Func: noop})
		}
	}
	for len(t.registered) < ops {
		size := min(batchSize, ops-len(t.registered))
		from := len(t.registered) % (len(t.calls) - batchSize)
		var err error
		if t.registered, err = t.funcs.batch(t.registered, t.calls[from:from+size]); err != nil {
			return ops - len(t.registered)
		}
	}
	return 0
}

func (t *timerSet[H]) unregister(ops int) (failed int) {
	for _, h := range t.registered[:ops] {
		if !t.funcs.stop(h) {
			failed++
		}
	}
	clear(t.registered)
	return failed
}

func (t *timerSet[H]) measureFootprint(f *footprint, n int) (failed int) {
	all := measureFootprint(f, n, func(handles []H) { failed += t.armAll(handles) })
	t.outstanding = append(t.outstanding, all...)
	return failed
}

func (t *timerSet[H]) close() {
	for _, h := range t.outstanding {
		t.funcs.stop(h)
	}
	t.outstanding = nil
	if t.funcs.close != nil {
		t.funcs.close()
	}
	settle()
}

// settle gives every processor time to schedule. The standard library keeps a stopped timer until the P that owns
// it removes it.
func settle() {
	parallel(4*runtime.GOMAXPROCS(0), 1, func(int, int) int {
		for range 1000 {
			runtime.Gosched()
		}
		return 0
	})
}

// timerMakers make the contenders that call functions after a delay.
var timerMakers = []maker[timers]{
	{"std", stdTimers},
	{"foliot", func() (timers, error) { return runtimeTimers(foliot.Options{}) }},
	{"drop-in", dropInTimers},
	{"heap", heapTimers},
}

// withPrecise adds a runtime with Options.Precise, for benchmarks of lateness.
func withPrecise() []maker[timers] {
	precise := maker[timers]{"precise", func() (timers, error) { return runtimeTimers(foliot.Options{Precise: true}) }}
	return append(slices.Clone(timerMakers), precise)
}

// filled returns the contenders, each with n outstanding timers. done closes them.
func (r *run) filled(n int, makers []maker[timers]) (all []*entrant[timers], done func()) {
	all = enter(r, makers)
	for _, e := range all {
		if failed := e.it.fill(n); failed != 0 {
			e.out = true
			r.note(r.scenario+"/"+e.name, failedOps(failed, n))
		}
	}
	return all, func() {
		for _, e := range all {
			e.it.close()
		}
	}
}

func stdTimers() (timers, error) {
	return newTimerSet(timerFuncs[*time.Timer]{
		afterFunc: func(d time.Duration, f func()) (*time.Timer, error) { return time.AfterFunc(d, f), nil },
		stop:      (*time.Timer).Stop,
		reset:     (*time.Timer).Reset,
		resetAt:   func(t *time.Timer, when time.Time) bool { return t.Reset(time.Until(when)) },
	}), nil
}

func runtimeTimers(o foliot.Options) (timers, error) {
	rt, err := foliot.New(o)
	if err != nil {
		return nil, err
	}
	return newTimerSet(timerFuncs[foliot.Timer]{
		afterFunc: rt.AfterFunc,
		stop:      foliot.Timer.Stop,
		reset:     foliot.Timer.Reset,
		resetAt:   foliot.Timer.ResetAt,
		batch:     rt.AfterFuncBatch,
		close:     func() { shutdown(rt) },
	}), nil
}

// shutdown ends a runtime. All callbacks here are short, so it does not wait for long.
func shutdown(rt *foliot.Runtime) {
	if _, err := rt.Shutdown(context.Background()); err != nil {
		panic(err) // the context does not end
	}
}

func dropInTimers() (timers, error) {
	return newTimerSet(timerFuncs[*dropin.Timer]{
		afterFunc: func(d time.Duration, f func()) (*dropin.Timer, error) { return dropin.AfterFunc(d, f), nil },
		stop:      (*dropin.Timer).Stop,
		reset:     (*dropin.Timer).Reset,
		resetAt:   func(t *dropin.Timer, when time.Time) bool { return t.Reset(time.Until(when)) },
	}), nil
}

func heapTimers() (timers, error) {
	h := heap.New()
	return newTimerSet(timerFuncs[*heap.Timer]{
		afterFunc: func(d time.Duration, f func()) (*heap.Timer, error) { return h.AfterFunc(d, f), nil },
		stop:      h.Stop,
		reset:     h.Reset,
		resetAt:   func(t *heap.Timer, when time.Time) bool { return h.Reset(t, time.Until(when)) },
		close:     h.Close,
	}), nil
}
