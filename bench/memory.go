package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// memory measures the bytes of heap that armed timers take.
func memory(s *scenarioRun) error {
	sizes := []int{max(s.n/10, 1), s.n}
	if s.opts.Full {
		sizes = []int{max(s.n/100, 1), max(s.n/10, 1), s.n}
	}
	bytes := s.measure("bytes each, with the callback", "B").main()
	for _, n := range sizes { // one round, small sizes first: the standard library keeps the largest array it had
		s.eachFootprint(n, func(name string, f footprint) { bytes.add(name, n, f.bytes...) })
	}
	s.plot(Plot{
		Name: PlotMemory, Title: "Memory of an armed timer", X: Axis{Label: "armed timers", Log: true}, Y: Axis{Label: "bytes each", Unit: "B"},
		Series: bytes.series(),
	})
	return nil
}

// collections measures how much work armed timers are for the garbage collector.
func collections(s *scenarioRun) error {
	bare := s.measure("added to a garbage collection: CPU", "ms").main()
	all := s.measure("added to a garbage collection, handles included: CPU", "ms")
	for range s.fewRounds() {
		s.eachFootprint(s.n, func(name string, f footprint) {
			bare.add(name, s.n, f.gc...)
			all.add(name, s.n, f.gcWithHandles...)
		})
	}
	return nil
}

// eachFootprint lets the contenders arm n timers, one contender after the other, and calls add with the result of
// each.
func (s *scenarioRun) eachFootprint(n int, add func(name string, f footprint)) {
	for _, c := range contenders {
		if c.timers == nil || !s.opts.wants(c) || !notVariant(c) || s.ctx.Err() != nil {
			continue
		}
		if c.maxTimers > 0 && n > c.maxTimers {
			s.fail(c.Name, n, fmt.Errorf("%s", c.maxTimersReason))
			continue
		}
		t, err := c.timers()
		if err != nil {
			s.fail(c.Name, n, err)
			continue
		}
		var f footprint
		if failed := t.measureFootprint(&f, n); failed != 0 {
			s.fail(c.Name, n, failedOpsError{failed, n})
		} else {
			add(c.Name, f)
		}
		t.close()
	}
}

// A footprint is what armed timers cost while nothing happens, by round.
type footprint struct {
	bytes         []float64 // bytes per timer, without the handle
	gc            []float64 // milliseconds of processor time in one collection, without the handles
	gcWithHandles []float64 // the same with the handles
}

// measureFootprint arms n timers, adds to f what the heap has grown by, and returns the handles. To leave out the
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
	f.bytes = append(f.bytes, float64(max(after-before, 1))/float64(n))
	f.gc = append(f.gc, armed.minus(named).Median)
	f.gcWithHandles = append(f.gcWithHandles, armed.minus(bare).Median)
	return handles
}

// gcTime returns the processor time of a garbage collection, in milliseconds.
func gcTime() Spread {
	var took []float64
	for range 5 {
		cpu := processCPU()
		runtime.GC()
		took = append(took, float64((processCPU()-cpu).Nanoseconds())/1e6)
	}
	return spread(took)
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

// idleProcess measures the processor time of a process that has armed timers of which none is due.
func idleProcess(s *scenarioRun) error {
	n := min(s.n, 100_000)
	span := min(time.Duration(n)*10*time.Microsecond, pick(s, 250*time.Millisecond, 2*time.Second))
	used := s.measure("processor time while nothing is due", "%").main()
	for _, c := range contenders {
		if c.timers == nil || !s.opts.wants(c) || !notVariant(c) || c.maxTimers > 0 && n > c.maxTimers || s.ctx.Err() != nil {
			continue
		}
		t, err := c.timers()
		if err != nil {
			s.fail(c.Name, n, err)
			continue
		}
		if failed := t.fill(n); failed != 0 {
			s.fail(c.Name, n, failedOpsError{failed, n})
		} else if percent, err := idleCPU(s.ctx, span); err == nil {
			used.add(c.Name, n, percent)
		}
		t.close()
	}
	return nil
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
