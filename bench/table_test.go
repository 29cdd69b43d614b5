package bench

import (
	"strings"
	"testing"
)

// mixedReport is a report with a win, a loss, an early timer and a failure.
func mixedReport() Report {
	one := func(x float64) Spread { return Spread{x, x, x, 3} }
	return Report{
		Environment: Environment{Go: "go1.26", OS: "linux", Arch: "amd64", Procs: 2, Mode: Quick},
		Contenders:  []Contender{{Name: "std", Title: "standard library"}, {Name: "foliot", Title: "Foliot"}, {Name: "heap", Title: "heap"}, {Name: "gost", Title: "gost"}},
		Scenarios: []Scenario{{Name: "s", Title: "Something", About: "What it is.", Measures: []Measure{
			{Name: "took", Unit: "ns", Better: Lower, Base: "std", Rows: []Row{
				{Contender: "std", N: 1000, Value: one(200)},
				{Contender: "foliot", N: 1000, Value: one(50), Ratio: Spread{3, 4, 5, 3}},
				{Contender: "heap", N: 1000, Value: one(400), Ratio: Spread{0.4, 0.5, 0.6, 3}},
				{Contender: "gost", N: 1000, Error: "broken"},
			}},
			{Name: "weighs", Unit: "B", Better: Lower, Base: "std", Rows: []Row{{Contender: "foliot", N: 1000, Value: one(29.4), Notes: []string{"of 5 in all"}, Early: 2}}},
		}}},
	}
}

func TestTablesShowWinsLossesEarlyTimersAndFailures(t *testing.T) {
	r := mixedReport()
	want := strings.TrimPrefix(`
| 1,000 timers | standard library | Foliot | heap |
|---|---:|---:|---:|
| took | 200 ns | 50.0 ns [4.0x, 3.0 to 5.0] | 400 ns [0.50x, 0.40 to 0.60] |
| weighs | - | 29.4 B 2 EARLY | - |

- gost: broken
- weighs: of 5 in all
`, "\n")
	if got := r.Scenarios[0].Markdown(r, Selection{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	var out strings.Builder
	if err := r.Table(&out, Style{Colour: true}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\x1b[32m50.0 ns", "\x1b[31m400 ns", "\x1b[31m29.4 B 2 EARLY", "\x1b[31mgost: broken", "What it is.", "GOMAXPROCS=2"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in:\n%s", part, out.String())
		}
	}
}

func TestATableThatIsTooWideIsSplit(t *testing.T) {
	r := mixedReport()
	var out strings.Builder
	if err := r.Table(&out, Style{Width: 60}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "  took "); n != 2 {
		t.Errorf("the line is there %d times, want twice:\n%s", n, out.String())
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("colours although the style has none")
	}
}

func TestNumbersAreWrittenForReading(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -5000: "-5,000"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Ratio(Spread{0.5, 0.987, 150, 3}); got != "1.0x, 0.50 to 150" {
		t.Errorf("ratio %q", got)
	}
	if got := Ratio(Spread{0.00123, 0.00456, 0.0123, 3}); got != "0.0046x, 0.0012 to 0.01" {
		t.Errorf("small ratio %q", got)
	}
	if got := Figure(Spread{}, "ns"); got != "-" {
		t.Errorf("not measured: %q", got)
	}
}
