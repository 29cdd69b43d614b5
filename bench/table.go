package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// stdName is what the standard library's column is headed, unless the results say
// otherwise.
const stdName = "time.AfterFunc"

// Table writes the report for reading in a terminal.
func (r Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s\n", r.conditions())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, table := range r.tables() {
		fmt.Fprintln(t)
		for _, line := range table {
			fmt.Fprintf(t, "%s\t\n", strings.Join(line, "\t"))
		}
	}
	return t.Flush()
}

// Markdown writes the report for a page such as the README.
func (r Report) Markdown(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n", r.conditions())
	for _, table := range r.tables() {
		fmt.Fprintln(w)
		for i, line := range table {
			text := strings.Join(line, " | ")
			if i > 0 {
				_, err = fmt.Fprintf(w, "| %s |\n", text)
				continue
			}
			text = strings.ReplaceAll(text, stdName, "`"+stdName+"`")
			fmt.Fprintf(w, "| %s |\n|---|%s\n", text, strings.Repeat("---:|", len(line)-1))
		}
	}
	return err
}

// conditions says where the figures come from and how to read them.
func (r Report) conditions() string {
	cpu := ""
	if r.CPU != "" {
		cpu = ", " + r.CPU
	}
	text := fmt.Sprintf("%s, %s/%s, GOMAXPROCS=%d%s.\nMedian of up to %d rounds that take turns in one process; ratio: median [worst to best], round by round.",
		r.Go, r.OS, r.Arch, r.Procs, cpu, r.Rounds)
	if slices.ContainsFunc(r.Results, Result.hasWall) {
		text += "\nCPU: processor time of all threads of the process, those of the garbage collector included; wall: time on the clock."
	}
	return text
}

// tables returns a table for each group of results: its head, and its lines.
func (r Report) tables() [][][]string {
	var tables [][][]string
	for rows := r.Results; len(rows) > 0; {
		n := 1
		for n < len(rows) && rows[n].Part == rows[0].Part && rows[n].Group == rows[0].Group {
			n++
		}
		group := rows[:n]
		rows = rows[n:]
		lists := group[0].Part == Wheel
		wall := slices.ContainsFunc(group, Result.hasWall)
		against := cmp.Or(group[0].Against, stdName)
		head := []string{group[0].Group, against, "foliot", "ratio"}
		switch {
		case lists:
			head = []string{group[0].Group, against, "wheel", "(as lists)", "ratio"}
		case wall:
			head = []string{group[0].Group, "CPU: " + against, "foliot", "ratio", "wall: " + against, "foliot"}
		}
		table := [][]string{head}
		for _, row := range group {
			table = append(table, row.cells(lists, wall))
		}
		tables = append(tables, table)
	}
	return tables
}

// hasWall tells whether the line has processor time and, beside it, time on the clock.
func (row Result) hasWall() bool { return !row.FoliotWall.none() }

func (row Result) cells(lists, wall bool) []string {
	cells := []string{row.Name, figure(row.Std, row.Unit), figure(row.Foliot, row.Unit)}
	if lists {
		cells = append(cells, figure(row.List, row.Unit))
	}
	cells = append(cells, ratio(row.Ratio))
	if wall {
		cells = append(cells, figure(row.StdWall, row.Unit), figure(row.FoliotWall, row.Unit))
	}
	return cells
}

func figure(s Spread, unit string) string {
	if s.none() {
		return "-"
	}
	text := fmt.Sprintf("%.0f %s", s.Median, unit)
	if s.Median < 100 {
		text = fmt.Sprintf("%.1f %s", s.Median, unit)
	}
	return strings.TrimSuffix(text, " ")
}

func ratio(s Spread) string {
	if s.none() {
		return "-"
	}
	if s.Rounds == 1 {
		return fmt.Sprintf("%.1fx", s.Median)
	}
	return fmt.Sprintf("%.1fx [%.1f to %.1f]", s.Median, s.Min, s.Max)
}
