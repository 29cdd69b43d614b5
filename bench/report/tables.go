package report

import (
	"cmp"
	"slices"

	"github.com/foliot-go/foliot/bench"
	"github.com/foliot-go/foliot/internal/look"
)

// A table has a line for each contender. Its columns are several measures, or one measure with several numbers of
// timers.
type table struct {
	Caption string
	Columns []column
	Lines   []line
	Notes   []note
}

// A column is one measure with one number of timers.
type column struct {
	Title, Sub string
	measure    bench.Measure
	n          int
}

// A line holds the figures of one contender.
type line struct {
	Contender, Kind string
	Cells           []cell
}

// A cell is one figure with its spread, verdict and notes.
type cell struct {
	Value   string
	Spread  string
	Ratio   string
	Verdict bench.Verdict
	Best    bool
	Early   string
	Failed  bool  // there is no figure, or it is not reliable
	Marks   []int // numbers of notes
}

// A note is a remark about some cells.
type note struct {
	Mark int
	Text string
}

// maxColumns is the largest number of columns in a table: more cannot be compared at a glance.
const maxColumns = 4

// buildTables arranges the measures of a scenario in tables. A measure with several numbers of timers has its own table.
// Neighbours with the same number of timers share one. The main measures come first.
func buildTables(s bench.Scenario, pal *palette) []table {
	measures := slices.Clone(s.Measures)
	slices.SortStableFunc(measures, func(a, b bench.Measure) int {
		return cmp.Compare(boolToInt(b.Main), boolToInt(a.Main))
	})
	var all []table
	var shared []column
	flush := func() {
		for part := range slices.Chunk(shared, maxColumns) {
			all = append(all, newTable("", part, pal))
		}
		shared = nil
	}
	for _, m := range measures {
		ns := timerCounts(m.Rows)
		if len(ns) == 1 {
			if len(shared) > 0 && shared[0].n != ns[0] {
				flush()
			}
			shared = append(shared, column{m.Name, columnSubtitle(m, ns[0]), m, ns[0]})
			continue
		}
		flush()
		for part := range slices.Chunk(ns, maxColumns) {
			var columns []column
			for _, n := range part {
				columns = append(columns, column{look.Count(float64(n)), cmp.Or(m.Of, "timers"), m, n})
			}
			all = append(all, newTable(m.Name+direction(m), columns, pal))
		}
	}
	flush()
	return all
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// timerCounts returns the numbers of timers among the rows, in order.
func timerCounts(rows []bench.Row) []int {
	var ns []int
	for _, row := range rows {
		ns = append(ns, row.N)
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}

// columnSubtitle returns the second line of a column's head.
func columnSubtitle(m bench.Measure, n int) string {
	text := ""
	if n > 0 {
		text = sizeText(m, n)
	}
	switch m.Better {
	case bench.Higher:
		if text != "" {
			text += ", "
		}
		text += "more is better"
	}
	return text
}

func direction(m bench.Measure) string {
	if m.Better == bench.Higher {
		return " (more is better)"
	}
	return ""
}

func newTable(caption string, columns []column, pal *palette) table {
	t := table{Caption: caption, Columns: columns}
	var names []string
	for _, col := range columns {
		for _, row := range col.measure.Rows {
			if row.N == col.n && !slices.Contains(names, row.Contender) {
				names = append(names, row.Contender)
			}
		}
	}
	for _, name := range names {
		c := pal.of(name)
		l := line{Contender: c.Title, Kind: c.Kind}
		for _, col := range columns {
			l.Cells = append(l.Cells, t.cell(col, name))
		}
		t.Lines = append(t.Lines, l)
	}
	return t
}

// cell returns the figure of a contender in a column.
func (t *table) cell(col column, name string) cell {
	empty := cell{Value: look.NoFigure}
	i := slices.IndexFunc(col.measure.Rows, func(r bench.Row) bool { return r.N == col.n && r.Contender == name })
	if i < 0 {
		return empty
	}
	row := col.measure.Rows[i]
	out := empty
	if row.Error != "" {
		out.Value = ""
	}
	if row.Value.Rounds > 0 {
		out.Value = look.Quantity(row.Value.Median, col.measure.Unit)
		out.Spread = spreadText(row.Value)
	}
	switch {
	case row.Error != "":
		out.Failed = true
		out.Marks = append(out.Marks, t.note(row.Error))
	case hasRatio(row):
		out.Verdict = row.Ratio.Verdict()
		out.Ratio = verdictText(row.Ratio)
	case name == col.measure.Base:
		out.Ratio = "base"
	}
	if row.Early > 0 {
		out.Early = look.Number(float64(row.Early)) + " fired early"
	}
	for _, text := range row.Notes {
		out.Marks = append(out.Marks, t.note(text))
	}
	out.Best = isBest(col, row)
	return out
}

// note returns the number of the note with that text, and makes it if it is new.
func (t *table) note(text string) int {
	for _, n := range t.Notes {
		if n.Text == text {
			return n.Mark
		}
	}
	n := note{len(t.Notes) + 1, text}
	t.Notes = append(t.Notes, n)
	return n.Mark
}

// isBest reports whether no other contender in the column has a better figure. Contenders with early fires do not
// count.
func isBest(col column, row bench.Row) bool {
	sound := func(r bench.Row) bool { return hasFigure(r) && r.Early == 0 && r.N == col.n }
	if col.measure.Better == "" || !sound(row) {
		return false
	}
	rivals := 0
	for _, r := range col.measure.Rows {
		if !sound(r) || r.Contender == row.Contender {
			continue
		}
		rivals++
		d := cmp.Compare(r.Value.Median, row.Value.Median)
		if col.measure.Better == bench.Lower && d < 0 || col.measure.Better == bench.Higher && d > 0 {
			return false
		}
	}
	return rivals > 0
}
