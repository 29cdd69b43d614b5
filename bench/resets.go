package bench

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"time"
)

// hot is how many timers are few enough to stay in the cache.
const hot = 1000

// idleConnections measures what is done to timers that are out already: pushing the deadline back, as an idle
// timeout does, pulling it forward, calling it off. At random among all of them it is mostly cache misses.
func idleConnections(s *sheet) error {
	field, done := s.field(s.n, func(c contender) bool { return c.Name != "precise" && c.Name != "one-worker" })
	defer done()
	canReset := func(t timers) bool { return t.can(toReset) }
	for round := range s.rounds() {
		runtime.GC()
		// Later than all that is armed by then, and earlier than it.
		later := 3*ahead + time.Duration(round)*time.Second
		earlier := max(ahead-time.Duration(round+1)*10*time.Second, ahead/10)
		moved, warm, known, pulled, gone := sample(s.n), few(s.n), sample(s.n), distinct(s.n), distinct(s.n)
		when := time.Now().Add(later + time.Second/2)
		for _, c := range []contest{
			{name: "reset later, one at random", main: true, ops: len(moved), needs: canReset, work: func(t timers, ops int) int {
				return t.reset(moved[:ops], later)
			}},
			{name: "reset later, one of 1,000", ops: len(warm), needs: canReset, work: func(t timers, ops int) int {
				return t.reset(warm[:ops], later+time.Second/2)
			}},
			{
				name: "reset to a known time, one at random", ops: len(known), needs: func(t timers) bool { return t.can(toResetAt) },
				work: func(t timers, ops int) int { return t.resetAt(known[:ops], when) },
			},
			{name: "reset earlier, one at random", ops: len(pulled), needs: canReset, work: func(t timers, ops int) int {
				return t.reset(pulled[:ops], earlier)
			}},
			{
				name: "stop, one at random", ops: len(gone),
				work:  func(t timers, ops int) int { return t.stop(gone[:ops]) },
				after: func(t timers, ops int) int { return t.refill(gone[:ops]) },
			},
		} {
			s.compete(c, round, field)
		}
	}
	return nil
}

// sample returns which timers to work on, at random.
func sample(n int) []int {
	some := make([]int, min(n, 200_000))
	for i := range some {
		some[i] = rand.IntN(n)
	}
	return some
}

// distinct does the same, but none comes twice, and most stay as they are.
func distinct(n int) []int {
	return rand.Perm(n)[:min(n/5+1, 200_000)]
}

// few does the same, but they are few, and it is each one's turn more often.
func few(n int) []int {
	some := make([]int, min(n, 400_000))
	for i := range some {
		some[i] = rand.IntN(min(n, hot))
	}
	return some
}

// inGrowth is how many bytes all contenders together take for each timer, while garbage piles up.
const inGrowth = 700

// growth measures whether an operation costs more the more timers there are.
func growth(s *sheet) error {
	sizes := []int{s.n / 10, s.n}
	if s.o.Full {
		sizes = []int{s.n / 100, s.n / 10, s.n, 10 * s.n}
	}
	total := s.n
	defer func() { s.n = total }()
	for _, n := range sizes {
		if n < 1 || s.ctx.Err() != nil {
			continue
		}
		if memory := machine().memory; memory > 0 && int64(n)*inGrowth > memory/2 {
			s.fail("std", n, errors.New(tooMuchMemory))
			continue
		}
		s.n = n
		field, done := s.field(n, func(c contender) bool { return c.Name != "precise" && c.Name != "one-worker" })
		for round := range s.rounds() {
			some, gone := sample(n), distinct(n)
			for _, c := range []contest{
				{name: "arm and stop", main: true, ops: 200_000, work: func(t timers, ops int) int { return t.pairs(0, ops) }},
				{
					name: "reset later, one at random", ops: len(some), needs: func(t timers) bool { return t.can(toReset) },
					work: func(t timers, ops int) int { return t.reset(some[:ops], 3*ahead+time.Duration(round)*time.Second) },
				},
				{
					name: "stop, one at random", ops: len(gone),
					work:  func(t timers, ops int) int { return t.stop(gone[:ops]) },
					after: func(t timers, ops int) int { return t.refill(gone[:ops]) },
				},
			} {
				s.compete(c, round, field)
			}
		}
		done()
	}
	s.plot(Plot{
		Name: PlotGrowth, Title: "Arm and stop, against the number of outstanding timers",
		X: Axis{Label: "outstanding timers", Log: true}, Y: Axis{Label: "processor time", Unit: "ns", Log: true},
		Series: s.measure("arm and stop: CPU", "ns").series(),
	})
	return nil
}

// series returns the medians of each contender against the number of timers.
func (f *figures) series() (all []Series) {
	at := map[string]int{}
	for _, r := range f.rows {
		if len(r.rounds) == 0 {
			continue
		}
		i, ok := at[r.contender]
		if !ok {
			i = len(all)
			at[r.contender] = i
			all = append(all, Series{Contender: r.contender})
		}
		all[i].Points = append(all[i].Points, [2]float64{float64(r.n), spread(r.rounds).Median})
	}
	return all
}
