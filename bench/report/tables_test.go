package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// oneMeasureReport returns a report with one main measure of which lower is better. Each line such as "ours 100 2.5" is
// a contender, a number of timers and a figure.
func oneMeasureReport(t testing.TB, lines ...string) *bench.Report {
	t.Helper()
	m := bench.Measure{Name: "arm", Unit: "ns", Better: bench.Lower, Base: "std", Main: true}
	for _, line := range lines {
		var row bench.Row
		var v float64
		if _, err := fmt.Sscan(line, &row.Contender, &row.N, &v); err != nil {
			t.Fatal(err)
		}
		row.Value = bench.Spread{Min: v, Median: v, Max: v, Rounds: 1}
		m.Rows = append(m.Rows, row)
	}
	return &bench.Report{
		Contenders: []bench.Contender{
			{Name: "std", Title: "Standard", Kind: bench.Standard},
			{Name: "ours", Title: "Ours", Kind: bench.Ours},
			{Name: "peer", Title: "Peer", Kind: bench.Peer},
		},
		Scenarios: []bench.Scenario{{Name: "s", Title: "S", Measures: []bench.Measure{m}}},
	}
}

// tablesText writes tables as text: a line for the columns and one for each contender. The best figures are in
// asterisks.
func tablesText(tables []table) string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "[%s]", t.Caption)
		for _, c := range t.Columns {
			fmt.Fprintf(&b, " | %s", c.Title)
		}
		b.WriteString("\n")
		for _, l := range t.Lines {
			b.WriteString(l.Contender)
			for _, c := range l.Cells {
				v := c.Value
				if c.Best {
					v = "*" + v + "*"
				}
				fmt.Fprintf(&b, " | %s", v)
			}
			b.WriteString("\n")
		}
	}
	return strings.ReplaceAll(b.String(), look.NBSP, " ")
}

func TestAMeasureWithSeveralNumbersOfTimersHasItsOwnTable(t *testing.T) {
	r := oneMeasureReport(t, "ours 100 2", "ours 1000 3", "std 1000 5", "peer 100 1")
	got := tablesText(buildTables(r.Scenarios[0], newPalette(r)))
	want := `[arm] | 100 | 1 k
Ours | 2 ns | *3 ns*
Peer | *1 ns* | –
Standard | – | 5 ns
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestMeasuresWithTheSameNumberShareATableTheMainOneFirst(t *testing.T) {
	r := oneMeasureReport(t, "std 100 2", "ours 100 1")
	s := &r.Scenarios[0]
	minor, other := s.Measures[0], s.Measures[0]
	minor.Name, minor.Main, minor.Better = "minor", false, bench.Higher
	other.Name, other.Main, other.Rows = "other", false, oneMeasureReport(t, "std 5 7").Scenarios[0].Measures[0].Rows
	s.Measures = []bench.Measure{minor, s.Measures[0], other}
	got := tablesText(buildTables(*s, newPalette(r)))
	want := `[] | arm | minor
Standard | 2 ns | *2 ns*
Ours | *1 ns* | 1 ns
[] | other
Standard | 7 ns
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAContenderThatFiresEarlyOrFailsIsNeverTheBest(t *testing.T) {
	r := oneMeasureReport(t, "std 0 5", "ours 0 7", "peer 0 1")
	rows := r.Scenarios[0].Measures[0].Rows
	best := func() string { return tablesText(buildTables(r.Scenarios[0], newPalette(r))) }
	if !strings.Contains(best(), "*1 ns*") {
		t.Errorf("the best figure is not marked:\n%s", best())
	}
	rows[2].Early = 1
	if !strings.Contains(best(), "*5 ns*") || strings.Contains(best(), "*1 ns*") {
		t.Errorf("a contender with early fires is the best:\n%s", best())
	}
	rows[2].Early, rows[2].Error = 0, "stuck"
	if !strings.Contains(best(), "*5 ns*") || strings.Contains(best(), "*1 ns*") {
		t.Errorf("a contender that failed is the best:\n%s", best())
	}
}

func TestSummaryListsContendersThatAreBetterThanAllOfFoliot(t *testing.T) {
	const heading = "Where another is better than all of Foliot"
	for name, tt := range map[string]struct {
		rows   []string
		higher bool
		want   string
	}{
		"a peer is better":             {[]string{"std 1 9", "ours 1 5", "peer 1 2"}, false, "Peer has 2 ns, Ours has 5 ns"},
		"more is better":               {[]string{"std 1 9", "ours 1 5", "peer 1 2"}, true, ""},
		"a peer is worse":              {[]string{"std 1 9", "ours 1 2", "peer 1 5"}, false, ""},
		"hardly a difference":          {[]string{"std 1 9", "ours 1 2.01", "peer 1 2"}, false, ""},
		"the base is no peer":          {[]string{"std 1 1", "ours 1 2"}, false, ""},
		"Foliot does not take part":    {[]string{"std 1 9", "peer 1 5"}, false, ""},
		"only with fewer timers":       {[]string{"ours 1 5", "peer 1 2", "ours 10 5", "peer 10 7"}, false, ""},
		"nothing is better than a bit": {[]string{"std 1 9", "ours 1 5", "peer 1 0"}, false, "Peer has 0 ns, Ours has 5 ns"},
	} {
		r := oneMeasureReport(t, tt.rows...)
		if tt.higher {
			r.Scenarios[0].Measures[0].Better = bench.Higher
		}
		text := strings.ReplaceAll(parse(t, render(t, r)).text, look.NBSP, " ")
		if strings.Contains(text, heading) != (tt.want != "") || !strings.Contains(text, tt.want) {
			t.Errorf("%s: the summary does not say %q", name, tt.want)
		}
	}
}

func TestSizesSayWhatTheyCount(t *testing.T) {
	for _, c := range []struct {
		of   string
		n    int
		want string
	}{{"", 1, "1 timer"}, {"", 20000, "20 k timers"}, {"a second", 1, "1 a second"}, {"a second", 3000, "3 k a second"}} {
		if got := strings.ReplaceAll(sizeText(bench.Measure{Of: c.of}, c.n), look.NBSP, " "); got != c.want {
			t.Errorf("%d of %q: %q, want %q", c.n, c.of, got, c.want)
		}
	}
	r := sample(t)
	page := parse(t, render(t, r))
	for _, s := range r.Scenarios {
		for _, m := range s.Measures {
			if m.Of != "" && !slices.ContainsFunc(page.named("th"), func(th *element) bool { return strings.HasSuffix(th.text, m.Of) }) {
				t.Errorf("%s, %s: no column says %q", s.Name, m.Name, m.Of)
			}
		}
	}
}
