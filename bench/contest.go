package bench

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A contest is one piece of work, done by every entrant in every round, another one first each time.
//
// It is measured in processor time of the whole process: what is left to the garbage collector, on other
// threads, is part of the price. Where some leave garbage, garbage is set: then each turn begins without any
// of the turn before, and has to be long enough for it to pile up and be collected.
type contest struct {
	name    string
	garbage bool
	main    bool
	ops     int                                // in a turn, at most
	needs   func(timers) bool                  // nil: anybody can do it
	work    func(t timers, ops int) (lost int) // tells how many operations went wrong, which none may
	after   func(t timers, ops int) (lost int) // what is to be done afterwards and not measured; may be nil
}

// lostError says that operations went wrong.
type lostError struct{ lost, of int }

func (e lostError) Error() string { return fmt.Sprintf("%d of %d operations failed", e.lost, e.of) }

// A turn is what some work took, per operation.
type turn struct {
	cpu, wall float64 // nanoseconds
	allocs    float64
}

// take measures some work.
func take(ops int, clean bool, work func() (lost int)) (t turn, err error) {
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
	t = turn{max(float64(cpu), 1) * per, float64(wall) * per, float64(after.Mallocs-before.Mallocs) * per}
	if lost != 0 {
		err = lostError{lost, ops}
	}
	return t, err
}

// compete has each entrant take its turn, and writes down what that took.
func (s *sheet) compete(c contest, round int, field []*entrant) {
	for i := range field {
		e := field[(round+i)%len(field)]
		if s.ctx.Err() != nil || e.out || c.needs != nil && !c.needs(e.timers) {
			continue
		}
		t, err := e.compete(c, pick(s, 25*time.Millisecond, 250*time.Millisecond))
		if err != nil {
			s.fail(e.Name, s.n, fmt.Errorf("%s: %w", c.name, err))
			e.out = true
			continue
		}
		s.write(c.name, c.main, e.Name, s.n, t)
		if c.garbage {
			s.measure(c.name+": allocations", "").neutral().add(e.Name, s.n, t.allocs)
		}
	}
}

// write puts processor time and the time on the clock on the sheet.
func (s *sheet) write(name string, main bool, contender string, n int, t turn) {
	cpu := s.measure(name+": CPU", "ns")
	cpu.Main = main
	cpu.add(contender, n, t.cpu)
	s.measure(name+": wall", "ns").add(contender, n, t.wall)
}

// compete takes one turn. The first time some of the work is done to warm up, and to see how much of it makes a
// turn of the right length: what takes some nanoseconds here takes microseconds there.
func (e *entrant) compete(c contest, length time.Duration) (turn, error) {
	ops, ok := e.pace[c.name]
	if !ok {
		few := max(c.ops/50, 1)
		t, err := e.take(c, few)
		if err != nil {
			return t, err
		}
		ops = min(c.ops, max(few, int(float64(length)/t.wall)))
		e.pace[c.name] = ops
	}
	return e.take(c, ops)
}

func (e *entrant) take(c contest, ops int) (turn, error) {
	t, err := take(ops, c.garbage, func() int { return c.work(e.timers, ops) })
	if err == nil && c.after != nil {
		if lost := c.after(e.timers, ops); lost != 0 {
			err = lostError{lost, ops}
		}
	}
	return t, err
}

// share has g goroutines do the work at once, each its part of the operations, and returns how many went
// wrong.
func share(g, ops int, work func(from, to int) (lost int)) int {
	var lost atomic.Int64
	var all sync.WaitGroup
	for i := range g {
		all.Go(func() { lost.Add(int64(work(i*ops/g, (i+1)*ops/g))) })
	}
	all.Wait()
	return int(lost.Load())
}
