package bench

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"time"
)

// hotTimers is a number of timers that stay in the processor cache.
const hotTimers = 1000

// idleConnections measures operations on outstanding timers: a later deadline, as an idle timeout sets it, an earlier
// deadline, and stopping. The timers are picked at random, so most of the cost is cache misses.
func idleConnections(s *scenarioRun) error {
	instances, done := s.instances(s.n, notVariant)
	defer done()
	canReset := func(t timers) bool { return t.supports(featureReset) }
	for round := range s.rounds() {
		runtime.GC()
		// Later, or earlier, than all deadlines armed before.
		later := 3*farAhead + time.Duration(round)*time.Second
		earlier := max(farAhead-time.Duration(round+1)*10*time.Second, farAhead/10)
		moved, warm, known, pulled, gone := randomIndexes(s.n), hotIndexes(s.n), randomIndexes(s.n), distinctIndexes(s.n), distinctIndexes(s.n)
		when := time.Now().Add(later + time.Second/2)
		for _, w := range []workload{
			{name: "reset later, one at random", main: true, ops: len(moved), supported: canReset, work: func(t timers, ops int) int {
				return t.reset(moved[:ops], later)
			}},
			{name: "reset later, one of 1,000", ops: len(warm), supported: canReset, work: func(t timers, ops int) int {
				return t.reset(warm[:ops], later+time.Second/2)
			}},
			{
				name: "reset to a known time, one at random", ops: len(known), supported: func(t timers) bool { return t.supports(featureResetAt) },
				work: func(t timers, ops int) int { return t.resetAt(known[:ops], when) },
			},
			{name: "reset earlier, one at random", ops: len(pulled), supported: canReset, work: func(t timers, ops int) int {
				return t.reset(pulled[:ops], earlier)
			}},
			{
				name: "stop, one at random", ops: len(gone),
				work:    func(t timers, ops int) int { return t.stop(gone[:ops]) },
				cleanup: func(t timers, ops int) int { return t.refill(gone[:ops]) },
			},
		} {
			s.runRound(w, round, instances)
		}
	}
	return nil
}

// randomIndexes returns random indexes below n.
func randomIndexes(n int) []int {
	indexes := make([]int, min(n, 200_000))
	for i := range indexes {
		indexes[i] = rand.IntN(n)
	}
	return indexes
}

// distinctIndexes returns random indexes below n, each at most once, about a fifth of all.
func distinctIndexes(n int) []int {
	return rand.Perm(n)[:min(n/5+1, 200_000)]
}

// hotIndexes returns random indexes below hotTimers, so that each occurs often.
func hotIndexes(n int) []int {
	indexes := make([]int, min(n, 400_000))
	for i := range indexes {
		indexes[i] = rand.IntN(min(n, hotTimers))
	}
	return indexes
}

// growthBytes is the number of bytes that all contenders together take per timer in growth, garbage included.
const growthBytes = 700

// growth measures how the cost of operations grows with the number of outstanding timers.
func growth(s *scenarioRun) error {
	sizes := []int{s.n / 10, s.n}
	if s.opts.Full {
		sizes = []int{s.n / 100, s.n / 10, s.n, 10 * s.n}
	}
	total := s.n
	defer func() { s.n = total }()
	for _, n := range sizes {
		if n < 1 || s.ctx.Err() != nil {
			continue
		}
		if memory := machine().memory; memory > 0 && int64(n)*growthBytes > memory/2 {
			s.fail("std", n, errors.New(tooMuchMemory))
			continue
		}
		s.n = n
		instances, done := s.instances(n, notVariant)
		for round := range s.rounds() {
			indexes, gone := randomIndexes(n), distinctIndexes(n)
			for _, w := range []workload{
				{name: "arm and stop", main: true, ops: 200_000, work: func(t timers, ops int) int { return t.armAndStop(0, ops) }},
				{
					name: "reset later, one at random", ops: len(indexes), supported: func(t timers) bool { return t.supports(featureReset) },
					work: func(t timers, ops int) int {
						return t.reset(indexes[:ops], 3*farAhead+time.Duration(round)*time.Second)
					},
				},
				{
					name: "stop, one at random", ops: len(gone),
					work:    func(t timers, ops int) int { return t.stop(gone[:ops]) },
					cleanup: func(t timers, ops int) int { return t.refill(gone[:ops]) },
				},
			} {
				s.runRound(w, round, instances)
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

// series returns, for each contender, the median against the number of timers.
func (m *measurement) series() (all []Series) {
	at := map[string]int{}
	for _, r := range m.rows {
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
