package bench

import (
	"fmt"
	"slices"
	"strings"
)

// A summaryLine names a comparison of a part of Foliot with the standard library.
type summaryLine struct{ scenario, measure, contender string }

// summaryLines are the lines of the summary: at most maxSummary, first those in which Foliot is expected to be better,
// then those in which it is not. They are others than those of choices, which the same page has. Each has the largest number of timers that was measured.
var summaryLines = []summaryLine{
	{"idle-connections", "reset later, one at random: CPU", "foliot"},
	{"memory", "bytes each, with the callback", "foliot"},
	{"bulk-expiry", "processor time in all", "foliot"},
	{"idle-connections", "stop, one at random: CPU", "foliot"},
	{"accuracy", "processor time of a timer", "foliot"},
}

const (
	maxSummary   = 8
	minNotBetter = 2 // a summary of wins alone would mislead
)

// Summary returns a table of a few comparisons from all scenarios. It returns an error if the report does not have all
// of them, or if Foliot is better in so many that the choice is no longer a fair one.
func (r Report) Summary() (string, error) { return r.summary(summaryLines) }

func (r Report) summary(lines []summaryLine) (string, error) {
	if len(lines) > maxSummary {
		return "", fmt.Errorf("the summary has %d lines, at most %d are wanted", len(lines), maxSummary)
	}
	g := grid{{{text: "scenario"}, {text: "measure"}, {text: "timers"}, {text: r.title("std")}, {text: r.title("foliot")}}}
	notBetter, single := 0, false
	for _, l := range lines {
		s, m, err := r.find(l.scenario, l.measure)
		if err != nil {
			return "", err
		}
		ours, ok := m.largest(l.contender)
		if !ok {
			return "", fmt.Errorf("the report has no ratio of %s to the standard library for %s, %q", l.contender, l.scenario, l.measure)
		}
		base := m.Rows[slices.IndexFunc(m.Rows, func(row Row) bool { return row.Contender == "std" && row.N == ours.N })]
		if ours.Ratio.Median <= 1 {
			notBetter++
		}
		single = single || ours.Ratio.Rounds == 1
		g = append(g, []cell{{text: s.Title}, {text: m.Name}, {text: Thousands(ours.N)}, base.cell(m.Unit), ours.cell(m.Unit)})
	}
	if notBetter < minNotBetter {
		return "", fmt.Errorf("the summary has %d comparisons in which Foliot is no better, at least %d are wanted: choose others in summaryLines",
			notBetter, minNotBetter)
	}
	var b strings.Builder
	g.markdown(&b, 2)
	if single {
		b.WriteString("\nA ratio without a spread is of one round.\n")
	}
	return b.String(), nil
}

// find returns a scenario and one of its measures.
func (r Report) find(scenario, measure string) (Scenario, Measure, error) {
	i := slices.IndexFunc(r.Scenarios, func(s Scenario) bool { return s.Name == scenario })
	if i < 0 {
		return Scenario{}, Measure{}, fmt.Errorf("the report has no scenario %q", scenario)
	}
	s := r.Scenarios[i]
	j := slices.IndexFunc(s.Measures, func(m Measure) bool { return m.Name == measure })
	if j < 0 {
		return Scenario{}, Measure{}, fmt.Errorf("the report has no measure %q of %s", measure, scenario)
	}
	return s, s.Measures[j], nil
}

// largest returns the row of a contender with the largest number of timers. It returns false unless the row has a
// reliable ratio to the standard library.
func (m Measure) largest(contender string) (best Row, ok bool) {
	for _, row := range m.Rows {
		if row.Contender == contender && (!ok || row.N > best.N) {
			best, ok = row, true
		}
	}
	hasBase := slices.ContainsFunc(m.Rows, func(row Row) bool { return row.Contender == "std" && row.N == best.N })
	return best, ok && m.Base == "std" && hasBase && best.Ratio.Rounds > 0 && best.Error == ""
}
