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

func testSheet(rounds int) *sheet {
	return newSheet(context.Background(), Options{Rounds: rounds, Timers: 10}.withDefaults())
}

func fakeEntrants(names ...string) (all []*entrant) {
	for _, name := range names {
		e := &entrant{pace: map[string]int{}, timers: newFleet(funcs[int]{})}
		e.Name = name
		all = append(all, e)
	}
	return all
}

func TestEntrantsTakeTurnsToGoFirst(t *testing.T) {
	s := testSheet(3)
	field := fakeEntrants("std", "heap", "foliot")
	var order []string
	for _, e := range field {
		e.pace["work"] = 1
	}
	who := map[timers]string{}
	for _, e := range field {
		who[e.timers] = e.Name
	}
	for round := range s.rounds() {
		s.compete(contest{name: "work", ops: 1, work: func(t timers, _ int) int { order = append(order, who[t]); return 0 }}, round, field)
	}
	want := []string{"std", "heap", "foliot", "heap", "foliot", "std", "foliot", "std", "heap"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}

func TestAnEntrantWhoseOperationsFailIsOutAndTheReportSaysWhy(t *testing.T) {
	s := testSheet(3)
	field := fakeEntrants("std", "foliot")
	calls := 0
	for round := range s.rounds() {
		s.compete(contest{name: "work", ops: 10, work: func(t timers, ops int) int {
			if t == field[1].timers {
				calls++
				return 3
			}
			return 0
		}}, round, field)
	}
	if calls != 1 {
		t.Errorf("it was asked %d times, want once", calls)
	}
	rows := s.scenario(scenario{name: "x"}, nil).Measures[0].Rows
	if len(rows) != 2 || rows[1].Contender != "foliot" || !strings.Contains(rows[1].Error, "work: 3 of 1 operations failed") {
		t.Errorf("rows %+v", rows)
	}
}

func TestSlowEntrantsDoFewerOperationsInATurn(t *testing.T) {
	field := fakeEntrants("std", "foliot")
	slow := contest{name: "work", ops: 1000, work: func(_ timers, ops int) int { time.Sleep(time.Duration(ops) * time.Millisecond); return 0 }}
	if _, err := field[0].compete(slow, 50*time.Millisecond); err != nil || field[0].pace["work"] > 100 {
		t.Errorf("%d operations of a millisecond in a turn of 50, error %v", field[0].pace["work"], err)
	}
	fast := contest{name: "work", ops: 1000, work: func(timers, int) int { return 0 }}
	if _, err := field[1].compete(fast, 50*time.Millisecond); err != nil || field[1].pace["work"] != 1000 {
		t.Errorf("%d operations that take no time, error %v, want all", field[1].pace["work"], err)
	}
}

func TestWorkOnOtherThreadsCounts(t *testing.T) {
	got, err := take(1, false, func() int {
		return share(2, 2, func(int, int) int {
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
	got, err := take(len(kept), true, func() int {
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

func TestShareDividesAllOperationsAmongGoroutines(t *testing.T) {
	for _, ops := range []int{0, 1, 7, 1000} {
		done := make([]int, ops)
		lost := share(3, ops, func(from, to int) int {
			for i := from; i < to; i++ {
				done[i]++
			}
			return to - from
		})
		if lost != ops || slices.ContainsFunc(done, func(n int) bool { return n != 1 }) {
			t.Errorf("%d operations: %d counted, done %v", ops, lost, done)
		}
	}
}

func TestHandOverStopsEachOnAnotherGoroutine(t *testing.T) {
	seen := make([]int, 1234)
	lost := handOver(len(seen), func(i int) int { return i }, func(i int) bool {
		seen[i]++
		return i%100 != 0
	})
	if lost != 13 || slices.ContainsFunc(seen, func(n int) bool { return n != 1 }) {
		t.Errorf("%d lost, want 13; seen %v", lost, seen)
	}
}

func TestADuelTakesTurnsIsARatioToItsBaseAndFailsWithAnOperation(t *testing.T) {
	s := testSheet(3)
	d := duel{name: "work", base: "goroutines", ours: "tasks"}
	var order []string
	for range 2 {
		err := d.round(
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
	got := s.scenario(scenario{}, nil)
	wall := got.Measures[1]
	if wall.Base != "goroutines" || wall.Rows[1].Contender != "tasks" || wall.Rows[1].Ratio.Rounds != 2 || wall.Rows[1].Ratio.Min < 1 {
		t.Errorf("%+v", wall)
	}
	if err := d.round(s, 10, func() int { return 0 }, func() int { return 3 }); err == nil || !strings.Contains(err.Error(), "work: 3 of 10") {
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
	s := testSheet(1)
	log.write(s, "foliot", 100)
	if err != nil || log.early != 100 {
		t.Errorf("%d early, error %v, want all of them", log.early, err)
	}
	if row := s.scenario(scenario{}, nil).Measures[0].Rows[0]; row.Early != 100 {
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

func TestLatenessIsTheMedianByRoundAndTheTailOverAll(t *testing.T) {
	log := newLateLog()
	for round := range 2 {
		for i := 1; i <= 1000; i++ {
			log.add(time.Duration(i*(round+1)) * time.Microsecond)
		}
		log.endRound()
	}
	s := testSheet(2)
	log.write(s, "std", 1)
	got := map[string]Spread{}
	for _, m := range s.scenario(scenario{}, nil).Measures {
		got[m.Name] = m.Rows[0].Value
	}
	if m := got["late by, median"]; m.Min != 500 || m.Max != 1000 {
		t.Errorf("medians %+v, want 500 and 1,000 µs", m)
	}
	if m := got["late by, 99 of 100 less than"].Median; m < 1950 || m > 1970 {
		t.Errorf("99 of 100: %v, want 1,960 µs or so", m)
	}
	if m := got["late by, at most"].Median; m < 2000 || m > 2003 {
		t.Errorf("at most: %v, want 2,000 µs", m)
	}
	if c := log.curve("std").Points; c[0][0] != 0 || c[len(c)-1][0] != 1 || c[len(c)-1][1] < c[0][1] {
		t.Errorf("curve %v", c)
	}
}
