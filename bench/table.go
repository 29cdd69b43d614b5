package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Style says how to write a report in a terminal.
type Style struct {
	Width  int  // columns of the terminal; 0: no limit
	Colour bool // losses and early timers in red, wins in green
}

// Table writes the report as text for a terminal.
func (r Report) Table(w io.Writer, style Style) error {
	var b strings.Builder
	b.WriteString(r.Conditions() + "\n")
	for _, s := range r.Scenarios {
		fmt.Fprintf(&b, "\n%s\n%s\n", s.Title, s.About)
		for _, g := range s.grids(r, Selection{}) {
			g.write(&b, style)
		}
		for _, note := range s.notes(r, Selection{}) {
			b.WriteString("  " + style.paint(note) + "\n")
		}
	}
	r.writeLosses(&b, style)
	if r.Interrupted {
		b.WriteString("\nInterrupted: the rest was not measured.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the report as Markdown.
func (r Report) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.Conditions() + "\n")
	for _, s := range r.Scenarios {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", s.Title, s.About, s.Markdown(r, Selection{}))
	}
	if list := r.LossList(); list != "" {
		b.WriteString("\n## Where Foliot is worse\n\n" + list)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Conditions says on which machine the figures were measured and how to read them.
func (r Report) Conditions() string {
	e := r.Environment
	machine := []string{e.Go, e.OS + "/" + e.Arch, fmt.Sprintf("GOMAXPROCS=%d", e.Procs)}
	for _, known := range []string{e.CPU, e.Kernel} {
		if known != "" {
			machine = append(machine, known)
		}
	}
	if e.Memory > 0 {
		machine = append(machine, fmt.Sprintf("%.0f GiB", float64(e.Memory)/(1<<30)))
	}
	return fmt.Sprintf("%s. Foliot %s, %s run of %s.\n"+
		"Medians of up to %d rounds that take turns; in brackets, how many times better than the base, median and spread of the rounds.\n"+
		"CPU: processor time of all threads of the process, those of the garbage collector included; wall: time on the clock.",
		strings.Join(machine, ", "), e.Foliot, e.Mode, e.When.Format("2006-01-02"), e.Rounds)
}

// A Selection is the part of a scenario to show. Empty fields select everything.
type Selection struct {
	Contenders []string
	Measures   []string // each matches the measures whose names begin with it
	Timers     []int
}

func (sel Selection) wants(m Measure, row Row) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(m.Name, prefix) }
	return (len(sel.Contenders) == 0 || slices.Contains(sel.Contenders, row.Contender)) &&
		(len(sel.Measures) == 0 || slices.ContainsFunc(sel.Measures, begins)) &&
		(len(sel.Timers) == 0 || slices.Contains(sel.Timers, row.N))
}

// Markdown returns the selected part of the scenario as tables, with notes below.
func (s Scenario) Markdown(r Report, sel Selection) string {
	var b strings.Builder
	for i, g := range s.grids(r, sel) {
		if i > 0 {
			b.WriteString("\n")
		}
		g.markdown(&b, 1)
	}
	for i, note := range s.notes(r, sel) {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", note.text)
	}
	return b.String()
}

// markdown writes the table as Markdown. The first columns, as many as left says, are aligned to the left, the others to
// the right.
func (g grid) markdown(b *strings.Builder, left int) {
	for i, line := range g {
		texts := make([]string, len(line))
		for j, c := range line {
			texts[j] = c.text
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(texts, " | "))
		if i == 0 {
			fmt.Fprintf(b, "|%s%s\n", strings.Repeat("---|", left), strings.Repeat("---:|", len(line)-left))
		}
	}
}

// A cell is a text and its tone.
type cell struct {
	text string
	tone tone
}

// A tone says whether a text is good or bad news; colours show it.
type tone uint8

const (
	tonePlain tone = iota
	toneGood
	toneBad
)

// A grid is a table: its head and its lines.
type grid [][]cell

// grids returns the selected measures as tables. Measures with the same contenders share a table.
func (s Scenario) grids(r Report, sel Selection) (all []grid) {
	type table struct {
		columns []string
		grid    grid
	}
	var tables []*table
	for _, m := range s.Measures {
		var sizes []int
		var columns []string
		for _, row := range m.Rows {
			if !sel.wants(m, row) {
				continue
			}
			if !slices.Contains(sizes, row.N) {
				sizes = append(sizes, row.N)
			}
			if row.Value.Rounds > 0 && !slices.Contains(columns, row.Contender) {
				columns = append(columns, row.Contender)
			}
		}
		if len(columns) == 0 {
			continue
		}
		var t *table
		for _, old := range tables {
			if !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(old.columns, c) }) {
				t = old
			}
		}
		if t == nil {
			t = &table{columns: columns}
			head := []cell{{text: ""}}
			for _, c := range columns {
				head = append(head, cell{text: r.title(c)})
			}
			t.grid = append(t.grid, head)
			tables = append(tables, t)
		}
		for _, n := range sizes {
			t.grid = append(t.grid, m.line(t.columns, n, len(sizes) > 1 || s.sizes() > 1))
		}
	}
	for _, t := range tables {
		t.grid[0][0].text = s.corner()
		all = append(all, t.grid)
	}
	return all
}

// corner returns the text for the upper left corner: the number of timers if all lines have the same, otherwise the
// title.
func (s Scenario) corner() string {
	for _, m := range s.Measures {
		for _, row := range m.Rows {
			if m.showsSize(row.N) && s.sizes() == 1 {
				return m.size(row.N)
			}
		}
	}
	return s.Title
}

// sizes returns how many different numbers of timers the scenario has.
func (s Scenario) sizes() int {
	seen := map[int]bool{}
	for _, m := range s.Measures {
		for _, row := range m.Rows {
			seen[row.N] = true
		}
	}
	return len(seen)
}

// size returns a number of timers, or of what the measure counts instead, with the word.
func (m Measure) size(n int) string { return Thousands(n) + " " + cmp.Or(m.Of, "timers") }

// showsSize reports whether tables show the size n. A single timer goes without saying.
func (m Measure) showsSize(n int) bool { return n > 1 || n == 1 && m.Of != "" }

// shortSize is like size, but leaves out the word timers.
func (m Measure) shortSize(n int) string { return strings.TrimSuffix(Thousands(n)+" "+m.Of, " ") }

// line returns the line of a measure with n timers. With sized set, the line says n.
func (m Measure) line(columns []string, n int, sized bool) []cell {
	name := m.Name
	if sized && m.showsSize(n) {
		name += ", " + m.shortSize(n)
	}
	line := []cell{{text: name}}
	for _, c := range columns {
		i := slices.IndexFunc(m.Rows, func(r Row) bool { return r.Contender == c && r.N == n })
		if i < 0 {
			line = append(line, cell{text: "-"})
			continue
		}
		line = append(line, m.Rows[i].cell(m.Unit))
	}
	return line
}

func (row Row) cell(unit string) cell {
	c := cell{text: Figure(row.Value, unit)}
	if row.Ratio.Rounds > 0 {
		c.text += " [" + Ratio(row.Ratio) + "]"
		switch row.Ratio.Verdict() {
		case Better:
			c.tone = toneGood
		case Worse:
			c.tone = toneBad
		}
	}
	if row.Early > 0 {
		c.text += fmt.Sprintf(" %d EARLY", row.Early)
		c.tone = toneBad
	}
	return c
}

// notes returns the errors and notes of the selected rows.
func (s Scenario) notes(r Report, sel Selection) (all []cell) {
	add := func(text string, t tone) {
		c := cell{text, t}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	if s.Error != "" {
		add(s.Error, toneBad)
	}
	for _, m := range s.Measures {
		for _, row := range m.Rows {
			if !sel.wants(m, row) {
				continue
			}
			label := r.title(row.Contender)
			if m.showsSize(row.N) && s.sizes() > 1 {
				label += ", " + m.shortSize(row.N)
			}
			if row.Error != "" {
				add(label+": "+row.Error, toneBad)
			}
			for _, note := range row.Notes {
				add(fmt.Sprintf("%s: %s", m.Name, note), tonePlain)
			}
		}
	}
	return all
}

// title returns the title of a contender.
func (r Report) title(name string) string {
	for _, c := range r.Contenders {
		if c.Name == name {
			return c.Title
		}
	}
	return name
}

// Figure returns a median with its unit.
func Figure(s Spread, unit string) string {
	if s.Rounds == 0 {
		return "-"
	}
	digits := 0
	if x := max(s.Median, -s.Median); x < 100 {
		digits = 1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.*f %s", digits, s.Median, unit), " ")
}

// Ratio returns a ratio as text, with the spread.
func Ratio(s Spread) string {
	switch s.Rounds {
	case 0:
		return "-"
	case 1:
		return times(s.Median)
	}
	return fmt.Sprintf("%s, %s to %s", times(s.Median), strings.TrimSuffix(times(s.Min), "x"), strings.TrimSuffix(times(s.Max), "x"))
}

func times(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0fx", x)
	case x < 0.01:
		return fmt.Sprintf("%.4fx", x)
	case x < 0.95:
		return fmt.Sprintf("%.2fx", x)
	}
	return fmt.Sprintf("%.1fx", x)
}

// Thousands writes a number with commas.
func Thousands(n int) string {
	if n < 0 {
		return "-" + Thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}

// write writes the table. A table that is too wide is split into parts, each with the first column.
func (g grid) write(b *strings.Builder, style Style) {
	widths := make([]int, len(g[0]))
	for _, line := range g {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	for from := 1; from < len(widths); {
		to, width := from+1, 2+widths[0]+2+widths[from]
		for to < len(widths) && (style.Width == 0 || width+2+widths[to] <= style.Width) {
			width += 2 + widths[to]
			to++
		}
		b.WriteString("\n")
		for _, line := range g {
			b.WriteString("  " + line[0].text + strings.Repeat(" ", widths[0]-utf8.RuneCountInString(line[0].text)))
			for i := from; i < to; i++ {
				b.WriteString(strings.Repeat(" ", 2+widths[i]-utf8.RuneCountInString(line[i].text)) + style.paint(line[i]))
			}
			b.WriteString("\n")
		}
		from = to
	}
}

func (s Style) paint(c cell) string {
	switch {
	case !s.Colour || c.tone == tonePlain:
		return c.text
	case c.tone == toneGood:
		return "\x1b[32m" + c.text + "\x1b[0m"
	}
	return "\x1b[31m" + c.text + "\x1b[0m"
}
