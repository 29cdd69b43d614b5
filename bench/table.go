package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes the report for reading.
func (r Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s/%s, GOMAXPROCS=%d", r.Go, r.OS, r.Arch, r.Procs)
	if r.CPU != "" {
		fmt.Fprintf(w, ", %s", r.CPU)
	}
	fmt.Fprintf(w, "\nMedian of up to %d rounds that take turns in one process; ratio: median [worst to best], round by round.\n", r.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	timers := 0
	for _, row := range r.Results {
		if row.Timers != timers {
			timers = row.Timers
			fmt.Fprintf(t, "\n%d timers\ttime.AfterFunc\twheel\t(as lists)\tratio\t\t\n", timers)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", row.Name, figure(row.Std, row.Unit), figure(row.Wheel, row.Unit), figure(row.List, row.Unit), ratio(row.Ratio))
	}
	return t.Flush()
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
