package bench

import "fmt"

// A pair is one piece of work that two contenders do in every round, in alternating order. It is for work that
// only these two can do.
type pair struct {
	name       string
	base, ours string // names of the contenders
	garbage    bool   // as in a workload
	n          int    // outstanding timers
	rounds     int    // rounds measured so far
}

// round measures one turn of each contender.
func (p *pair) round(s *scenarioRun, ops int, base, ours func() (failed int)) error {
	turns := []struct {
		name string
		work func() int
	}{{p.base, base}, {p.ours, ours}}
	for i := range turns {
		turn := turns[(p.rounds+i)%2]
		c, err := measureCost(ops, p.garbage, turn.work)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		s.addCost(p.name, false, turn.name, p.n, c)
		if p.garbage {
			s.measure(p.name+": allocations", "").neutral().add(turn.name, p.n, c.allocs)
		}
	}
	for _, suffix := range []string{": CPU", ": wall"} {
		s.measure(p.name+suffix, "ns").against(p.base)
	}
	p.rounds++
	return nil
}
