package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/foliot-go/foliot"
)

// measureArmed measures what timers weigh that are merely armed: bytes of heap, and
// work for the garbage collector.
func measureArmed(ctx context.Context, o Options, n int) ([]Result, error) {
	var std, ours weight
	pool := delays()
	for range o.few() {
		if ctx.Err() != nil {
			break
		}
		stopStd(weigh(&std, n, func(timers []*time.Timer) { armStd(timers, pool) }))

		rt, err := foliot.New(foliot.Options{})
		if err != nil {
			return nil, err
		}
		lost := 0
		weigh(&ours, n, func(timers []foliot.Timer) { lost += armFoliot(rt, timers, pool) })
		shutdown(rt)
		if lost != 0 {
			return nil, fmt.Errorf("%d of %d timers could not be armed", lost, n)
		}
	}
	row := func(name, unit string, a, b []float64) Result {
		return Result{
			Group: fmt.Sprintf("%d timers armed", n), Name: name, Unit: unit, Timers: n,
			Std: spread(a), Foliot: spread(b), Ratio: spread(ratios(a, b)),
		}
	}
	return []Result{
		row("bytes each, with the callback", "B", std.bytes, ours.bytes),
		row("added to a garbage collection, processor time", "ms", std.gc, ours.gc),
		row("added to a garbage collection, handles included", "ms", std.all, ours.all),
	}, nil
}

// A weight is what timers weigh, by round.
type weight struct {
	bytes []float64 // each, without the handle
	gc    []float64 // milliseconds of processor time in one collection, without the handles
	all   []float64 // and with them
}

// weigh arms n timers and measures what the heap has more of afterwards. It returns
// their handles. Before, as many handles are there already, but all name one timer: so
// what the handles weigh, which the program may or may not keep, is told apart.
func weigh[T any](w *weight, n int, arm func([]T)) []T {
	bare := collecting()
	handles := make([]T, n)
	arm(handles[:1])
	for i := range handles {
		handles[i] = handles[0]
	}
	named, before := collecting(), heap()
	arm(handles[1:])
	armed, after := collecting(), heap()
	w.bytes = append(w.bytes, float64(max(after-before, 1))/float64(n))
	w.gc = append(w.gc, armed.less(named).Median)
	w.all = append(w.all, armed.less(bare).Median)
	return handles
}

// collecting returns the processor time of garbage collections, in milliseconds.
func collecting() Spread {
	var took []float64
	for range 5 {
		cpu := processCPU()
		runtime.GC()
		took = append(took, float64((processCPU()-cpu).Nanoseconds())/1e6)
	}
	return spread(took)
}

// measureIdle measures what a process does that has timers armed and none due.
func measureIdle(ctx context.Context, _ Options, n int) ([]Result, error) {
	n = min(n, 100_000)
	span := time.Duration(n) * 20 * time.Microsecond
	pool := delays()

	timers := make([]*time.Timer, n)
	armStd(timers, pool)
	std, err := idle(ctx, span)
	stopStd(timers)
	if err != nil {
		return nil, nil // Run says so
	}

	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return nil, err
	}
	defer shutdown(rt)
	if lost := armFoliot(rt, make([]foliot.Timer, n), pool); lost != 0 {
		return nil, fmt.Errorf("%d of %d timers could not be armed", lost, n)
	}
	ours, err := idle(ctx, span)
	if err != nil {
		return nil, nil
	}
	return []Result{{
		Group: fmt.Sprintf("%d timers armed for an hour ahead", n), Name: fmt.Sprintf("processor time while idle for %v", span), Unit: "%", Timers: n,
		Std: exactly(std), Foliot: exactly(ours),
	}}, nil
}

// idle does nothing for a while and returns the share of a processor that it took, in
// percent.
func idle(ctx context.Context, span time.Duration) (float64, error) {
	debug.FreeOSMemory() // else that is done bit by bit, meanwhile
	cpu := processCPU()
	began := time.Now()
	select {
	case <-time.After(span):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return 100 * float64(processCPU()-cpu) / float64(time.Since(began)), nil
}
