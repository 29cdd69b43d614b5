package report

import (
	"cmp"
	"slices"

	"github.com/foliot-go/foliot/bench"
)

// A table has a line for each contender and a column for each measure, or for each number of timers of one.
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

// A line is what one contender came to.
type line struct {
	Contender, Kind string
	Cells           []cell
}

// A cell is one figure with what is to be said about it.
type cell struct {
	Value   string
	Spread  string
	Ratio   string
	Verdict verdict
	Best    bool
	Early   string
	Failed  bool  // there is no figure, or none to rely on
	Marks   []int // of notes
}

// A note says what the reader must know about some cells.
type note struct {
	Mark int
	Text string
}

// maxColumns is how many a table has at most: more cannot be compared at a glance.
const maxColumns = 4

// tables arranges the measures of a scenario. One that was taken with several numbers of timers is a table of its
// own; neighbours with the same number share one. The main measures come first.
func tables(s bench.Scenario, c *cast) []table {
	measures := slices.Clone(s.Measures)
	slices.SortStableFunc(measures, func(a, b bench.Measure) int {
		return cmp.Compare(btoi(b.Main), btoi(a.Main))
	})
	var all []table
	var shared []column
	flush := func() {
		for part := range slices.Chunk(shared, maxColumns) {
			all = append(all, newTable("", part, c))
		}
		shared = nil
	}
	for _, m := range measures {
		ns := numbers(m.Rows)
		if len(ns) == 1 {
			if len(shared) > 0 && shared[0].n != ns[0] {
				flush()
			}
			shared = append(shared, column{m.Name, sub(m, ns[0]), m, ns[0]})
			continue
		}
		flush()
		for part := range slices.Chunk(ns, maxColumns) {
			var columns []column
			for _, n := range part {
				columns = append(columns, column{count(float64(n)), "timers", m, n})
			}
			all = append(all, newTable(m.Name+direction(m), columns, c))
		}
	}
	flush()
	return all
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// numbers returns the numbers of timers among the rows, in order.
func numbers(rows []bench.Row) []int {
	var ns []int
	for _, row := range rows {
		ns = append(ns, row.N)
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}

// sub is the second line of a column's head.
func sub(m bench.Measure, n int) string {
	text := ""
	if n > 0 {
		text = timers(n)
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

func newTable(caption string, columns []column, c *cast) table {
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
		m := c.of(name)
		l := line{Contender: m.Title, Kind: m.Kind}
		for _, col := range columns {
			l.Cells = append(l.Cells, t.cell(col, name))
		}
		t.Lines = append(t.Lines, l)
	}
	return t
}

// cell returns what a contender has in a column.
func (t *table) cell(col column, name string) cell {
	empty := cell{Value: none}
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
		out.Value = quantity(row.Value.Median, col.measure.Unit)
		out.Spread = between(row.Value)
	}
	switch {
	case row.Error != "":
		out.Failed = true
		out.Marks = append(out.Marks, t.note(row.Error))
	case compared(row):
		out.Verdict = judge(row.Ratio)
		out.Ratio = factor(row.Ratio)
	case name == col.measure.Base:
		out.Ratio = "base"
	}
	if row.Early > 0 {
		out.Early = number(float64(row.Early)) + " fired early"
	}
	for _, text := range row.Notes {
		out.Marks = append(out.Marks, t.note(text))
	}
	out.Best = best(col, row)
	return out
}

// note returns the number of the note, which is made if there is none with the same text.
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

// best tells whether no other contender of the column has a better figure, of those that fired nothing early.
func best(col column, row bench.Row) bool {
	sound := func(r bench.Row) bool { return trusted(r) && r.Early == 0 && r.N == col.n }
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
