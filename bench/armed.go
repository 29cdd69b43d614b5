package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// memory measures what timers weigh that are merely armed: bytes of heap.
func memory(s *sheet) error {
	sizes := []int{max(s.n/10, 1), s.n}
	if s.o.Full {
		sizes = []int{max(s.n/100, 1), max(s.n/10, 1), s.n}
	}
	bytes := s.measure("bytes each, with the callback", "B").main()
	for _, n := range sizes { // once, and small ones first: the standard library keeps the array of its heap
		s.weighAll(n, func(name string, w weight) { bytes.add(name, n, w.bytes...) })
	}
	s.plot(Plot{
		Name: PlotMemory, Title: "Memory of an armed timer", X: Axis{Label: "armed timers", Log: true}, Y: Axis{Label: "bytes each", Unit: "B"},
		Series: bytes.series(),
	})
	return nil
}

// collections measures what the garbage collector has to do because of armed timers.
func collections(s *sheet) error {
	bare := s.measure("added to a garbage collection: CPU", "ms").main()
	all := s.measure("added to a garbage collection, handles included: CPU", "ms")
	for range s.fewRounds() {
		s.weighAll(s.n, func(name string, w weight) {
			bare.add(name, s.n, w.gc...)
			all.add(name, s.n, w.all...)
		})
	}
	return nil
}

// weighAll has all contenders arm n timers, in turns.
func (s *sheet) weighAll(n int, tell func(name string, w weight)) {
	for _, c := range contenders {
		if c.timers == nil || !s.o.wants(c) || c.Name == "precise" || c.Name == "one-worker" || s.ctx.Err() != nil {
			continue
		}
		if c.most > 0 && n > c.most {
			s.fail(c.Name, n, fmt.Errorf("%s", c.why))
			continue
		}
		t, err := c.timers()
		if err != nil {
			s.fail(c.Name, n, err)
			continue
		}
		var w weight
		if lost := t.weigh(&w, n); lost != 0 {
			s.fail(c.Name, n, lostError{lost, n})
		} else {
			tell(c.Name, w)
		}
		t.close()
	}
}

// A weight is what timers weigh, by round.
type weight struct {
	bytes []float64 // each, without the handle
	gc    []float64 // milliseconds of processor time in one collection, without the handles
	all   []float64 // and with them
}

// weigh arms n timers and measures what the heap has more of afterwards. It returns their handles. Before, as
// many handles are there already, but all name one timer: so what the handles weigh, which the program may or
// may not keep, is told apart.
func weigh[T any](w *weight, n int, arm func([]T)) []T {
	steady()
	bare := collecting()
	handles := make([]T, n)
	arm(handles[:1])
	for i := range handles {
		handles[i] = handles[0]
	}
	named, before := collecting(), heapBytes()
	arm(handles[1:])
	armed, after := collecting(), heapBytes()
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

// steady waits until what others have left behind is gone: a runtime gives memory back bit by bit.
func steady() {
	for before := heapBytes(); ; {
		time.Sleep(5 * time.Millisecond)
		after := heapBytes()
		if after > before-4<<10 {
			return
		}
		before = after
	}
}

// heapBytes returns the bytes in use after a collection.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// idleProcess measures what a process does that has timers armed and none due.
func idleProcess(s *sheet) error {
	n := min(s.n, 100_000)
	span := min(time.Duration(n)*10*time.Microsecond, pick(s, 250*time.Millisecond, 2*time.Second))
	used := s.measure("processor time while nothing is due", "%").main()
	for _, c := range contenders {
		if c.timers == nil || !s.o.wants(c) || c.Name == "precise" || c.Name == "one-worker" || c.most > 0 && n > c.most || s.ctx.Err() != nil {
			continue
		}
		t, err := c.timers()
		if err != nil {
			s.fail(c.Name, n, err)
			continue
		}
		if lost := t.fill(n); lost != 0 {
			s.fail(c.Name, n, lostError{lost, n})
		} else if percent, err := idle(s.ctx, span); err == nil {
			used.add(c.Name, n, percent)
		}
		t.close()
	}
	return nil
}

// idle does nothing for a while and returns the share of a processor that it took, in percent.
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
