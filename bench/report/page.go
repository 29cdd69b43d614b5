package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/foliot-go/foliot/bench"
)

// A page is what the templates show: every word and number of it is chosen here, they only place it.
type page struct {
	CSS, PlotCSS template.CSS
	Interrupted  bool
	When, Mode   string
	Where        []field
	Raced        []crew
	Tally        tally
	Base         string // whom Foliot is compared with
	Overview     figure
	Worse, More  []finding // losses of Foliot, the greatest first; those beyond the first few are folded away
	Beaten       []finding
	Early        []finding
	Failed       []finding
	Sections     []section
	Rounds       int
	Timers       string
	Command      string
}

// A field is a line of a list of facts.
type field struct{ Name, Value string }

// A crew is contenders of one kind.
type crew struct {
	Kind    string
	Members []racer
}

// A racer is a contender with its line, as in the plots.
type racer struct {
	Title, Module, Version string
	Swatch                 template.HTML
}

// A tally counts the comparisons of Foliot with the base.
type tally struct{ Better, Even, Worse int }

// All is how many comparisons there are.
func (t tally) All() int { return t.Better + t.Even + t.Worse }

func (t *tally) add(v verdict) {
	switch v {
	case better:
		t.Better++
	case even:
		t.Even++
	case worse:
		t.Worse++
	}
}

// A finding is a row that the reader must not miss.
type finding struct {
	Anchor, Scenario, Measure, Contender, What, Detail string
	ratio                                              float64 // of a loss
}

// A figure is a plot in both forms. Without a plot it is a sentence.
type figure struct {
	Caption      string
	Wide, Narrow template.HTML
}

// A section is a scenario.
type section struct {
	Anchor, Name, Title, About, Error string
	Tally                             tally
	Early                             bool
	Ratios                            figure
	Tables                            []table
	Plots                             []figure
}

// firstLosses is how many losses the summary has before the reader has to unfold it.
const firstLosses = 12

func newPage(r *bench.Report) *page {
	c := newCast(r)
	p := &page{
		CSS:         template.CSS(pageCSS),
		PlotCSS:     template.CSS(plotCSS),
		Interrupted: r.Interrupted,
		Mode:        r.Environment.Mode,
		Where:       environment(r.Environment),
		Raced:       crews(r, c),
		Base:        bases(r, c),
		Rounds:      r.Environment.Rounds,
		Timers:      number(float64(r.Environment.Timers)),
		Command:     command(r.Environment),
	}
	if when := r.Environment.When; !when.IsZero() {
		p.When = when.UTC().Format("2 January 2006, 15:04 UTC")
	}
	p.Overview = figure{
		Wide:   template.HTML(ratioChart(overviewTitle, overview(r, c), wide)),
		Narrow: template.HTML(ratioChart(overviewTitle, overview(r, c), narrow)),
	}
	for i, s := range r.Scenarios {
		sec := newSection(s, c, fmt.Sprintf("scenario-%d", i+1))
		p.findings(s, c, &sec)
		p.Tally.Better += sec.Tally.Better
		p.Tally.Even += sec.Tally.Even
		p.Tally.Worse += sec.Tally.Worse
		p.Sections = append(p.Sections, sec)
	}
	slices.SortStableFunc(p.Worse, func(a, b finding) int { return cmp.Compare(a.ratio, b.ratio) })
	first := min(len(p.Worse), firstLosses)
	p.Worse, p.More = p.Worse[:first], p.Worse[first:]
	return p
}

func newSection(s bench.Scenario, c *cast, anchor string) section {
	sec := section{
		Anchor: anchor,
		Name:   s.Name,
		Title:  cmp.Or(s.Title, s.Name),
		About:  s.About,
		Error:  s.Error,
		Tables: tables(s, c),
	}
	if groups := ratioGroups(s, c, everybody); len(groups) > 0 {
		sec.Ratios = figure{
			Caption: "Times better or worse than " + baseOf(s, c) + ". The bar is the median of the rounds, the line through its end spans them.",
			Wide:    template.HTML(ratioChart(sec.Title, groups, wide)),
			Narrow:  template.HTML(ratioChart(sec.Title, groups, narrow)),
		}
	}
	for _, plot := range s.Plots {
		sec.Plots = append(sec.Plots, figure{
			Caption: plot.Title,
			Wide:    template.HTML(chart(plot, c, wide)),
			Narrow:  template.HTML(chart(plot, c, narrow)),
		})
	}
	return sec
}

// findings counts the comparisons of a scenario, and notes losses of Foliot, and early fires and missing figures of all.
func (p *page) findings(s bench.Scenario, c *cast, sec *section) {
	for _, m := range s.Measures {
		for _, row := range m.Rows {
			who := c.of(row.Contender)
			f := finding{Anchor: sec.Anchor, Scenario: sec.Title, Measure: m.Name, Contender: who.Title}
			if row.N > 0 {
				f.Measure += ", " + timers(row.N)
			}
			if row.Early > 0 {
				sec.Early = true
				p.early(f, number(float64(row.Early))+" fired early")
			}
			if row.Error != "" {
				f.What = row.Error
				p.Failed = append(p.Failed, f)
			}
			if who.Kind != bench.Ours || !compared(row) {
				continue
			}
			v := judge(row.Ratio)
			sec.Tally.add(v)
			if v == worse {
				f.What, f.ratio = factor(row.Ratio), row.Ratio.Median
				if text := rounds(row.Ratio); text != "" {
					f.Detail = "rounds from " + text
				}
				p.Worse = append(p.Worse, f)
			}
		}
		if f, ok := beaten(m, c); ok {
			f.Anchor, f.Scenario = sec.Anchor, sec.Title
			p.Beaten = append(p.Beaten, f)
		}
	}
}

// early notes an early fire, once for all measures of the same timers.
func (p *page) early(f finding, what string) {
	f.What = what
	if !slices.ContainsFunc(p.Early, func(g finding) bool {
		return g.Anchor == f.Anchor && g.Contender == f.Contender && g.What == f.What
	}) {
		p.Early = append(p.Early, f)
	}
}

// beaten tells whether another contender than the base has a better figure than every part of Foliot in a main
// measure, with the largest number of timers.
func beaten(m bench.Measure, c *cast) (finding, bool) {
	n := largest(m.Rows)
	var ours, other *bench.Row
	for _, row := range m.Rows {
		if !m.Main || m.Better == "" || row.N != n || row.Early > 0 || !trusted(row) || row.Contender == m.Base {
			continue
		}
		first := &other
		if c.of(row.Contender).Kind == bench.Ours {
			first = &ours
		}
		if *first == nil || ahead(m, row, **first) > 1 {
			*first = &row
		}
	}
	if ours == nil || other == nil || ahead(m, *other, *ours) < margin {
		return finding{}, false
	}
	f := finding{Measure: m.Name, Contender: c.of(other.Contender).Title}
	f.What = quantity(other.Value.Median, m.Unit)
	f.Detail = fmt.Sprintf("%s has %s", c.of(ours.Contender).Title, quantity(ours.Value.Median, m.Unit))
	return f, true
}

// ahead says how many times better one row is than another.
func ahead(m bench.Measure, row, than bench.Row) float64 {
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

// baseOf names those that ratios of a scenario are to.
func baseOf(s bench.Scenario, c *cast) string {
	var names []string
	for _, m := range s.Measures {
		if m.Base != "" && !slices.Contains(names, c.of(m.Base).Title) {
			names = append(names, c.of(m.Base).Title)
		}
	}
	if n := len(names); n > 2 {
		names = append(names[:0:0], strings.Join(names[:n-1], ", "), names[n-1])
	}
	return strings.Join(names, " or ")
}

// bases names those that ratios of the whole report are to.
func bases(r *bench.Report, c *cast) string {
	var all bench.Scenario
	for _, s := range r.Scenarios {
		all.Measures = append(all.Measures, s.Measures...)
	}
	return baseOf(all, c)
}

// crews returns the contenders by kind.
func crews(r *bench.Report, c *cast) []crew {
	var all []crew
	for _, kind := range []struct{ kind, title string }{
		{bench.Ours, "Foliot"},
		{bench.Standard, "Standard library"},
		{bench.Peer, "Other Go packages"},
		{bench.External, "Other programs"},
	} {
		g := crew{Kind: kind.title}
		for _, contender := range r.Contenders {
			if contender.Kind != kind.kind {
				continue
			}
			m := c.of(contender.Name)
			var out canvas
			out.swatch(m, 0, 6)
			g.Members = append(g.Members, racer{
				m.Title, m.Module, m.Version,
				template.HTML(`<svg class="key" viewBox="0 0 26 12" width="26" height="12" aria-hidden="true">` + out.String() + `</svg>`),
			})
		}
		if len(g.Members) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// environment lists where the figures come from, without what is not known.
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
		add("Memory", memory(e.Memory))
	}
	add("System", strings.Trim(e.OS+"/"+e.Arch, "/"))
	add("Kernel", e.Kernel)
	add("Go", e.Go)
	add("Foliot", e.Foliot)
	if e.Took > 0 {
		add("Took", quantity(e.Took, "s"))
	}
	return all
}

// command is how to make such a report again.
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
