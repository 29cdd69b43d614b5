package bench

import (
	"fmt"
	"slices"
	"strings"
)

// A choice is a kind of program, the part of Foliot that is for it, and a comparison that shows what it gains.
type choice struct {
	have, use         string
	scenario, measure string // the beginning of the name of the measure; no scenario: there is nothing to measure
	contender         string
}

// choices are the lines of the table in which a reader finds the part of Foliot to use. Links are relative to the root of
// the repository.
var choices = []choice{
	{"many timers that are mostly stopped: request deadlines, idle sessions", "[`foliot`](doc.go)", "request-timeouts", "arm and stop: CPU", "foliot"},
	{"a few timers that must be sharp", "[`foliot`](doc.go), maybe `Precise`", "sparse", "late by, median", "foliot"},
	{"many sessions with something to do periodically", "[`foliot.Task`](task.go)", "periodic-tasks", "processor time, a tick every", "tasks"},
	{"values that are due later, in memory", "[`foliot.Queue`](queue.go)", "delay-queue", "push and remove, against AfterFunc and Stop: CPU", "queue"},
	{"an event loop: scripts, actors, games, simulations", "[`loop`](loop/doc.go)", "loop-delays", "delays of 10 to", "loop"},
	{"deadlines behind your own lock or on one goroutine, as in a cache", "[`foliot.Expirer`](expirer.go), or only [`wheel`](wheel/doc.go)", "wheel-ops", "arm and cancel at once", "wheel"},
	{"an existing program with many `AfterFunc`", "[`time`](time/doc.go), a drop-in", "drop-in", "AfterFunc and Stop: CPU", "drop-in"},
	{"an existing program with many `WithTimeout`", "[`context`](context/doc.go), a drop-in", "drop-in", "context.WithTimeout, Done and cancel: CPU", "drop-in"},
	{"timers that must survive the process: order expiry, reminders, retries hours later", "[`durable`](durable/doc.go), its own module", "", "", ""},
	{"programs in any language that want to be called back: by a webhook, or by server-sent events", "[`foliot serve`](docs/serve.md), by HTTP", "", "", ""},
	{"tests that must not wait", "[`clock`](clock/doc.go) to inject, [`foliot.ManualClock`](clock.go), `loop.Virtual`; or `testing/synctest`", "", "", ""},
}

// Choice returns the table of choices, each with the largest number of timers for which there is a ratio. It returns an
// error if the report does not have all comparisons.
func (r Report) Choice() (string, error) { return r.choice(choices) }

func (r Report) choice(lines []choice) (string, error) {
	g := grid{{{text: "you have"}, {text: "use"}, {text: "measured"}, {text: "standard way"}, {text: "Foliot"}}}
	for _, l := range lines {
		none := cell{text: "-"}
		measured, base, ours := none, none, none
		if l.scenario != "" {
			m, err := r.findPrefix(l.scenario, l.measure)
			if err != nil {
				return "", err
			}
			b, o, ok := m.largestPair(l.contender)
			if !ok {
				return "", fmt.Errorf("the report has no ratio of %s for %s, %q", l.contender, l.scenario, l.measure)
			}
			measured.text = m.Name
			if o.N > 1 {
				measured.text += ", " + Thousands(o.N)
			}
			base, ours = b.cell(m.Unit), o.cell(m.Unit)
		}
		g = append(g, []cell{{text: l.have}, {text: l.use}, measured, base, ours})
	}
	var b strings.Builder
	g.markdown(&b, 3)
	return b.String(), nil
}

// findPrefix returns the first measure of a scenario whose name begins with prefix. Some names end with a setting of the
// run.
func (r Report) findPrefix(scenario, prefix string) (Measure, error) {
	for _, s := range r.Scenarios {
		if s.Name != scenario {
			continue
		}
		i := slices.IndexFunc(s.Measures, func(m Measure) bool { return strings.HasPrefix(m.Name, prefix) })
		if i < 0 {
			return Measure{}, fmt.Errorf("the report has no measure %q of %s", prefix, scenario)
		}
		return s.Measures[i], nil
	}
	return Measure{}, fmt.Errorf("the report has no scenario %q", scenario)
}

// largestPair returns the rows of the base and of a contender with the largest number of timers for which the contender
// has a reliable ratio.
func (m Measure) largestPair(contender string) (base, ours Row, ok bool) {
	for _, row := range m.Rows {
		if row.Contender != contender || row.Ratio.Rounds == 0 || row.Error != "" || ok && row.N <= ours.N {
			continue
		}
		i := slices.IndexFunc(m.Rows, func(b Row) bool { return b.Contender == m.Base && b.N == row.N })
		if i >= 0 {
			base, ours, ok = m.Rows[i], row, true
		}
	}
	return base, ours, ok
}
