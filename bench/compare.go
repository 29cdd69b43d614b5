package bench

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A Change is one figure in two reports.
type Change struct {
	Scenario, Measure, Unit, Contender string
	N                                  int
	Old, New                           Spread

	// Better says how many times better the new figure is: above 1 is better, below 1 worse, whatever the
	// measure.
	Better float64
	// Margin is the factor by which the figure may differ, either way, because of noise.
	Margin float64
}

// Slower reports whether the figure has got worse by more than the noise.
func (c Change) Slower() bool { return c.Better*c.Margin < 1 }

// Faster reports whether the figure has got better by more than the noise.
func (c Change) Faster() bool { return c.Better > c.Margin }

// A Comparison is the difference between two reports.
type Comparison struct {
	Changes     []Change // all figures that both reports have, the worst first
	Unmatched   int      // number of figures that only one report has
	Differences []string // how the conditions of the two runs differ
}

// Compare compares two reports figure by figure.
func Compare(before, after Report) Comparison {
	type key struct {
		scenario, measure, contender string
		n                            int
	}
	var c Comparison
	old := map[key]Row{}
	eachFigure(before, func(s Scenario, m Measure, r Row) { old[key{s.Name, m.Name, r.Contender, r.N}] = r })
	only := len(old)
	eachFigure(after, func(s Scenario, m Measure, r Row) {
		o, ok := old[key{s.Name, m.Name, r.Contender, r.N}]
		if !ok {
			c.Unmatched++
			return
		}
		only--
		if ch, ok := change(o.Value, r.Value, m.Better); ok {
			ch.Scenario, ch.Measure, ch.Unit, ch.Contender, ch.N = s.Name, m.Name, m.Unit, r.Contender, r.N
			c.Changes = append(c.Changes, ch)
		}
	})
	c.Unmatched += only
	slices.SortStableFunc(c.Changes, func(a, b Change) int { return cmp.Compare(a.Better, b.Better) })
	c.Differences = differences(before.Environment, after.Environment)
	return c
}

// eachFigure calls f for all figures of which more or less is better.
func eachFigure(r Report, f func(Scenario, Measure, Row)) {
	for _, s := range r.Scenarios {
		for _, m := range s.Measures {
			for _, row := range m.Rows {
				if m.Better != "" && row.Value.Rounds > 0 {
					f(s, m, row)
				}
			}
		}
	}
}

// change compares two spreads. It returns false if one of the medians is not positive.
func change(old, now Spread, better string) (Change, bool) {
	if old.Median <= 0 || now.Median <= 0 {
		return Change{}, false
	}
	c := Change{Old: old, New: now, Better: old.Median / now.Median, Margin: 1 + noise(old) + noise(now)}
	if better == Higher {
		c.Better = 1 / c.Better
	}
	return c, true
}

// noise returns the share by which a median may be off: half of the difference between the rounds, and at least 3 %,
// because rounds in one process have conditions in common that another process has not. A single round says nothing
// about the noise, so it counts as very noisy.
func noise(s Spread) float64 {
	if s.Rounds < 2 {
		return 0.15
	}
	return max(0.03, (s.Max-s.Min)/2/s.Median)
}

// differences lists what differs between two environments.
func differences(a, b Environment) (diffs []string) {
	for _, d := range []struct{ what, old, now string }{
		{"Go", a.Go, b.Go},
		{"system", a.OS + "/" + a.Arch, b.OS + "/" + b.Arch},
		{"processor", a.CPU, b.CPU},
		{"kernel", a.Kernel, b.Kernel},
		{"GOMAXPROCS", fmt.Sprint(a.Procs), fmt.Sprint(b.Procs)},
		{"mode", a.Mode, b.Mode},
		{"timers", Thousands(a.Timers), Thousands(b.Timers)},
	} {
		if d.old != d.now {
			diffs = append(diffs, fmt.Sprintf("%s: %s, then %s", d.what, cmp.Or(d.old, "unknown"), cmp.Or(d.now, "unknown")))
		}
	}
	return diffs
}

// Table writes the figures that have got worse and those that have got better.
func (c Comparison) Table(w io.Writer, style Style) error {
	var b strings.Builder
	for _, d := range c.Differences {
		b.WriteString("The conditions differ in " + d + "\n")
	}
	same := 0
	var slower, faster []Change
	for _, ch := range c.Changes {
		switch {
		case ch.Slower():
			slower = append(slower, ch)
		case ch.Faster():
			faster = append(faster, ch)
		default:
			same++
		}
	}
	slices.Reverse(faster) // the best change first
	for _, part := range []struct {
		title string
		tone  tone
		list  []Change
	}{{"Worse", toneBad, slower}, {"Better", toneGood, faster}} {
		if len(part.list) == 0 {
			continue
		}
		g := grid{{{text: part.title}, {text: "contender"}, {text: "timers"}, {text: "old"}, {text: "new"}, {text: "times better"}, {text: "noise"}}}
		for _, ch := range part.list {
			n := "-"
			if ch.N > 0 {
				n = Thousands(ch.N)
			}
			g = append(g, []cell{
				{text: ch.Scenario + ": " + ch.Measure},
				{text: ch.Contender},
				{text: n},
				{text: Figure(ch.Old, ch.Unit)},
				{text: Figure(ch.New, ch.Unit)},
				{fmt.Sprintf("%.2fx", ch.Better), part.tone},
				{text: fmt.Sprintf("±%.0f %%", 100*(ch.Margin-1))},
			})
		}
		g.write(&b, Style{Colour: style.Colour})
	}
	fmt.Fprintf(&b, "\n%d worse, %d better, %d the same within the noise", len(slower), len(faster), same)
	if c.Unmatched > 0 {
		fmt.Fprintf(&b, ", %d in one report only", c.Unmatched)
	}
	if control := drift(c.Changes); math.Abs(control-1) > 0.05 {
		fmt.Fprintf(&b, ".\nThe standard library is %.2fx itself: the machine or its other load has changed", control)
	}
	b.WriteString(".\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// drift returns how many times better the standard library has got. If that is not 1, the machine has changed.
func drift(changes []Change) float64 {
	var by []float64
	for _, c := range changes {
		if k, ok := findContender(c.Contender); ok && k.Kind == Standard {
			by = append(by, c.Better)
		}
	}
	if len(by) == 0 {
		return 1
	}
	return spread(by).Median
}
