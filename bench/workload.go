package bench

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A workload is one piece of work that every instance does in every round. Each round begins with another
// instance.
//
// Its cost is the processor time of the whole process, because the garbage collector works on other threads and
// is part of the price. Set garbage where some contenders leave garbage. Then each turn begins with a collection,
// which removes the garbage of the turn before, and the allocations are reported. Such a turn has to be long
// enough for garbage to pile up and be collected.
type workload struct {
	name      string
	garbage   bool
	main      bool
	ops       int                                  // operations in a turn, at most
	supported func(timers) bool                    // nil: all contenders can do the work
	work      func(t timers, ops int) (failed int) // returns how many operations failed; none may
	cleanup   func(t timers, ops int) (failed int) // runs after work and is not measured; may be nil
}

// failedOpsError says how many operations failed.
type failedOpsError struct{ failed, of int }

func (e failedOpsError) Error() string {
	return fmt.Sprintf("%d of %d operations failed", e.failed, e.of)
}

// A cost is what one operation took, on average over a turn.
type cost struct {
	cpu, wall float64 // nanoseconds
	allocs    float64
}

// measureCost measures work, which does ops operations. With clean set it collects garbage first.
func measureCost(ops int, clean bool, work func() (failed int)) (c cost, err error) {
	if clean {
		runtime.GC()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, cpu := time.Now(), processCPU()
	failed := work()
	cpu, wall := processCPU()-cpu, time.Since(began)
	runtime.ReadMemStats(&after)
	per := 1 / float64(ops)
	c = cost{max(float64(cpu), 1) * per, float64(wall) * per, float64(after.Mallocs-before.Mallocs) * per}
	if failed != 0 {
		err = failedOpsError{failed, ops}
	}
	return c, err
}

// runRound measures one turn of each instance. An instance that fails is excluded from then on.
func (s *scenarioRun) runRound(w workload, round int, instances []*instance) {
	for i := range instances {
		in := instances[(round+i)%len(instances)]
		if s.ctx.Err() != nil || in.excluded || w.supported != nil && !w.supported(in.timers) {
			continue
		}
		c, err := in.run(w, pick(s, 25*time.Millisecond, 250*time.Millisecond))
		if err != nil {
			s.fail(in.Name, s.n, fmt.Errorf("%s: %w", w.name, err))
			in.excluded = true
			continue
		}
		s.addCost(w.name, w.main, in.Name, s.n, c)
		if w.garbage {
			s.measure(w.name+": allocations", "").neutral().add(in.Name, s.n, c.allocs)
		}
	}
}

// addCost records the processor time and the wall time of a turn.
func (s *scenarioRun) addCost(name string, main bool, contender string, n int, c cost) {
	cpu := s.measure(name+": CPU", "ns")
	cpu.Main = main
	cpu.add(contender, n, c.cpu)
	s.measure(name+": wall", "ns").add(contender, n, c.wall)
}

// run measures one turn. The first turn with a workload is preceded by a short one, to warm up and to find out how
// many operations make a turn of the given length: an operation takes nanoseconds with one contender and
// microseconds with another.
func (in *instance) run(w workload, length time.Duration) (cost, error) {
	ops, ok := in.opsPerTurn[w.name]
	if !ok {
		few := max(w.ops/50, 1)
		c, err := in.measure(w, few)
		if err != nil {
			return c, err
		}
		ops = min(w.ops, max(few, int(float64(length)/c.wall)))
		in.opsPerTurn[w.name] = ops
	}
	return in.measure(w, ops)
}

// measure measures one turn of ops operations.
func (in *instance) measure(w workload, ops int) (cost, error) {
	c, err := measureCost(ops, w.garbage, func() int { return w.work(in.timers, ops) })
	if err == nil && w.cleanup != nil {
		if failed := w.cleanup(in.timers, ops); failed != 0 {
			err = failedOpsError{failed, ops}
		}
	}
	return c, err
}

// parallel divides the operations among g goroutines, which work at the same time. It returns how many operations
// failed.
func parallel(g, ops int, work func(from, to int) (failed int)) int {
	var failed atomic.Int64
	var all sync.WaitGroup
	for i := range g {
		all.Go(func() { failed.Add(int64(work(i*ops/g, (i+1)*ops/g))) })
	}
	all.Wait()
	return int(failed.Load())
}
