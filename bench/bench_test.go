package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// tinyRun is a run that measures everything once, too briefly for the figures to mean anything.
func tinyRun() Options {
	o := Options{Timers: 200, Rounds: 1}
	if raceEnabled {
		for _, c := range contenders {
			if !c.hasRaces {
				o.Contenders = append(o.Contenders, c.Name)
			}
		}
	}
	return o
}

func TestARunMeasuresEveryScenarioWithoutErrors(t *testing.T) {
	o := tinyRun()
	var progress []string
	o.Progress = func(p Progress) { progress = append(progress, p.Scenario) }
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	planned := len(o.plan()) // without those that need servers, which have their own test
	if len(progress) != planned || len(r.Scenarios) != planned {
		t.Errorf("%d scenarios in Progress, %d measured, want %d each: %q", len(progress), len(r.Scenarios), planned, progress)
	}
	plots := map[string]bool{}
	for _, s := range r.Scenarios {
		if s.Error != "" {
			t.Errorf("%s: %s", s.Name, s.Error)
		}
		main := 0
		for _, m := range s.Measures {
			if m.Main {
				main++
			}
			for _, row := range m.Rows {
				checkRow(t, s, m, row)
			}
		}
		if main == 0 && s.Name != "go-benchmarks" {
			t.Errorf("%s: no main measure", s.Name)
		}
		for _, p := range s.Plots {
			plots[p.Name] = true
			checkPlot(t, s, p)
		}
	}
	for _, want := range []string{PlotGrowth, PlotLateness, PlotCPU, PlotMemory, PlotRateCPU, PlotRateLateness} {
		if !plots[want] {
			t.Errorf("no plot of %s; there are %v", want, plots)
		}
	}
	for _, l := range summaryLines {
		_, m, err := r.find(l.scenario, l.measure)
		if err != nil {
			t.Error("summary:", err)
		}
		if m.Base != "std" || !slices.ContainsFunc(m.Rows, func(row Row) bool { return row.Contender == l.contender }) {
			t.Errorf("summary: %s, %q is not a comparison of %s with the standard library", l.scenario, l.measure, l.contender)
		}
	}
	for _, l := range choices {
		if l.scenario == "" {
			continue
		}
		m, err := r.findPrefix(l.scenario, l.measure)
		if err != nil {
			t.Error("choice:", err)
		}
		if m.Base == "" || !slices.ContainsFunc(m.Rows, func(row Row) bool { return row.Contender == l.contender }) {
			t.Errorf("choice: %s, %q is not a comparison of %s", l.scenario, l.measure, l.contender)
		}
	}
	checkWritten(t, r)
}

// checkRow checks that figures are numbers, and that nothing of Foliot or of the standard library failed.
func checkRow(t *testing.T, s Scenario, m Measure, row Row) {
	t.Helper()
	c, ok := findContender(row.Contender)
	if !ok {
		t.Errorf("%s, %s: there is no contender %q", s.Name, m.Name, row.Contender)
	}
	own := c.Kind == Ours || c.Kind == Standard || c.Name == "heap" || c.Name == "lists"
	if own && (row.Error != "" || row.Early != 0) {
		t.Errorf("%s, %s, %s: error %q, %d early", s.Name, m.Name, row.Contender, row.Error, row.Early)
	}
	for _, spread := range []Spread{row.Value, row.Ratio} {
		if spread.Rounds > 0 && (math.IsNaN(spread.Median) || math.IsInf(spread.Median, 0) || spread.Min > spread.Median || spread.Median > spread.Max) {
			t.Errorf("%s, %s, %s: %+v", s.Name, m.Name, row.Contender, spread)
		}
	}
	if row.Value.Rounds == 0 && row.Error == "" {
		t.Errorf("%s, %s, %s: neither a figure nor an error", s.Name, m.Name, row.Contender)
	}
}

func checkPlot(t *testing.T, s Scenario, p Plot) {
	t.Helper()
	if len(p.Series) < 2 {
		t.Errorf("%s, %s: %d series", s.Name, p.Name, len(p.Series))
	}
	for _, line := range p.Series {
		if !slices.IsSortedFunc(line.Points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) }) {
			t.Errorf("%s, %s, %s: points are not sorted by x: %v", s.Name, p.Name, line.Contender, line.Points)
		}
	}
}

// checkWritten checks that each measure is in the tables, and that JSON keeps everything.
func checkWritten(t *testing.T, r Report) {
	t.Helper()
	var table, markdown bytes.Buffer
	if err := errors.Join(r.Table(&table, Style{Width: 100}), r.Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Scenarios {
		for _, m := range s.Measures {
			for _, text := range []string{table.String(), markdown.String()} {
				if !strings.Contains(text, s.Title) || !strings.Contains(text, m.Name) {
					t.Errorf("a table lacks %s, %s", s.Title, m.Name)
				}
			}
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("the report differs after a round trip through JSON: error %v", err)
	}
}

func TestOnlyTheRequestedScenariosAndContendersAreMeasured(t *testing.T) {
	r, err := Run(context.Background(), Options{Timers: 50, Rounds: 1, Scenarios: []string{"request-timeouts"}, Contenders: []string{"heap"}})
	if err != nil || len(r.Scenarios) != 1 || r.Scenarios[0].Name != "request-timeouts" {
		t.Fatalf("error %v, report %+v", err, r)
	}
	var seen []string
	for _, c := range r.Contenders {
		seen = append(seen, c.Name)
	}
	if !slices.Equal(seen, []string{"std", "heap"}) {
		t.Errorf("contenders %q, want the requested one and its base", seen)
	}
}

func TestUnknownNamesAndNegativeSizesAreRefused(t *testing.T) {
	for _, o := range []Options{{Timers: -1}, {Rounds: -1}, {Scenarios: []string{"watch"}}, {Contenders: []string{"nobody"}}} {
		if _, err := Run(context.Background(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestScenariosThatNeedServersAreLeftOutOfAQuickRunUnlessNamed(t *testing.T) {
	planned := func(o Options) (n int) {
		for _, s := range o.plan() {
			if s.needsServers {
				n++
			}
		}
		return n
	}
	if n := planned(Options{}); n != 0 {
		t.Errorf("a quick run has %d scenarios that need servers, want none", n)
	}
	if n := planned(Options{Scenarios: []string{"cluster-open"}}); n != 1 {
		t.Errorf("a run of one of them has %d, want 1", n)
	}
	if n := planned(Options{Full: true}); n < 3 {
		t.Errorf("a full run has %d scenarios that need servers, want all", n)
	}
}

func TestScenariosThatLeaveTracesRunLastAndThoseThatNeedAFreshProcessFirst(t *testing.T) {
	used, messy := false, false
	for _, s := range (Options{}).plan() {
		if messy && !s.leavesTraces {
			t.Errorf("%s runs after a scenario that leaves traces", s.name)
		}
		if used && s.needsFreshProcess {
			t.Errorf("%s does not run in a fresh process", s.name)
		}
		used, messy = used || !s.needsFreshProcess, s.leavesTraces
	}
	if !messy {
		t.Error("no scenario leaves traces")
	}
}

func TestScenariosAreShownInTheirOrderWhateverIsMeasuredFirst(t *testing.T) {
	var measured, want []Scenario
	for _, s := range (Options{Full: true}).plan() {
		measured = append(measured, Scenario{Name: s.name})
	}
	for _, s := range scenarios {
		want = append(want, Scenario{Name: s.name})
	}
	if reflect.DeepEqual(measured, want) {
		t.Fatal("the orders are the same, so this test shows nothing")
	}
	if sortAsShown(measured); !reflect.DeepEqual(measured, want) {
		t.Errorf("got %v, want %v", measured, want)
	}
}

func TestARunStopsWhenItsContextEndsAndKeepsItsFigures(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Run(ctx, Options{
		Timers: 50, Rounds: 1, Scenarios: []string{"wheel-ops", "wheel-memory"},
		Progress: func(p Progress) {
			if p.Index == 1 {
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) || !r.Interrupted {
		t.Errorf("error %v, interrupted %v, want the error of the context", err, r.Interrupted)
	}
	if len(r.Scenarios) != 1 || r.Scenarios[0].Name != "wheel-ops" || len(r.Contenders) == 0 {
		t.Errorf("report %+v, want only the first scenario", r)
	}
}

func TestAnInterruptedScenarioIsNoError(t *testing.T) {
	for _, sc := range scenarios {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r, err := Run(ctx, Options{Timers: 50, Rounds: 1, Scenarios: []string{sc.name}})
		if !errors.Is(err, context.Canceled) || len(r.Scenarios) != 0 {
			t.Errorf("%s: error %v, %+v", sc.name, err, r.Scenarios)
		}
		s := newScenarioRun(ctx, Options{Timers: 50, Rounds: 1}.withDefaults())
		if err := sc.run(s); err != nil {
			t.Errorf("%s: %v", sc.name, err)
		}
		for _, m := range s.report(sc, nil).Measures {
			t.Errorf("%s: %s was measured although the context had ended", sc.name, m.Name)
		}
	}
}
