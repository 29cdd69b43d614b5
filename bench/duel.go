package bench

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A duel is one piece of work, done by the standard library and by a runtime in every
// round, the one first that was second before.
//
// It is measured in processor time of the whole process: what is left to the garbage
// collector, on other threads, is part of the price. Where the standard library leaves
// garbage, garbage is set: then each turn begins without any of the turn before, and has
// to be long enough for it to pile up and be collected.
type duel struct {
	name        string
	garbage     bool
	std, foliot side
}

// A side is what the work took one contender in each round, per operation.
type side struct {
	cpu, wall []float64 // nanoseconds
	allocs    []float64
}

// round measures the work once by each. The work tells how many of its operations went
// wrong, which none may.
func (d *duel) round(ops int, std, foliot func() (lost int)) error {
	turns := []func() error{
		func() error { return d.std.turn(ops, d.garbage, std) },
		func() error { return d.foliot.turn(ops, d.garbage, foliot) },
	}
	first := len(d.std.cpu) % 2
	for i := range turns {
		if err := turns[(first+i)%2](); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

func (s *side) turn(ops int, clean bool, work func() int) error {
	if clean {
		runtime.GC()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, cpu := time.Now(), processCPU()
	lost := work()
	cpu, wall := processCPU()-cpu, time.Since(began)
	runtime.ReadMemStats(&after)
	per := 1 / float64(ops)
	s.cpu = append(s.cpu, max(float64(cpu), 1)*per)
	s.wall = append(s.wall, float64(wall)*per)
	s.allocs = append(s.allocs, float64(after.Mallocs-before.Mallocs)*per)
	if lost != 0 {
		return fmt.Errorf("%d of %d operations failed", lost, ops)
	}
	return nil
}

// plus returns the price of both.
func (s side) plus(t side) side {
	sum := func(a, b []float64) []float64 {
		c := make([]float64, min(len(a), len(b)))
		for i := range c {
			c[i] = a[i] + b[i]
		}
		return c
	}
	return side{sum(s.cpu, t.cpu), sum(s.wall, t.wall), sum(s.allocs, t.allocs)}
}

// result is the line about time.
func (d *duel) result(n int) Result {
	return Result{
		Name: d.name, Unit: "ns", Group: outstanding(n), Timers: n,
		Std: spread(d.std.cpu), Foliot: spread(d.foliot.cpu), Ratio: spread(ratios(d.std.cpu, d.foliot.cpu)),
		StdWall: spread(d.std.wall), FoliotWall: spread(d.foliot.wall), RatioWall: spread(ratios(d.std.wall, d.foliot.wall)),
	}
}

// allocations is the line about memory.
func (d *duel) allocations(n int) Result {
	return Result{
		Name: d.name + ", allocations", Group: outstanding(n), Timers: n,
		Std: spread(d.std.allocs), Foliot: spread(d.foliot.allocs),
	}
}

func outstanding(n int) string {
	return fmt.Sprintf("%d timers outstanding", n)
}

// share has g goroutines do the work at once, each its part of the operations, and
// returns how many went wrong.
func share(g, ops int, work func(from, to int) (lost int)) int {
	var lost atomic.Int64
	var all sync.WaitGroup
	for i := range g {
		all.Go(func() { lost.Add(int64(work(i*ops/g, (i+1)*ops/g))) })
	}
	all.Wait()
	return int(lost.Load())
}
