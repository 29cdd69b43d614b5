package bench

import (
	"fmt"
	"slices"
)

// requestTimeouts measures timeouts that are stopped at once, on one goroutine and on several.
func requestTimeouts(s *scenarioRun) error {
	instances, done := s.instances(s.n, func(c contender) bool { return c.Name != "precise" })
	defer done()
	requests := workload{name: "arm and stop 999 of 1,000, the others fire", garbage: true, main: true, ops: 2*s.n + 1000, work: func(t timers, ops int) int {
		return t.requests(0, ops)
	}}
	for round := range s.rounds() {
		s.runRound(requests, round, instances)
	}
	for _, g := range pick(s, []int{1, 8}, []int{1, 2, 8}) {
		if g > 1 && !s.opts.Full {
			instances = slices.DeleteFunc(slices.Clone(instances), func(in *instance) bool { return in.Kind == Peer })
		}
		name := "arm and stop"
		if g > 1 {
			name = fmt.Sprintf("arm and stop, %d goroutines", g)
		}
		// Twice as many operations as outstanding timers: enough for the standard library to leave the
		// garbage that starts a collection.
		w := workload{name: name, garbage: true, ops: 2*s.n + 1000, work: func(t timers, ops int) int {
			return parallel(g, ops, t.armAndStop)
		}}
		for round := range s.rounds() {
			s.runRound(w, round, instances)
		}
	}
	return nil
}

// crossStop measures timers that one goroutine arms and another stops.
func crossStop(s *scenarioRun) error {
	instances, done := s.instances(s.n, notVariant)
	defer done()
	w := workload{name: "arm, and stop on another goroutine", garbage: true, main: true, ops: 2*s.n + 1000, work: timers.handOver}
	for round := range s.rounds() {
		s.runRound(w, round, instances)
	}
	return nil
}

// handOver arms timers on one goroutine and stops them on another. It returns how many could not be stopped. The
// timers are handed over in batches, because otherwise the cost of the channel would dominate.
func handOver[T any](ops int, arm func(i int) T, stop func(T) bool) (failed int) {
	full, empty := make(chan []T, 4), make(chan []T, 4)
	for range cap(empty) {
		empty <- make([]T, 0, 500)
	}
	go func() {
		defer close(full)
		for i := 0; i < ops; {
			batch := (<-empty)[:0]
			for ; i < ops && len(batch) < cap(batch); i++ {
				batch = append(batch, arm(i))
			}
			full <- batch
		}
	}()
	for batch := range full {
		for _, t := range batch {
			if !stop(t) {
				failed++
			}
		}
		empty <- batch
	}
	return failed
}

// burstRegistration measures the registration of many timers in a row, in batches where the contender has them.
// It also measures stopping them one by one, in order.
func burstRegistration(s *scenarioRun) error {
	instances, done := s.instances(s.n, notVariant)
	defer done()
	stopCosts := map[string][]cost{}
	w := workload{name: "register", garbage: true, main: true, ops: max(s.n, batchSize), work: timers.register}
	for round := range s.rounds() {
		for i := range instances {
			in := instances[(round+i)%len(instances)]
			if in.excluded || s.ctx.Err() != nil {
				continue
			}
			w := w
			var stopCost cost
			w.cleanup = func(t timers, ops int) (failed int) {
				stopCost, _ = measureCost(ops, false, func() int { failed = t.unregister(ops); return failed })
				return failed
			}
			s.runRound(w, 0, []*instance{in})
			if !in.excluded {
				stopCosts[in.Name] = append(stopCosts[in.Name], stopCost)
			}
		}
	}
	// The sum of both, round by round.
	for _, kind := range []struct {
		name string
		of   func(cost) float64
	}{{"CPU", func(c cost) float64 { return c.cpu }}, {"wall", func(c cost) float64 { return c.wall }}} {
		arm := s.measure("register: "+kind.name, "ns")
		rate := s.measure("registered in a second", "M/s").higherIsBetter()
		both := s.measure("register, then stop each: "+kind.name, "ns")
		for _, row := range arm.rows {
			for i, c := range stopCosts[row.contender][:min(len(row.rounds), len(stopCosts[row.contender]))] {
				both.add(row.contender, row.n, row.rounds[i]+kind.of(c))
				if kind.name == "wall" {
					rate.add(row.contender, row.n, 1e3/row.rounds[i])
				}
			}
		}
	}
	return nil
}
