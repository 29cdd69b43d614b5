package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes the report for reading in a terminal.
func (r Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s\n", r.conditions())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	timers := 0
	for _, row := range r.Results {
		if row.Timers != timers {
			timers = row.Timers
			fmt.Fprintf(t, "\n%d timers\ttime.AfterFunc\twheel\t(as lists)\tratio\t\n", timers)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", row.cells()...)
	}
	return t.Flush()
}

// Markdown writes the report for a page such as the README.
func (r Report) Markdown(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n", r.conditions())
	timers := 0
	for _, row := range r.Results {
		if row.Timers != timers {
			timers = row.Timers
			fmt.Fprintf(w, "\n| %d timers | `time.AfterFunc` | wheel | (as lists) | ratio |\n|---|---:|---:|---:|---:|\n", timers)
		}
		_, err = fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", row.cells()...)
	}
	return err
}

// conditions says where the figures come from and how to read them.
func (r Report) conditions() string {
	cpu := ""
	if r.CPU != "" {
		cpu = ", " + r.CPU
	}
	return fmt.Sprintf("%s, %s/%s, GOMAXPROCS=%d%s.\nMedian of up to %d rounds that take turns in one process; ratio: median [worst to best], round by round.",
		r.Go, r.OS, r.Arch, r.Procs, cpu, r.Rounds)
}

func (row Result) cells() []any {
	return []any{row.Name, figure(row.Std, row.Unit), figure(row.Wheel, row.Unit), figure(row.List, row.Unit), ratio(row.Ratio)}
}

func figure(s Spread, unit string) string {
	switch {
	case s == Spread{}:
		return "-"
	case s.Median < 100:
		return fmt.Sprintf("%.1f %s", s.Median, unit)
	}
	return fmt.Sprintf("%.0f %s", s.Median, unit)
}

func ratio(s Spread) string {
	if s == (Spread{}) {
		return "-"
	}
	if s.Min == s.Max {
		return fmt.Sprintf("%.1fx", s.Median)
	}
	return fmt.Sprintf("%.1fx [%.1f to %.1f]", s.Median, s.Min, s.Max)
}
