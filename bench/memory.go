package bench

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/foliot-go/foliot/wheel"
)

// measureMemory measures what timers weigh: bytes of heap each, and what a garbage
// collection takes with all of them armed.
func measureMemory(ctx context.Context, _ Options, n int) ([]Result, error) {
	fresh := Result{Name: "bytes each, just armed", Unit: "B", Timers: n}
	churned := Result{Name: "bytes each, after re-arming all of them eight times", Unit: "B", Timers: n}
	trimmed := Result{Name: "MiB left of it with 1,000 timers, after Trim", Unit: "MiB", Timers: n}
	gc := Result{Name: "what that adds to one garbage collection", Unit: "ms", Timers: n}

	if ctx.Err() != nil {
		return nil, nil
	}
	handles := make([]wheel.Handle, n)
	before := heap()
	idle := collections()
	w := wheel.New[payload](0, 0)
	for i, at := range deadlines(n) {
		handles[i] = w.Schedule(at, payload(i))
	}
	fresh.Foliot = exactly(float64(heap()-before) / float64(n))
	gc.Foliot = collections().less(idle)
	ticks := deadlines(1 << 16)
	for i := range 8 * n {
		w.Reschedule(handles[rand.IntN(n)], ticks[i&(len(ticks)-1)])
	}
	churned.Foliot = exactly(float64(heap()-before) / float64(n))
	for _, k := range rand.Perm(n)[:max(0, n-1000)] {
		w.Cancel(handles[k])
	}
	w.Trim(math.MaxInt)
	trimmed.Foliot = exactly(float64(heap()-before) / (1 << 20))
	runtime.KeepAlive(w)
	runtime.KeepAlive(handles)
	if ctx.Err() != nil {
		return []Result{churned, trimmed}, nil
	}

	timers := make([]*time.Timer, n)
	before = heap()
	idle = collections()
	for i, at := range deadlines(n) {
		timers[i] = time.AfterFunc(after(at), nothing)
	}
	fresh.Std = exactly(float64(heap()-before) / float64(n))
	gc.Std = collections().less(idle)
	stopStd(timers)

	fresh.Ratio = exactly(fresh.Std.Median / fresh.Foliot.Median)
	return []Result{fresh, churned, trimmed, gc}, nil
}

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// collections returns how long garbage collections take, in milliseconds.
func collections() Spread {
	var took []float64
	for range 5 {
		start := time.Now()
		runtime.GC()
		took = append(took, float64(time.Since(start).Microseconds())/1e3)
	}
	return spread(took)
}
