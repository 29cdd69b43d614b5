package bench

import (
	"strings"
	"testing"
)

func reportOf(better string, rows ...Row) Report {
	return Report{Scenarios: []Scenario{{Name: "s", Measures: []Measure{{Name: "m", Unit: "ns", Better: better, Rows: rows}}}}}
}

func TestAChangeCountsIfItIsMoreThanTheNoise(t *testing.T) {
	around := func(x, by float64) Spread { return Spread{x * (1 - by), x, x * (1 + by), 5} }
	for _, c := range []struct {
		name           string
		old, now       Spread
		better         string
		slower, faster bool
	}{
		{"twice as long", around(100, 0.05), around(200, 0.05), Lower, true, false},
		{"half as long", around(100, 0.05), around(50, 0.05), Lower, false, true},
		{"half the rate", around(100, 0.05), around(50, 0.05), Higher, true, false},
		{"twice the rate", around(100, 0.05), around(200, 0.05), Higher, false, true},
		{"a fifth more, quiet", around(100, 0.01), around(120, 0.01), Lower, true, false},
		{"a fifth more, noisy", around(100, 0.15), around(120, 0.15), Lower, false, false},
		{"four percent more, quiet", around(100, 0), around(104, 0), Lower, false, false},
		{"a quarter more, in one round", Spread{100, 100, 100, 1}, Spread{125, 125, 125, 1}, Lower, false, false},
		{"half more, in one round", Spread{100, 100, 100, 1}, Spread{150, 150, 150, 1}, Lower, true, false},
	} {
		got := Compare(reportOf(c.better, Row{Contender: "foliot", Value: c.old}), reportOf(c.better, Row{Contender: "foliot", Value: c.now})).Changes
		if len(got) != 1 || got[0].Slower() != c.slower || got[0].Faster() != c.faster {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestAComparisonShowsTheWorstFirstAndHowTheConditionsDiffer(t *testing.T) {
	row := func(contender string, n int, x float64) Row {
		return Row{Contender: contender, N: n, Value: Spread{x, x, x, 3}}
	}
	before := reportOf(Lower, row("std", 5, 100), row("foliot", 5, 10), row("heap", 5, 10), row("thw", 5, 10), row("gost", 5, 1))
	after := reportOf(Lower, row("std", 5, 200), row("foliot", 5, 15), row("heap", 5, 40), row("thw", 5, 5), row("foliot", 7, 1))
	before.Environment.Go, after.Environment.Go = "go1.26", "go1.27"
	c := Compare(before, after)
	if c.Unmatched != 2 {
		t.Errorf("%d figures in one report only, want 2", c.Unmatched)
	}
	var out strings.Builder
	if err := c.Table(&out, Style{}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	last := -1
	for _, want := range []string{"Go: go1.26, then go1.27", "Worse", "heap", "std", "foliot", "Better", "thw", "3 worse, 1 better, 0 the same", "2 in one report only", "The standard library is 0.50x itself"} {
		i := strings.Index(text, want)
		if i <= last {
			t.Errorf("%q is missing or out of order in:\n%s", want, text)
		}
		last = i
	}
	if strings.Contains(text, "\x1b") {
		t.Error("colours although the style has none")
	}
}

func TestFiguresWithoutABetterDirectionAreNotCompared(t *testing.T) {
	r := reportOf("", Row{Contender: "foliot", Value: Spread{1, 1, 1, 1}})
	zero := reportOf(Lower, Row{Contender: "foliot", Value: Spread{0, 0, 0, 1}})
	if got := append(Compare(r, r).Changes, Compare(zero, zero).Changes...); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
