package bench

import (
	"fmt"
	"slices"
)

// requestTimeouts measures what a timeout costs that is called off at once, by one goroutine and by several.
func requestTimeouts(s *sheet) error {
	field, done := s.field(s.n, func(c contender) bool { return c.Name != "precise" })
	defer done()
	answered := contest{name: "arm and stop 999 of 1,000, the others fire", garbage: true, main: true, ops: 2*s.n + 1000, work: func(t timers, ops int) int {
		return t.requests(0, ops)
	}}
	for round := range s.rounds() {
		s.compete(answered, round, field)
	}
	for _, g := range pick(s, []int{1, 8}, []int{1, 2, 8}) {
		if g > 1 && !s.o.Full {
			field = slices.DeleteFunc(slices.Clone(field), func(e *entrant) bool { return e.Kind == Peer })
		}
		name := "arm and stop"
		if g > 1 {
			name = fmt.Sprintf("arm and stop, %d goroutines", g)
		}
		// Twice as many as there are, in which the standard library leaves enough garbage for the
		// collector to come.
		c := contest{name: name, garbage: true, ops: 2*s.n + 1000, work: func(t timers, ops int) int {
			return share(g, ops, t.pairs)
		}}
		for round := range s.rounds() {
			s.compete(c, round, field)
		}
	}
	return nil
}

// crossStop measures timers that one goroutine arms and another stops.
func crossStop(s *sheet) error {
	field, done := s.field(s.n, func(c contender) bool { return c.Name != "precise" && c.Name != "one-worker" })
	defer done()
	c := contest{name: "arm, and stop on another goroutine", garbage: true, main: true, ops: 2*s.n + 1000, work: timers.handOver}
	for round := range s.rounds() {
		s.compete(c, round, field)
	}
	return nil
}

// handOver arms on one goroutine and stops on another, and returns how many timers could not be stopped. They
// are handed over by the hundred, so that it is not the channel that is measured.
func handOver[T any](ops int, arm func(i int) T, stop func(T) bool) (lost int) {
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
				lost++
			}
		}
		empty <- batch
	}
	return lost
}

// burstRegistration measures the registration of many timers in a row, in batches where that is possible, and
// with it their end: stopped one by one, in order.
func burstRegistration(s *sheet) error {
	field, done := s.field(s.n, func(c contender) bool { return c.Name != "precise" && c.Name != "one-worker" })
	defer done()
	stop := map[string][]turn{}
	c := contest{name: "register", garbage: true, main: true, ops: max(s.n, inBatch), work: timers.register}
	for round := range s.rounds() {
		for i := range field {
			e := field[(round+i)%len(field)]
			if e.out || s.ctx.Err() != nil {
				continue
			}
			c := c
			var end turn
			c.after = func(t timers, ops int) (lost int) {
				end, _ = take(ops, false, func() int { lost = t.unregister(ops); return lost })
				return lost
			}
			s.compete(c, 0, []*entrant{e})
			if !e.out {
				stop[e.Name] = append(stop[e.Name], end)
			}
		}
	}
	// Both together, round by round.
	for _, kind := range []struct {
		name string
		of   func(turn) float64
	}{{"CPU", func(t turn) float64 { return t.cpu }}, {"wall", func(t turn) float64 { return t.wall }}} {
		arm := s.measure("register: "+kind.name, "ns")
		rate := s.measure("registered in a second", "M/s").higher()
		both := s.measure("register, then stop each: "+kind.name, "ns")
		for _, row := range arm.rows {
			for i, t := range stop[row.contender][:min(len(row.rounds), len(stop[row.contender]))] {
				both.add(row.contender, row.n, row.rounds[i]+kind.of(t))
				if kind.name == "wall" {
					rate.add(row.contender, row.n, 1e3/row.rounds[i])
				}
			}
		}
	}
	return nil
}
