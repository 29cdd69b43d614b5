package bench

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func testRun(rounds int) *scenarioRun {
	return newScenarioRun(context.Background(), Options{Rounds: rounds, Timers: 10}.withDefaults())
}

func fakeInstances(names ...string) (all []*instance) {
	for _, name := range names {
		in := &instance{opsPerTurn: map[string]int{}, timers: newTimerSet(timerFuncs[int]{})}
		in.Name = name
		all = append(all, in)
	}
	return all
}

func TestInstancesTakeTurnsToGoFirst(t *testing.T) {
	s := testRun(3)
	instances := fakeInstances("std", "heap", "foliot")
	var order []string
	for _, in := range instances {
		in.opsPerTurn["work"] = 1
	}
	names := map[timers]string{}
	for _, in := range instances {
		names[in.timers] = in.Name
	}
	for round := range s.rounds() {
		s.runRound(workload{name: "work", ops: 1, work: func(t timers, _ int) int { order = append(order, names[t]); return 0 }}, round, instances)
	}
	want := []string{"std", "heap", "foliot", "heap", "foliot", "std", "foliot", "std", "heap"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}

func TestAnInstanceWhoseOperationsFailIsExcludedAndTheReportSaysWhy(t *testing.T) {
	s := testRun(3)
	instances := fakeInstances("std", "foliot")
	calls := 0
	for round := range s.rounds() {
		s.runRound(workload{name: "work", ops: 10, work: func(t timers, ops int) int {
			if t == instances[1].timers {
				calls++
				return 3
			}
			return 0
		}}, round, instances)
	}
	if calls != 1 {
		t.Errorf("it was called %d times, want once", calls)
	}
	rows := s.report(scenario{name: "x"}, nil).Measures[0].Rows
	if len(rows) != 2 || rows[1].Contender != "foliot" || !strings.Contains(rows[1].Error, "work: 3 of 1 operations failed") {
		t.Errorf("rows %+v", rows)
	}
}

func TestSlowInstancesDoFewerOperationsInATurn(t *testing.T) {
	instances := fakeInstances("std", "foliot")
	slow := workload{name: "work", ops: 1000, work: func(_ timers, ops int) int { time.Sleep(time.Duration(ops) * time.Millisecond); return 0 }}
	if _, err := instances[0].run(slow, 50*time.Millisecond); err != nil || instances[0].opsPerTurn["work"] > 100 {
		t.Errorf("%d operations of a millisecond in a turn of 50 ms, error %v", instances[0].opsPerTurn["work"], err)
	}
	fast := workload{name: "work", ops: 1000, work: func(timers, int) int { return 0 }}
	if _, err := instances[1].run(fast, 50*time.Millisecond); err != nil || instances[1].opsPerTurn["work"] != 1000 {
		t.Errorf("%d operations that take no time, error %v, want all 1000", instances[1].opsPerTurn["work"], err)
	}
}

func TestWorkOnOtherThreadsCounts(t *testing.T) {
	got, err := measureCost(1, false, func() int {
		return parallel(2, 2, func(int, int) int {
			for cpu := processCPU(); processCPU()-cpu < 20*time.Millisecond; {
				runtime.Gosched()
			}
			return 0
		})
	})
	if err != nil || got.cpu < 20e6 {
		t.Errorf("%+v, error %v, want at least 20 ms", got, err)
	}
}

func TestAllocationsAreCountedPerOperation(t *testing.T) {
	kept := make([]*int, 1000)
	got, err := measureCost(len(kept), true, func() int {
		for i := range kept {
			kept[i] = new(int)
		}
		return 0
	})
	if err != nil || got.allocs < 1 || got.allocs > 1.5 {
		t.Errorf("%v allocations, error %v, want one", got.allocs, err)
	}
	runtime.KeepAlive(kept)
}

func TestParallelDividesAllOperationsAmongGoroutines(t *testing.T) {
	for _, ops := range []int{0, 1, 7, 1000} {
		done := make([]int, ops)
		failed := parallel(3, ops, func(from, to int) int {
			for i := from; i < to; i++ {
				done[i]++
			}
			return to - from
		})
		if failed != ops || slices.ContainsFunc(done, func(n int) bool { return n != 1 }) {
			t.Errorf("%d operations: %d counted, done %v", ops, failed, done)
		}
	}
}

func TestHandOverStopsEachOnAnotherGoroutine(t *testing.T) {
	seen := make([]int, 1234)
	failed := handOver(len(seen), func(i int) int { return i }, func(i int) bool {
		seen[i]++
		return i%100 != 0
	})
	if failed != 13 || slices.ContainsFunc(seen, func(n int) bool { return n != 1 }) {
		t.Errorf("%d failed, want 13; seen %v", failed, seen)
	}
}

func TestAPairTakesTurnsHasRatiosToItsBaseAndFailsWithAnOperation(t *testing.T) {
	s := testRun(3)
	p := pair{name: "work", base: "goroutines", ours: "tasks"}
	var order []string
	for range 2 {
		err := p.round(
			s, 10,
			func() int { order = append(order, "base"); time.Sleep(time.Millisecond); return 0 },
			func() int { order = append(order, "ours"); return 0 },
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"base", "ours", "ours", "base"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	got := s.report(scenario{}, nil)
	wall := got.Measures[1]
	if wall.Base != "goroutines" || wall.Rows[1].Contender != "tasks" || wall.Rows[1].Ratio.Rounds != 2 || wall.Rows[1].Ratio.Min < 1 {
		t.Errorf("%+v", wall)
	}
	if err := p.round(s, 10, func() int { return 0 }, func() int { return 3 }); err == nil || !strings.Contains(err.Error(), "work: 3 of 10") {
		t.Errorf("error %v", err)
	}
}

func TestABurstNoticesTimersThatFireEarly(t *testing.T) {
	b := newBurst(100, func() time.Duration { return time.Hour })
	_, _, err := b.run(context.Background(), func(_ time.Duration, f func()) error { f(); return nil })
	log := newLateLog()
	for _, late := range b.late {
		log.add(late)
	}
	s := testRun(1)
	log.addTo(s, "foliot", 100)
	if err != nil || log.early != 100 {
		t.Errorf("%d early, error %v, want all of them", log.early, err)
	}
	if row := s.report(scenario{}, nil).Measures[0].Rows[0]; row.Early != 100 {
		t.Errorf("row %+v, want 100 early", row)
	}
}

func TestABurstEndsWithTheErrorOfArming(t *testing.T) {
	wrong := errors.New("failed")
	_, _, err := newBurst(10, between(1, 2)).run(context.Background(), func(time.Duration, func()) error { return wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("error %v, want %v", err, wrong)
	}
}

func TestLatenessIsTheMedianByRoundAndTheTailOfTheOtherRounds(t *testing.T) {
	log := newLateLog()
	for _, step := range []int{1, 2, 2} {
		for i := 1; i <= 1000; i++ {
			log.add(time.Duration(i*step) * time.Microsecond)
		}
		log.endRound()
	}
	s := testRun(3)
	log.addTo(s, "std", 1)
	got := map[string]Spread{}
	for _, m := range s.report(scenario{}, nil).Measures {
		got[m.Name] = m.Rows[0].Value
	}
	if m := got["late by, median"]; m.Min != 500 || m.Max != 1000 {
		t.Errorf("medians %+v, want 500 and 1,000 µs", m)
	}
	if m := got["late by, 99 of 100 less than"]; m.Rounds != 3 || m.Median < 1955 || m.Median > 1965 || m.Max < 1975 || m.Max > 1985 {
		t.Errorf("99 of 100: %+v, want 1,960 µs or so of a round with each step, and 1,980 µs of the two others", m)
	}
	if m := got["late by, at most"].Median; m < 2000 || m > 2003 {
		t.Errorf("at most: %v, want 2,000 µs", m)
	}
	if c := log.curve("std").Points; c[0][0] != 0 || c[len(c)-1][0] != 1 || c[len(c)-1][1] < c[0][1] {
		t.Errorf("curve %v", c)
	}
}

// lateIn returns a run with how late timers of std and foliot were in three rounds, those of foliot much later in some.
func lateIn(each, late int, rounds ...int) *scenarioRun {
	s := testRun(3)
	for _, name := range []string{"std", "foliot"} {
		log := newLateLog()
		for round := range 3 {
			for i := 1; i <= each; i++ {
				log.add(time.Duration(i) * time.Microsecond)
			}
			if name == "foliot" && slices.Contains(rounds, round) {
				for range late {
					log.add(time.Second)
				}
			}
			log.endRound()
		}
		log.addTo(s, name, 1)
	}
	return s
}

func TestLateTimersInOneRoundAreNoVerdict(t *testing.T) {
	for _, c := range []struct {
		why     string
		s       *scenarioRun
		measure string
		want    Verdict
	}{
		{"late in one round", lateIn(5000, 50, 1), "late by, 999 of 1,000 less than", Even},
		{"late in two rounds", lateIn(5000, 50, 0, 2), "late by, 999 of 1,000 less than", Worse},
		{"too few timers", lateIn(1000, 50, 0, 1, 2), "late by, 999 of 1,000 less than", Unknown},
		{"enough timers for this percentile", lateIn(1000, 50, 0, 1, 2), "late by, 99 of 100 less than", Worse},
		{"a single timer", lateIn(5000, 50, 0, 1, 2), "late by, at most", Unknown},
	} {
		found := false
		for _, m := range c.s.report(scenario{}, nil).Measures {
			if m.Name != c.measure {
				continue
			}
			found = true
			if v := m.Rows[1].Ratio.Verdict(); m.Rows[1].Contender != "foliot" || v != c.want {
				t.Errorf("%s: %+v is %q, want %q", c.why, m.Rows[1], v, c.want)
			}
		}
		if !found {
			t.Errorf("%s: there is no measure %q", c.why, c.measure)
		}
	}
}
