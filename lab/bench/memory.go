package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// memory measures the heap of armed timers, the work that they are for the garbage collector, and the processor time
// of a process in which none is due.
func memory(r *run) error {
	all := ready(r, timerMakers)
	if r.measures("timer-memory") {
		// One round, small sizes first: the standard library keeps the largest array it had.
		for _, n := range pick(r, []int{r.n / 10, r.n}, []int{r.n / 100, r.n / 10, r.n}) {
			turns(r, 1, all, func(_ int, e *entrant[func() (timers, error)]) ([]result, error) {
				f, err := armedFootprint(e.it, max(n, 1))
				return []result{{"timer-memory", count(n), n, []value{{f.bytes, "B/timer"}}}}, err
			})
		}
	}
	if r.measures("gc") {
		turns(r, r.few(4), all, func(_ int, e *entrant[func() (timers, error)]) ([]result, error) {
			f, err := armedFootprint(e.it, r.n)
			return []result{{"gc", count(r.n), 1, []value{{f.gc, "cpu-ns/gc"}, {f.gcWithHandles, "with-handles-cpu-ns/gc"}}}}, err
		})
	}
	if r.measures("idle") {
		n := min(r.n, 100_000)
		span := min(time.Duration(n)*10*time.Microsecond, pick(r, 150*time.Millisecond, time.Second))
		turns(r, r.few(4), all, func(_ int, e *entrant[func() (timers, error)]) ([]result, error) {
			t, err := e.it()
			if err != nil {
				return nil, err
			}
			defer t.close()
			if failed := t.fill(n); failed != 0 {
				return nil, failedOps(failed, n)
			}
			percent, err := idleCPU(r.ctx, span)
			return []result{{"idle", count(n), 1, []value{{max(percent, 0.001), "cpu-%"}}}}, err
		})
	}
	return nil
}

// armedFootprint returns the footprint of n timers of a contender.
func armedFootprint(make func() (timers, error), n int) (f footprint, err error) {
	t, err := make()
	if err != nil {
		return f, err
	}
	defer t.close()
	if failed := t.measureFootprint(&f, n); failed != 0 {
		err = failedOps(failed, n)
	}
	return f, err
}

// A footprint is what armed timers cost while nothing happens.
type footprint struct {
	bytes         float64 // per timer, without the handle
	gc            float64 // nanoseconds of processor time added to a collection, without the handles
	gcWithHandles float64 // the same with the handles
}

// measureFootprint arms n timers, sets f to what the heap has grown by, and returns the handles. To leave out the
// memory of the handles, which a program may or may not keep, it first measures the heap with n handles that all
// belong to one timer.
func measureFootprint[T any](f *footprint, n int, arm func([]T)) []T {
	waitForSteadyHeap()
	bare := gcTime()
	handles := make([]T, n)
	arm(handles[:1])
	for i := range handles {
		handles[i] = handles[0]
	}
	named, before := gcTime(), heapBytes()
	arm(handles[1:])
	armed, after := gcTime(), heapBytes()
	f.bytes = float64(max(after-before, 1)) / float64(n)
	f.gc = max(armed-named, 0)
	f.gcWithHandles = max(armed-bare, 0)
	return handles
}

// gcTime returns the processor time of a garbage collection, in nanoseconds.
func gcTime() float64 {
	var took []float64
	for range 5 {
		cpu := processCPU()
		runtime.GC()
		took = append(took, float64(processCPU()-cpu))
	}
	return median(took)
}

// waitForSteadyHeap waits until the memory of earlier contenders is gone. A runtime of Foliot gives memory back
// little by little.
func waitForSteadyHeap() {
	for before := heapBytes(); ; {
		time.Sleep(5 * time.Millisecond)
		after := heapBytes()
		if after > before-4<<10 {
			return
		}
		before = after
	}
}

// heapBytes returns the bytes of heap in use after a collection.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// idleCPU sleeps for span and returns the processor time of the process meanwhile, in percent of one processor.
func idleCPU(ctx context.Context, span time.Duration) (float64, error) {
	debug.FreeOSMemory() // otherwise the runtime would do so in the background meanwhile
	cpu := processCPU()
	began := time.Now()
	select {
	case <-time.After(span):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return 100 * float64(processCPU()-cpu) / float64(time.Since(began)), nil
}
