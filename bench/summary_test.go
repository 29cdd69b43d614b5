package bench

import (
	"strings"
	"testing"
)

// summaryReport is a report with two wins, of which one has two sizes, and two losses.
func summaryReport() Report {
	one := func(x float64) Spread { return Spread{x, x, x, 3} }
	measure := func(name, unit string, rows ...Row) Measure {
		return Measure{Name: name, Unit: unit, Better: Lower, Base: "std", Rows: rows}
	}
	return Report{
		Contenders: []Contender{{Name: "std", Title: "standard library"}, {Name: "foliot", Title: "Foliot"}},
		Scenarios: []Scenario{
			{Name: "grow", Title: "Growth", Measures: []Measure{measure("arm", "ns",
				Row{Contender: "std", N: 1000, Value: one(100)},
				Row{Contender: "foliot", N: 1000, Value: one(100), Ratio: one(1)},
				Row{Contender: "std", N: 20000, Value: one(300)},
				Row{Contender: "foliot", N: 20000, Value: one(75), Ratio: Spread{3, 4, 5, 3}},
			)}},
			{Name: "few", Title: "A few", Measures: []Measure{
				measure("size", "B",
					Row{Contender: "std", N: 1, Value: one(128)},
					Row{Contender: "foliot", N: 1, Value: one(32), Ratio: Spread{4, 4, 4, 1}}),
				measure("stop", "ns",
					Row{Contender: "std", N: 1, Value: one(50)},
					Row{Contender: "foliot", N: 1, Value: one(100), Ratio: Spread{0.4, 0.5, 1.2, 3}}),
				measure("even", "ns",
					Row{Contender: "std", N: 1, Value: one(50)},
					Row{Contender: "foliot", N: 1, Value: one(50), Ratio: one(1)}),
				measure("broken", "ns",
					Row{Contender: "std", N: 1, Value: one(50)},
					Row{Contender: "foliot", N: 1, Value: one(50), Ratio: one(1), Error: "lost a timer"}),
				measure("no ratio", "ns",
					Row{Contender: "std", N: 1, Value: one(50)},
					Row{Contender: "foliot", N: 1, Value: one(0)}),
			}},
		},
	}
}

func TestTheSummaryHasTheRatiosOfTheLargestSizes(t *testing.T) {
	got, err := summaryReport().summary([]summaryLine{
		{"grow", "arm", "foliot"},
		{"few", "size", "foliot"},
		{"few", "stop", "foliot"},
		{"few", "even", "foliot"},
	})
	want := strings.TrimPrefix(`
| scenario | measure | timers | standard library | Foliot |
|---|---|---:|---:|---:|
| Growth | arm | 20,000 | 300 ns | 75.0 ns [4.0x, 3.0 to 5.0] |
| A few | size | 1 | 128 B | 32.0 B [4.0x] |
| A few | stop | 1 | 50.0 ns | 100 ns [0.50x, 0.40 to 1.2] |
| A few | even | 1 | 50.0 ns | 50.0 ns [1.0x, 1.0 to 1.0] |

A ratio without a spread is of one round.
`, "\n")
	if err != nil || got != want {
		t.Errorf("error %v, got:\n%s\nwant:\n%s", err, got, want)
	}
}

func TestAnUnfairOrIncompleteSummaryIsAnError(t *testing.T) {
	stop, even := summaryLine{"few", "stop", "foliot"}, summaryLine{"few", "even", "foliot"}
	for _, test := range []struct {
		want  string
		lines []summaryLine
	}{
		{"has 1 comparisons in which Foliot is no better", []summaryLine{{"grow", "arm", "foliot"}, {"few", "size", "foliot"}, stop}},
		{"has 9 lines", []summaryLine{stop, even, stop, even, stop, even, stop, even, stop}},
		{`no scenario "none"`, []summaryLine{stop, even, {"none", "arm", "foliot"}}},
		{`no measure "none" of few`, []summaryLine{stop, even, {"few", "none", "foliot"}}},
		{"no ratio of heap", []summaryLine{stop, even, {"few", "stop", "heap"}}},
		{"no ratio of foliot", []summaryLine{stop, even, {"few", "broken", "foliot"}}},
		{"no ratio of foliot", []summaryLine{stop, even, {"few", "no ratio", "foliot"}}},
	} {
		if _, err := summaryReport().summary(test.lines); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: error %v, want %q", test.lines, err, test.want)
		}
	}
}
