package bench

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRatiosSayHowManyTimesBetterWhateverTheMeasure(t *testing.T) {
	s := testRun(3)
	took := s.measure("took", "ns")
	took.add("std", 5, 100, 200, 300)
	took.add("foliot", 5, 50, 50, 100)
	took.add("foliot", 6, 1)
	rate := s.measure("rate", "M/s").higherIsBetter()
	rate.add("std", 5, 1, 2)
	rate.add("foliot", 5, 4, 2)
	s.measure("count", "").neutral().add("foliot", 5, 7)
	got := s.report(scenario{name: "x"}, nil).Measures
	if r := got[0].Rows[1].Ratio; r != (Spread{2, 3, 4, 3}) {
		t.Errorf("lower is better: %+v, want 2, 3, 4", r)
	}
	if r := got[0].Rows[2]; r.N != 6 || r.Ratio.Rounds != 0 {
		t.Errorf("a ratio without a base: %+v", r)
	}
	if r := got[0].Rows[0].Ratio; r.Rounds != 0 {
		t.Errorf("the base has a ratio to itself: %+v", r)
	}
	if r := got[1].Rows[1].Ratio; r != (Spread{1, 2.5, 4, 2}) {
		t.Errorf("higher is better: %+v, want 1, 2.5, 4", r)
	}
	if got[2].Better != "" || got[2].Rows[0].Ratio.Rounds != 0 {
		t.Errorf("neither is better: %+v", got[2])
	}
}

func TestRowsAreInTheOrderOfSizesAndContenders(t *testing.T) {
	s := testRun(1)
	m := s.measure("took", "ns")
	for _, r := range []struct {
		contender string
		n         int
	}{{"heap", 10}, {"foliot", 10}, {"foliot", 5}, {"std", 10}} {
		m.add(r.contender, r.n, 1)
	}
	s.fail("go-zero", 5, errors.New("broken"))
	var got []string
	for _, r := range s.report(scenario{}, nil).Measures[0].Rows {
		got = append(got, r.Contender)
	}
	if want := "foliot go-zero std foliot heap"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRoundsEndWhenThereWereEnoughOrTheTimeIsUp(t *testing.T) {
	for _, c := range []struct {
		rounds int
		limit  time.Duration
		want   int
	}{{9, time.Hour, 9}, {9, 0, 3}, {2, 0, 2}} {
		got := 0
		for range testRun(c.rounds).roundsWithin(c.limit) {
			got++
			time.Sleep(time.Microsecond)
		}
		if got != c.want {
			t.Errorf("%d rounds of %d within %v, want %d", got, c.rounds, c.limit, c.want)
		}
	}
}
