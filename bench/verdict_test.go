package bench

import (
	"strings"
	"testing"
)

func TestAVerdictNeedsAllRoundsAndADifference(t *testing.T) {
	for _, c := range []struct {
		ratio Spread
		want  Verdict
	}{
		{Spread{2, 3, 4, 3}, Better},
		{Spread{0.2, 0.3, 0.4, 3}, Worse},
		{Spread{0.5, 0.5, 0.5, 1}, Worse},
		{Spread{0.9, 3, 4, 3}, Even},
		{Spread{0.2, 0.3, 1.1, 3}, Even},
		{Spread{1.01, 1.04, 1.2, 3}, Even},
		{Spread{0.8, 0.97, 0.99, 3}, Even},
		{Spread{}, Unknown},
		{Spread{0, 0, 0, 3}, Unknown},
	} {
		if got := c.ratio.Verdict(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.ratio, got, c.want)
		}
	}
}

// lossReport is a report with four losses to the standard library, one of them the price of an option, and with rows
// that are no such losses.
func lossReport() Report {
	one := func(x float64) Spread { return Spread{x, x, x, 3} }
	base := func(name string, n int) Row { return Row{Contender: name, N: n, Value: one(100)} }
	row := func(name string, n int, ratio float64) Row {
		return Row{Contender: name, N: n, Value: one(100 / ratio), Ratio: one(ratio)}
	}
	broken := row("foliot", 1, 0.1)
	broken.Error = "lost a timer"
	return Report{
		Contenders: []Contender{
			{Name: "std", Title: "standard library", Kind: Standard},
			{Name: "goroutines", Title: "goroutines", Kind: Standard},
			{Name: "foliot", Title: "Foliot", Kind: Ours},
			{Name: "precise", Title: "Foliot, Precise", Kind: Ours, Price: "lo"},
			{Name: "heap", Title: "heap", Kind: Peer},
		},
		Scenarios: []Scenario{
			{Name: "one", Title: "One", Measures: []Measure{
				{Name: "arm", Unit: "ns", Better: Lower, Base: "std", Rows: []Row{
					base("std", 1), base("std", 2000), row("foliot", 1, 0.5), row("foliot", 2000, 2), row("heap", 2000, 0.1),
				}},
				{Name: "broken", Unit: "ns", Better: Lower, Base: "std", Rows: []Row{base("std", 1), broken}},
				{Name: "structure", Unit: "ns", Better: Lower, Base: "heap", Rows: []Row{base("heap", 1), row("foliot", 1, 0.1)}},
			}},
			{Name: "two", Title: "Two", Measures: []Measure{
				{Name: "load", Unit: "%", Better: Lower, Base: "std", Of: "a second", Rows: []Row{base("std", 3000), row("foliot", 3000, 0.25), row("precise", 3000, 0.1)}},
				{Name: "spawn", Unit: "ns", Better: Lower, Base: "goroutines", Rows: []Row{base("goroutines", 0), row("foliot", 0, 0.8)}},
			}},
		},
	}
}

func TestLossesToTheStandardLibraryAreListedTheWorstFirst(t *testing.T) {
	r := lossReport()
	want := strings.TrimPrefix(`
3 of the 5 figures of Foliot that are compared with the standard library are worse, the worst first. Worse means that every round says so and that the median is at least 5 % off. Figures that are the price of an option are not counted (1): processor time with Precise, lateness with Slack.

- Two: load, 3,000 a second: Foliot 400 %, standard library 100 % [0.25x, 0.25 to 0.25]
- One: arm: Foliot 200 ns, standard library 100 ns [0.50x, 0.50 to 0.50]
- Two: spawn: Foliot 125 ns, goroutines 100 ns [0.80x, 0.80 to 0.80]
`, "\n")
	if got := r.LossList(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	page, err := Splice([]byte("<!-- figures:worse -->\n<!-- /figures -->\n"), r)
	if err != nil || !strings.Contains(string(page), strings.TrimSpace(want)) {
		t.Errorf("error %v, page:\n%s", err, page)
	}
	var table, markdown strings.Builder
	if err := r.Table(&table, Style{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(markdown.String(), want) {
		t.Errorf("Markdown does not end with the list:\n%s", markdown.String())
	}
	if !strings.HasSuffix(table.String(), strings.ReplaceAll(strings.ReplaceAll(want, "\n\n", "\n"), "\n- ", "\n  ")) {
		t.Errorf("the table does not end with the list:\n%s", table.String())
	}
}

func TestAReportWithoutLossesSaysSo(t *testing.T) {
	r := lossReport()
	r.Scenarios = []Scenario{{Title: "One", Measures: []Measure{{Name: "arm", Base: "std", Rows: []Row{
		{Contender: "foliot", Value: Spread{1, 1, 1, 1}, Ratio: Spread{2, 2, 2, 1}},
	}}}}}
	if got := r.LossList(); !strings.HasPrefix(got, "None of the 1 figures") {
		t.Errorf("got %q", got)
	}
	r.Scenarios = nil
	if got := r.LossList(); got != "" {
		t.Errorf("nothing was compared, got %q", got)
	}
}

func TestSizesSayWhatTheyCount(t *testing.T) {
	r := lossReport()
	got := r.Scenarios[1].Markdown(r, Selection{Measures: []string{"load"}})
	want := "| Two | standard library | Foliot | Foliot, Precise |\n|---|---:|---:|---:|\n" +
		"| load, 3,000 a second | 100 % | 400 % [0.25x, 0.25 to 0.25] | 1000 % [0.10x, 0.10 to 0.10] |\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	r.Scenarios[1].Measures = r.Scenarios[1].Measures[:1]
	if got := r.Scenarios[1].Markdown(r, Selection{}); !strings.HasPrefix(got, "| 3,000 a second |") {
		t.Errorf("the only size is not in the corner:\n%s", got)
	}
}
