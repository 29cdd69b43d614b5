package bench

import "fmt"

// A duel is one piece of work, done by two contenders in every round, the one first that was second before.
// It is for what only these two can do.
type duel struct {
	name       string
	base, ours string // names of the contenders
	garbage    bool   // as in a contest
	n          int
	rounds     int
}

// round measures the work once by each.
func (d *duel) round(s *sheet, ops int, base, ours func() (lost int)) error {
	turns := []struct {
		name string
		work func() int
	}{{d.base, base}, {d.ours, ours}}
	for i := range turns {
		who := turns[(d.rounds+i)%2]
		t, err := take(ops, d.garbage, who.work)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		s.write(d.name, false, who.name, d.n, t)
		if d.garbage {
			s.measure(d.name+": allocations", "").neutral().add(who.name, d.n, t.allocs)
		}
	}
	for _, suffix := range []string{": CPU", ": wall"} {
		s.measure(d.name+suffix, "ns").against(d.base)
	}
	d.rounds++
	return nil
}
