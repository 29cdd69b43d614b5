package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/foliot-go/foliot/bench"
)

const hostile = `</title></style><script>alert("1")</script>&amp;'"<b onmouseover=x>`

// A report is read from a file, which is untrusted input.
func TestNamesCannotBecomeMarkup(t *testing.T) {
	text, err := json.Marshal(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	text, err = json.Marshal(poison(tree))
	if err != nil {
		t.Fatal(err)
	}
	r := new(bench.Report)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	page := parse(t, render(t, r))
	check := func(where string, root *element) {
		if n := len(root.named("script", "b")) - len(root.class("tally")); where != "page" && n > 0 || len(root.named("script")) > 0 {
			t.Errorf("%s: a name became an element", where)
		}
		for _, e := range root.all(func(e *element) bool { return e.attr["onmouseover"] != "" }) {
			t.Errorf("%s: a name became an attribute of <%s>", where, e.name)
		}
	}
	check("page", page)
	for _, want := range []string{r.Scenarios[0].Title, r.Scenarios[0].About, r.Contenders[1].Title, r.Environment.CPU} {
		if !strings.Contains(want, "<script>") || !strings.Contains(page.text, want) {
			t.Errorf("%q is not on the page literally", want)
		}
	}
	for _, p := range Pictures(r) {
		check(p.File(), parse(t, picture(t, r, p)))
	}
}

// poison appends hostile markup to all strings, except to those that identify something.
func poison(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch key {
			case "kind", "when", "better", "mode", "contender", "base":
			case "name":
				if v["points"] == nil && v["kind"] == nil && v["series"] == nil && v["rows"] == nil {
					v[key] = poison(value)
				}
			default:
				v[key] = poison(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = poison(v[i])
		}
	case string:
		return v + hostile
	}
	return v
}

// Each of these reports must give a page without an error, a panic or a NaN.
func TestPageHandlesMissingFigures(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	row := func(contender string, v float64) bench.Row {
		return bench.Row{Contender: contender, Value: bench.Spread{Min: v, Median: v, Max: v, Rounds: 3}}
	}
	measure := func(rows ...bench.Row) bench.Scenario {
		return bench.Scenario{Name: "s", Title: "S", Measures: []bench.Measure{{Name: "m", Unit: "ns", Better: bench.Lower, Base: "std", Main: true, Rows: rows}}}
	}
	plot := func(name string, log bool, points ...[2]float64) bench.Scenario {
		return bench.Scenario{Name: "s", Title: "S", Plots: []bench.Plot{{
			Name: name, Title: "P", X: bench.Axis{Label: "x", Log: log}, Y: bench.Axis{Label: "y", Unit: "ns", Log: log},
			Series: []bench.Series{{Contender: "std", Points: points}},
		}}}
	}
	odd := row("odd", 1)
	odd.Ratio = bench.Spread{Min: 0, Median: nan, Max: inf, Rounds: 3}
	wild := row("wild", 1)
	wild.Ratio = bench.Spread{Min: 1.5, Median: 2, Max: inf, Rounds: 3}
	failed := bench.Row{Contender: "std", Error: "it did not run"}
	for name, tt := range map[string]struct {
		scenario bench.Scenario
		want     string
	}{
		"nothing at all":              {bench.Scenario{}, "Nothing was measured"},
		"no rows":                     {measure(), "Nothing was measured"},
		"all failed":                  {measure(failed), "it did not run"},
		"figures that are no numbers": {measure(row("std", nan), row("a", inf)), "–"},
		"ratios that are no numbers":  {measure(row("std", 1), odd), "odd"},
		"a spread without bounds":     {measure(row("std", 1), wild), "2× better"},
		"zero":                        {measure(row("std", 0)), "0\u00a0ns"},
		"a plot without points":       {plot(bench.PlotGrowth, true), "nothing to draw"},
		"points that are no numbers":  {plot(bench.PlotGrowth, true, [2]float64{nan, 1}, [2]float64{1, inf}), "nothing to draw"},
		"one point":                   {plot(bench.PlotGrowth, true, [2]float64{1000, 5}), "5\u00a0ns at 1\u00a0k"},
		"zero on logarithmic axes":    {plot(bench.PlotGrowth, true, [2]float64{0, 1}, [2]float64{10, 0}), "0\u00a0ns at 10"},
		"a line with a hole":          {plot(bench.PlotCPU, false, [2]float64{0, 1}, [2]float64{1, nan}, [2]float64{2, 3}), "3\u00a0ns at 2"},
		"all the same":                {plot(bench.PlotCPU, false, [2]float64{5, 0}, [2]float64{5, 0}), "0\u00a0ns at 5"},
		"one bar":                     {plot(bench.PlotMemory, true, [2]float64{1e6, 48}), "48\u00a0ns"},
		"bars of nothing":             {plot(bench.PlotMemory, true, [2]float64{1e6, 0}), "0\u00a0ns"},
		"a plot of an unknown name":   {plot("new", false, [2]float64{1, 2}), "2\u00a0ns at 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &bench.Report{Scenarios: []bench.Scenario{tt.scenario}}
			text := render(t, r)
			page := parse(t, text)
			if !strings.Contains(page.text, tt.want) {
				t.Errorf("the page does not say %q", tt.want)
			}
			body := text[strings.Index(text, "<body>"):]
			for _, wrong := range []string{"NaN", "Inf", "%!", "<no value>", "ZgotmplZ"} {
				if strings.Contains(body, wrong) {
					t.Errorf("the page has %s", wrong)
				}
			}
			for _, svg := range page.class("plot") {
				checkInside(t, svg)
			}
			for _, p := range Pictures(r) {
				checkInside(t, parse(t, picture(t, r, p)).children[0])
			}
		})
	}
}

func TestInterruptedRunSaysSo(t *testing.T) {
	r := sample(t)
	if strings.Contains(render(t, r), "was ended early") {
		t.Error("the page of a complete run says that it was interrupted")
	}
	r.Interrupted = true
	if !strings.Contains(render(t, r), "was ended early") {
		t.Error("the page of an interrupted run does not say so")
	}
}

func TestUnknownFactsAreLeftOut(t *testing.T) {
	page := parse(t, render(t, &bench.Report{Environment: bench.Environment{Go: "go1.26", When: time.Time{}}}))
	if text := page.id(t, "summary").text; strings.Contains(text, "0001") || strings.Contains(text, "Memory") || strings.Contains(text, "Kernel") {
		t.Errorf("unknown facts are shown: %q", text)
	}
}
