package dashboard

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/prometheus"
)

// dashboard has the fields of a Grafana dashboard that the tests look at.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []panel
	Templating    struct{ List []variable }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               *datasource
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []target
	FieldConfig              struct{ Defaults struct{ Unit string } }
}

type datasource struct{ Type, UID string }

type target struct {
	RefID, Expr, Format string
	Datasource          datasource
	Range, Instant      bool
}

type variable struct {
	Name, Type, AllValue string
	IncludeAll           bool
	Datasource           datasource
	Query                json.RawMessage
}

func load(t *testing.T) dashboard {
	t.Helper()
	data, err := os.ReadFile("../../../prometheus/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) == 0 {
		t.Fatal("there are no panels")
	}
	return d
}

// fill puts values in the place of variables, as Grafana does.
func fill(expr string) string {
	return strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$instance", ".*", "$runtime", ".*").Replace(expr)
}

// selectors returns the series that a query selects.
func selectors(t *testing.T, expr string) (all []*parser.VectorSelector) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(fill(expr))
	if err != nil {
		t.Fatalf("%v in\n%s", err, expr)
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			all = append(all, s)
		}
		return nil
	})
	return all
}

// exported returns the names of all series of a collector, and whether each is a histogram.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reg := client.NewPedanticRegistry()
	reg.MustRegister(prometheus.NewCollector(rt, nil))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = f.GetMetric()[0].Histogram != nil
	}
	return names
}

// metricOf returns the metric that a series is part of, or "".
func metricOf(series string, metrics map[string]bool) string {
	if _, ok := metrics[series]; ok {
		return series
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(series, suffix); ok && metrics[name] {
			return name
		}
	}
	return ""
}

func TestQueriesUseExistingMetrics(t *testing.T) {
	metrics := exported(t)
	used := map[string]bool{}
	for _, p := range load(t).Panels {
		for _, target := range p.Targets {
			for _, s := range selectors(t, target.Expr) {
				name := metricOf(s.Name, metrics)
				if name == "" {
					t.Errorf("%s: there is no metric %q", p.Title, s.Name)
				}
				used[name] = true
				for _, label := range []string{"instance", "runtime"} {
					if !slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == label }) {
						t.Errorf("%s: %s is not restricted to the %s that was chosen", p.Title, s.Name, label)
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if !used[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// A query of a histogram works with native histograms and with classic ones.
func TestHistogramQueriesHaveBothForms(t *testing.T) {
	metrics, found := exported(t), 0
	for _, p := range load(t).Panels {
		for _, target := range p.Targets {
			var native, classic bool
			for _, s := range selectors(t, target.Expr) {
				if name := metricOf(s.Name, metrics); metrics[name] {
					native = native || s.Name == name
					classic = classic || s.Name == name+"_bucket"
				}
			}
			if native != classic {
				t.Errorf("%s: native %v, classic %v in\n%s", p.Title, native, classic, target.Expr)
			}
			if native {
				found++
			}
		}
	}
	if found < 5 {
		t.Errorf("found %d queries of histograms, want at least 5: test is vacuous", found)
	}
}

func TestPanelsAreComplete(t *testing.T) {
	d := load(t)
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 39 {
		t.Errorf("uid %q, title %q, schema version %d", d.UID, d.Title, d.SchemaVersion)
	}
	ids := map[int]string{}
	for _, p := range d.Panels {
		if p.Title == "" || p.ID == 0 {
			t.Errorf("panel %d has the title %q", p.ID, p.Title)
		}
		if other, ok := ids[p.ID]; ok {
			t.Errorf("%s and %s have the id %d", other, p.Title, p.ID)
		}
		ids[p.ID] = p.Title
		if p.Type == "row" {
			if len(p.Targets) > 0 || p.GridPos.W != 24 || p.GridPos.H != 1 {
				t.Errorf("the row %s is not a row: %+v", p.Title, p)
			}
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%s has the description %q, the unit %q and %d queries", p.Title, p.Description, p.FieldConfig.Defaults.Unit, len(p.Targets))
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if target.RefID == "" || refs[target.RefID] || target.Range == target.Instant {
				t.Errorf("%s: the query %q is without a name or a kind, or a second one", p.Title, target.RefID)
			}
			refs[target.RefID] = true
			if want := (datasource{"prometheus", "${datasource}"}); target.Datasource != want || *p.Datasource != want {
				t.Errorf("%s: the data source is not the one that was chosen: %v", p.Title, target.Datasource)
			}
		}
	}
}

// The panels cover the grid without a gap, and each cell once.
func TestPanelsFillGrid(t *testing.T) {
	cells, bottom := map[[2]int]string{}, 0
	for _, p := range load(t).Panels {
		g := p.GridPos
		if g.X < 0 || g.Y < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("%s is outside: %+v", p.Title, g)
		}
		bottom = max(bottom, g.Y+g.H)
		for i := range g.W * g.H {
			cell := [2]int{g.X + i%g.W, g.Y + i/g.W}
			if other, ok := cells[cell]; ok {
				t.Fatalf("%s and %s overlap", other, p.Title)
			}
			cells[cell] = p.Title
		}
	}
	if len(cells) != 24*bottom {
		t.Errorf("the panels leave %d cells free", 24*bottom-len(cells))
	}
}

func TestVariablesAreDefinedBeforeUse(t *testing.T) {
	d := load(t)
	metrics := exported(t)
	used := regexp.MustCompile(`\$\{?(\w+)`)
	defined := map[string]bool{"__rate_interval": true, "__range": true}
	check := func(where, text string) {
		for _, m := range used.FindAllStringSubmatch(text, -1) {
			if !defined[m[1]] {
				t.Errorf("%s uses $%s, which is not defined", where, m[1])
			}
		}
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			check(v.Name, v.Datasource.UID)
			check(v.Name, string(v.Query))
			// A runtime without the label runtime must match, too.
			if !v.IncludeAll || v.AllValue != ".*" {
				t.Errorf("All of %s is %q", v.Name, v.AllValue)
			}
			m := regexp.MustCompile(`label_values\((\w+)`).FindStringSubmatch(string(v.Query))
			if m == nil || metricOf(m[1], metrics) == "" {
				t.Errorf("%s is made from no metric: %s", v.Name, v.Query)
			}
		}
		defined[v.Name] = true
	}
	for _, name := range []string{"datasource", "instance", "runtime"} {
		if !defined[name] {
			t.Errorf("there is no variable %s", name)
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			check(p.Title, target.Expr)
			check(p.Title, target.Datasource.UID)
		}
	}
}
