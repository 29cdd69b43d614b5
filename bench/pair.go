package bench

import (
	"fmt"
	"time"
)

// A pair is one piece of work that two contenders do in every round, in alternating order. It is for work that
// only these two can do.
type pair struct {
	name       string
	base, ours string // names of the contenders
	garbage    bool   // as in a workload
	n          int    // outstanding timers
	rounds     int    // rounds measured so far
}

// A pairTurn is the work of one contender in a round.
type pairTurn struct {
	ops  int
	work func() (failed int)
}

// round measures one turn of each contender, with the same number of operations.
func (p *pair) round(s *scenarioRun, ops int, base, ours func() (failed int)) error {
	return p.turns(s, pairTurn{ops, base}, pairTurn{ops, ours})
}

// turns measures one turn of each contender.
func (p *pair) turns(s *scenarioRun, base, ours pairTurn) error {
	turns := []struct {
		name string
		pairTurn
	}{{p.base, base}, {p.ours, ours}}
	for i := range turns {
		turn := turns[(p.rounds+i)%2]
		c, err := measureCost(turn.ops, p.garbage, turn.work)
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

// A job is one use of package time or context.
type job struct {
	name string
	do   func(ops int) (failed int)
	per  int // operations that are counted for each of ops; 0: one
}

// turn returns ops operations of the job as a turn.
func (j job) turn(ops int) pairTurn {
	return pairTurn{ops * max(j.per, 1), func() int { return j.do(ops) }}
}

// sideBySide lets the standard library and a contender do the same jobs with n timers, in alternating order. Both get
// turns of about the same length. With the same number of operations, a contender that is a hundred times as fast would
// get a turn that is too short to measure.
func (s *scenarioRun) sideBySide(contender string, n int, std, ours []job, garbage bool) error {
	if c, _ := findContender(contender); !s.opts.wants(c) {
		return nil
	}
	length := pick(s, 10*time.Millisecond, 200*time.Millisecond)
	for i, j := range std {
		if s.ctx.Err() != nil {
			return nil
		}
		p := pair{name: j.name, base: "std", ours: contender, garbage: garbage, n: n}
		base, other := j.turn(calibrate(j.do, length)), ours[i].turn(calibrate(ours[i].do, length))
		for range s.roundsWithin(pick(s, 100*time.Millisecond, 20*time.Second)) {
			if err := p.turns(s, base, other); err != nil {
				return err
			}
		}
	}
	return nil
}

// calibrate returns how many operations take about the given time.
func calibrate(do func(ops int) int, length time.Duration) int {
	for ops := 1; ; ops *= 4 {
		began := time.Now()
		do(ops)
		if took := time.Since(began); took > length/8 || ops > 1<<24 {
			return max(1, int(float64(ops)*float64(length)/float64(max(took, 1))))
		}
	}
}
