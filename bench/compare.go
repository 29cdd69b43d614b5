package bench

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A Change is a figure that two reports have in common.
type Change struct {
	Scenario, Measure, Unit, Contender string
	N                                  int
	Old, New                           Spread

	// Better says how many times better the new figure is: above 1 it has got better, below 1 worse,
	// whatever the measure.
	Better float64
	// Margin is by what factor it may differ, either way, for no reason.
	Margin float64
}

// Slower tells whether the figure has got worse by more than the noise.
func (c Change) Slower() bool { return c.Better*c.Margin < 1 }

// Faster tells whether the figure has got better by more than the noise.
func (c Change) Faster() bool { return c.Better > c.Margin }

// A Comparison is what has changed from one report to another.
type Comparison struct {
	Changes []Change // all figures that both have, the worst first
	Only    int      // how many figures only one of them has
	Apart   []string // in what the conditions differ
}

// Compare compares two reports figure by figure.
func Compare(before, after Report) Comparison {
	type key struct {
		scenario, measure, contender string
		n                            int
	}
	var c Comparison
	old := map[key]Row{}
	each(before, func(s Scenario, m Measure, r Row) { old[key{s.Name, m.Name, r.Contender, r.N}] = r })
	only := len(old)
	each(after, func(s Scenario, m Measure, r Row) {
		o, ok := old[key{s.Name, m.Name, r.Contender, r.N}]
		if !ok {
			c.Only++
			return
		}
		only--
		if ch, ok := change(o.Value, r.Value, m.Better); ok {
			ch.Scenario, ch.Measure, ch.Unit, ch.Contender, ch.N = s.Name, m.Name, m.Unit, r.Contender, r.N
			c.Changes = append(c.Changes, ch)
		}
	})
	c.Only += only
	slices.SortStableFunc(c.Changes, func(a, b Change) int { return cmp.Compare(a.Better, b.Better) })
	c.Apart = apart(before.Environment, after.Environment)
	return c
}

// each calls f for all figures that one can be better at.
func each(r Report, f func(Scenario, Measure, Row)) {
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

// change compares two spreads. There is nothing to say about figures that are not positive.
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

// noise returns by what share a median may be off: half of what the rounds differ by, and never less than some
// percent, as rounds of one process have things in common that another one has not. A single round says nothing
// about that, and is trusted little.
func noise(s Spread) float64 {
	if s.Rounds < 2 {
		return 0.15
	}
	return max(0.03, (s.Max-s.Min)/2/s.Median)
}

func apart(a, b Environment) (diffs []string) {
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

// Table writes what has got slower and what faster.
func (c Comparison) Table(w io.Writer, style Style) error {
	var b strings.Builder
	for _, d := range c.Apart {
		b.WriteString("Not alike in " + d + "\n")
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
	slices.Reverse(faster) // the best first
	for _, part := range []struct {
		title string
		tone  tone
		list  []Change
	}{{"Worse", bad, slower}, {"Better", good, faster}} {
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
	if c.Only > 0 {
		fmt.Fprintf(&b, ", %d in one report only", c.Only)
	}
	if control := drift(c.Changes); math.Abs(control-1) > 0.05 {
		fmt.Fprintf(&b, ".\nThe standard library is %.2fx itself: the machine has changed, or what else it does", control)
	}
	b.WriteString(".\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// drift returns how many times better the standard library has got, which tells about the machine.
func drift(changes []Change) float64 {
	var by []float64
	for _, c := range changes {
		if k, ok := find(c.Contender); ok && k.Kind == Standard {
			by = append(by, c.Better)
		}
	}
	if len(by) == 0 {
		return 1
	}
	return spread(by).Median
}
