package bench

import (
	"fmt"
	"sync"
	"time"
)

// A timerPart is something that Foliot cannot do without when it arms a timer and stops it. do does ops of it.
type timerPart struct {
	name string
	do   func(ops int) (failed int)
}

// armAndStopPartsOf returns the parts of arming a timer and stopping it. They are done by g goroutines at the same time
// that share nothing: each has a wheel with its share of the n outstanding entries, and a lock that no other uses.
func armAndStopPartsOf(g, n int) []timerPart {
	wheels := make([]*wheelStructure, g)
	for i := range wheels {
		wheels[i] = newWheelStructure().(*wheelStructure)
		wheels[i].fill(n / g)
	}
	type paddedLock struct {
		mu    sync.Mutex
		taken int
		_     [112]byte // the locks of two goroutines are in different cache lines
	}
	locks := make([]paddedLock, g)
	each := func(work func(i, ops int) (failed int)) func(ops int) int {
		return func(ops int) int {
			return parallel(g, g, func(i, _ int) int { return work(i, (i+1)*ops/g-i*ops/g) })
		}
	}
	return []timerPart{
		{"a reading of the clock", each(func(_, ops int) (failed int) {
			began := time.Now()
			for range ops {
				if time.Since(began) < 0 {
					failed++
				}
			}
			return failed
		})},
		{"two locks and unlocks without contention", each(func(i, ops int) int {
			l := &locks[i]
			before := l.taken
			for range ops {
				l.mu.Lock()
				l.taken++
				l.mu.Unlock()
				l.mu.Lock()
				l.taken++
				l.mu.Unlock()
			}
			return before + 2*ops - l.taken
		})},
		{"Schedule and Cancel of a wheel", each(func(i, ops int) (failed int) {
			before := wheels[i].w.Len()
			wheels[i].armAndCancel(ops)
			return wheels[i].w.Len() - before
		})},
	}
}

// A partsRun measures the parts in the rounds of a workload.
type partsRun struct {
	name  string // of the workload
	n     int
	parts []timerPart
	ops   []int // operations of each part in a turn
}

// round measures each part once. The sum of all parts is a figure, too.
func (p *partsRun) round(s *scenarioRun, length time.Duration) error {
	if p.ops == nil {
		for _, part := range p.parts {
			p.ops = append(p.ops, calibrate(part.do, length))
		}
	}
	var sum cost
	for i, part := range p.parts {
		c, err := measureCost(p.ops[i], false, func() int { return part.do(p.ops[i]) })
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		sum.cpu += c.cpu
		sum.wall += c.wall
		s.measure(fmt.Sprintf("%s: %s: CPU", p.name, part.name), "ns").neutral().add("parts", p.n, c.cpu)
	}
	s.measure(p.name+": the sum of the parts: CPU", "ns").neutral().add("parts", p.n, sum.cpu)
	s.measure(p.name+": the sum of the parts: wall", "ns").neutral().add("parts", p.n, sum.wall)
	return nil
}

// addMultiples adds, for each contender, how many times the sum of the parts the workload takes, round by round.
func (p *partsRun) addMultiples(s *scenarioRun) {
	for _, suffix := range []string{": CPU", ": wall"} {
		whole := s.measure(p.name+suffix, "ns").rows
		sum := s.measure(p.name+": the sum of the parts"+suffix, "ns").samplesOf("parts", p.n)
		multiples := s.measure(p.name+", in sums of the parts"+suffix, "x").neutral()
		for _, row := range whole {
			multiples.add(row.contender, row.n, ratios(row.rounds, sum.rounds)...)
		}
	}
}

// armAndStopParts measures arming and stopping by several goroutines, and the parts of it in the same rounds.
func armAndStopParts(s *scenarioRun) error {
	instances, done := s.instances(s.n, func(c contender) bool { return c.Name == "std" || c.Name == "foliot" || c.Name == "drop-in" })
	defer done()
	parts, _ := findContender("parts")
	withParts := s.opts.wants(parts)
	for _, g := range []int{1, 2, 8} {
		if s.ctx.Err() != nil {
			return nil
		}
		name := fmt.Sprintf("arm and stop, %d goroutines", g)
		if g == 1 {
			name = "arm and stop, 1 goroutine"
		}
		w := workload{name: name, garbage: true, main: g == 1, ops: 2*s.n + 1000, work: func(t timers, ops int) int {
			return parallel(g, ops, t.armAndStop)
		}}
		p := partsRun{name: name, n: s.n}
		if withParts {
			p.parts = armAndStopPartsOf(g, s.n)
		}
		for round := range s.roundsWithin(pick(s, 600*time.Millisecond, 30*time.Second)) {
			s.runRound(w, round, instances)
			if withParts && s.ctx.Err() == nil {
				if err := p.round(s, pick(s, 8*time.Millisecond, 80*time.Millisecond)); err != nil {
					return err
				}
			}
		}
		if withParts {
			p.addMultiples(s)
		}
	}
	return nil
}
