package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// A page is the data of the templates. This file chooses every word and number of it; the templates only place them.
type page struct {
	CSS, PlotCSS template.CSS
	Interrupted  bool
	When, Mode   string
	Where        []field
	Raced        []contenderGroup
	Tally        tally
	Base         string // names of the contenders that Foliot is compared with
	Overview     figure
	Worse, More  []finding // losses of Foliot, the greatest first; More is folded away
	Beaten       []finding
	Early        []finding
	Failed       []finding
	Sections     []section
	Rounds       int
	Timers       string
	Command      string
}

// A field is a line in a list of facts.
type field struct{ Name, Value string }

// A contenderGroup is the contenders of one kind.
type contenderGroup struct {
	Kind    string
	Members []contenderEntry
}

// A contenderEntry is a contender and a piece of its line, as in the plots.
type contenderEntry struct {
	Title, Module, Version string
	Swatch                 template.HTML
}

// A tally counts the comparisons of Foliot with the base.
type tally struct{ Better, Even, Worse int }

// All returns the number of comparisons.
func (t tally) All() int { return t.Better + t.Even + t.Worse }

func (t *tally) add(v bench.Verdict) {
	switch v {
	case bench.Better:
		t.Better++
	case bench.Even:
		t.Even++
	case bench.Worse:
		t.Worse++
	}
}

// A finding is a row that the summary lists.
type finding struct {
	Anchor, Scenario, Measure, Contender, What, Detail string
	ratio                                              float64 // of a loss
}

// A figure is a plot in both formats. Both are empty if there is nothing to draw.
type figure struct {
	Caption      string
	Wide, Narrow template.HTML
}

// A section is the part of the page about one scenario.
type section struct {
	Anchor, Name, Title, About, Error string
	Tally                             tally
	Early                             bool
	Ratios                            figure
	Tables                            []table
	Plots                             []figure
}

// shownLosses is the number of losses in the summary that are not folded away.
const shownLosses = 12

func newPage(r *bench.Report) *page {
	pal := newPalette(r)
	p := &page{
		CSS:         template.CSS(pageCSS),
		PlotCSS:     template.CSS(plotCSS),
		Interrupted: r.Interrupted,
		Mode:        r.Environment.Mode,
		Where:       environment(r.Environment),
		Raced:       contenderGroups(r, pal),
		Base:        allBaseNames(r, pal),
		Rounds:      r.Environment.Rounds,
		Timers:      look.Number(float64(r.Environment.Timers)),
		Command:     command(r.Environment),
	}
	if when := r.Environment.When; !when.IsZero() {
		p.When = when.UTC().Format("2 January 2006, 15:04 UTC")
	}
	p.Overview = figure{
		Wide:   template.HTML(ratioChart(overviewTitle, overview(r, pal), formatWide)),
		Narrow: template.HTML(ratioChart(overviewTitle, overview(r, pal), formatNarrow)),
	}
	for i, s := range r.Scenarios {
		sec := newSection(s, pal, fmt.Sprintf("scenario-%d", i+1))
		p.findings(s, pal, &sec)
		p.Tally.Better += sec.Tally.Better
		p.Tally.Even += sec.Tally.Even
		p.Tally.Worse += sec.Tally.Worse
		p.Sections = append(p.Sections, sec)
	}
	slices.SortStableFunc(p.Worse, func(a, b finding) int { return cmp.Compare(a.ratio, b.ratio) })
	first := min(len(p.Worse), shownLosses)
	p.Worse, p.More = p.Worse[:first], p.Worse[first:]
	return p
}

func newSection(s bench.Scenario, pal *palette, anchor string) section {
	sec := section{
		Anchor: anchor,
		Name:   s.Name,
		Title:  cmp.Or(s.Title, s.Name),
		About:  s.About,
		Error:  s.Error,
		Tables: buildTables(s, pal),
	}
	if groups := ratioGroups(s, pal, anyContender); len(groups) > 0 {
		sec.Ratios = figure{
			Caption: "Times better or worse than " + baseNames(s, pal) + ". The bar is the median of the rounds, the line through its end spans them.",
			Wide:    template.HTML(ratioChart(sec.Title, groups, formatWide)),
			Narrow:  template.HTML(ratioChart(sec.Title, groups, formatNarrow)),
		}
	}
	for _, plot := range s.Plots {
		sec.Plots = append(sec.Plots, figure{
			Caption: plot.Title,
			Wide:    template.HTML(chart(plot, pal, formatWide)),
			Narrow:  template.HTML(chart(plot, pal, formatNarrow)),
		})
	}
	return sec
}

// findings counts the comparisons of a scenario and collects the losses of Foliot, and the early fires and missing
// figures of all contenders.
func (p *page) findings(s bench.Scenario, pal *palette, sec *section) {
	for _, m := range s.Measures {
		for _, row := range m.Rows {
			c := pal.of(row.Contender)
			f := finding{Anchor: sec.Anchor, Scenario: sec.Title, Measure: m.Name, Contender: c.Title}
			if row.N > 0 {
				f.Measure += ", " + sizeText(m, row.N)
			}
			if row.Early > 0 {
				sec.Early = true
				p.early(f, look.Number(float64(row.Early))+" fired early")
			}
			if row.Error != "" {
				f.What = row.Error
				p.Failed = append(p.Failed, f)
			}
			if c.Kind != bench.Ours || !hasRatio(row) {
				continue
			}
			v := row.Ratio.Verdict()
			sec.Tally.add(v)
			if v == bench.Worse {
				f.What, f.ratio = verdictText(row.Ratio), row.Ratio.Median
				if text := roundsText(row.Ratio); text != "" {
					f.Detail = "rounds from " + text
				}
				p.Worse = append(p.Worse, f)
			}
		}
		if f, ok := beaten(m, pal); ok {
			f.Anchor, f.Scenario = sec.Anchor, sec.Title
			p.Beaten = append(p.Beaten, f)
		}
	}
}

// early adds an early fire, once for all measures of the same timers.
func (p *page) early(f finding, what string) {
	f.What = what
	if !slices.ContainsFunc(p.Early, func(g finding) bool {
		return g.Anchor == f.Anchor && g.Contender == f.Contender && g.What == f.What
	}) {
		p.Early = append(p.Early, f)
	}
}

// beaten reports whether a contender other than the base has a better figure than every part of Foliot. It looks at
// main measures, with the largest number of timers.
func beaten(m bench.Measure, pal *palette) (finding, bool) {
	n := maxTimers(m.Rows)
	var ours, other *bench.Row
	for _, row := range m.Rows {
		if !m.Main || m.Better == "" || row.N != n || row.Early > 0 || !hasFigure(row) || row.Contender == m.Base {
			continue
		}
		first := &other
		if pal.of(row.Contender).Kind == bench.Ours {
			first = &ours
		}
		if *first == nil || timesBetter(m, row, **first) > 1 {
			*first = &row
		}
	}
	if ours == nil || other == nil || timesBetter(m, *other, *ours) < bench.Margin {
		return finding{}, false
	}
	f := finding{Measure: m.Name, Contender: pal.of(other.Contender).Title}
	f.What = look.Quantity(other.Value.Median, m.Unit)
	f.Detail = fmt.Sprintf("%s has %s", pal.of(ours.Contender).Title, look.Quantity(ours.Value.Median, m.Unit))
	return f, true
}

// timesBetter returns how many times better one row is than another.
func timesBetter(m bench.Measure, row, than bench.Row) float64 {
	a, b := row.Value.Median, than.Value.Median
	if m.Better == bench.Higher {
		a, b = b, a
	}
	switch {
	case a == b:
		return 1
	case a <= 0:
		return math.Inf(1)
	}
	return b / a
}

// baseNames returns the titles of the bases of a scenario.
func baseNames(s bench.Scenario, pal *palette) string {
	var names []string
	for _, m := range s.Measures {
		if m.Base != "" && !slices.Contains(names, pal.of(m.Base).Title) {
			names = append(names, pal.of(m.Base).Title)
		}
	}
	if n := len(names); n > 2 {
		names = append(names[:0:0], strings.Join(names[:n-1], ", "), names[n-1])
	}
	return strings.Join(names, " or ")
}

// allBaseNames returns the titles of the bases of the whole report.
func allBaseNames(r *bench.Report, pal *palette) string {
	var all bench.Scenario
	for _, s := range r.Scenarios {
		all.Measures = append(all.Measures, s.Measures...)
	}
	return baseNames(all, pal)
}

// contenderGroups returns the contenders by kind.
func contenderGroups(r *bench.Report, pal *palette) []contenderGroup {
	var all []contenderGroup
	for _, kind := range []struct{ kind, title string }{
		{bench.Ours, "Foliot"},
		{bench.Standard, "Standard library"},
		{bench.Peer, "Other Go packages"},
		{bench.External, "Other programs"},
	} {
		g := contenderGroup{Kind: kind.title}
		for _, contender := range r.Contenders {
			if contender.Kind != kind.kind {
				continue
			}
			c := pal.of(contender.Name)
			var out canvas
			out.swatch(c, 0, 6)
			g.Members = append(g.Members, contenderEntry{
				c.Title, c.Module, c.Version,
				template.HTML(`<svg class="key" viewBox="0 0 26 12" width="26" height="12" aria-hidden="true">` + out.String() + `</svg>`),
			})
		}
		if len(g.Members) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// environment lists the known facts about the machine and the run.
func environment(e bench.Environment) []field {
	var all []field
	add := func(name, value string) {
		if value != "" {
			all = append(all, field{name, value})
		}
	}
	add("Processor", e.CPU)
	cores := ""
	if e.Cores > 0 {
		cores = fmt.Sprintf("%d, GOMAXPROCS %d", e.Cores, e.Procs)
	}
	add("Cores", cores)
	if e.Memory > 0 {
		add("Memory", memoryText(e.Memory))
	}
	add("System", strings.Trim(e.OS+"/"+e.Arch, "/"))
	add("Kernel", e.Kernel)
	add("Go", e.Go)
	add("Foliot", e.Foliot)
	if e.Took > 0 {
		add("Took", look.Quantity(e.Took, "s"))
	}
	return all
}

// command returns the command that repeats the run.
func command(e bench.Environment) string {
	args := []string{"go run ./cmd/foliot bench"}
	if e.Mode == bench.Full {
		args = append(args, "-full")
	}
	if e.Timers > 0 {
		args = append(args, fmt.Sprintf("-n %d", e.Timers))
	}
	return strings.Join(append(args, "-html report.html"), " ")
}
