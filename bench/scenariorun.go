package bench

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A scenarioRun is one run of a scenario. It counts the rounds and collects the figures. Only the goroutine that
// measures uses it.
type scenarioRun struct {
	ctx      context.Context
	opts     Options
	n        int // number of outstanding timers
	measures []*measurement
	plots    []Plot
	failures []failure
}

// A measurement is a Measure that is still being collected.
type measurement struct {
	Measure
	rows []*samples
}

// samples is a Row that is still being collected.
type samples struct {
	contender string
	n         int
	rounds    []float64
	few       bool // they rest on too few timers to be compared
	early     int
	notes     []string
}

// A failure says why a contender could not be measured, or not to the end.
type failure struct {
	contender string
	n         int
	why       string
}

func newScenarioRun(ctx context.Context, o Options) *scenarioRun {
	return &scenarioRun{ctx: ctx, opts: o, n: o.Timers}
}

// pick returns quick in a quick run and full in a full run.
func pick[T any](s *scenarioRun, quick, full T) T {
	if s.opts.Full {
		return full
	}
	return quick
}

// rounds yields the numbers of the rounds until there were enough, the time is up or the context has ended. The
// time limit applies only after three rounds.
func (s *scenarioRun) rounds() iter.Seq[int] {
	return s.roundsWithin(pick(s, 1200*time.Millisecond, time.Minute))
}

func (s *scenarioRun) roundsWithin(limit time.Duration) iter.Seq[int] {
	return func(yield func(int) bool) {
		began := time.Now()
		for i := range s.opts.Rounds {
			if s.ctx.Err() != nil || i >= 3 && time.Since(began) > limit || !yield(i) {
				return
			}
		}
	}
}

// fewRounds yields a third of the rounds, for work that takes seconds.
func (s *scenarioRun) fewRounds() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range (s.opts.Rounds + 2) / 3 {
			if s.ctx.Err() != nil || !yield(i) {
				return
			}
		}
	}
}

// measure returns the measurement of that name, and makes it if it is new. Unless the caller changes that, the
// standard library is the base of comparison and lower is better.
func (s *scenarioRun) measure(name, unit string) *measurement {
	for _, m := range s.measures {
		if m.Name == name {
			return m
		}
	}
	m := &measurement{Measure: Measure{Name: name, Unit: unit, Better: Lower, Base: "std"}}
	s.measures = append(s.measures, m)
	return m
}

// main marks the measure as the one to look at first.
func (m *measurement) main() *measurement { m.Main = true; return m }

// against sets the contender that the others are compared with.
func (m *measurement) against(base string) *measurement { m.Base = base; return m }

// higherIsBetter says that more is better.
func (m *measurement) higherIsBetter() *measurement { m.Better = Higher; return m }

// neutral says that neither more nor less is better: the figure is context for the other measures.
func (m *measurement) neutral() *measurement { m.Better, m.Base = "", ""; return m }

// samplesOf returns the samples of a contender with n timers, and makes them if they are new.
func (m *measurement) samplesOf(contender string, n int) *samples {
	for _, r := range m.rows {
		if r.contender == contender && r.n == n {
			return r
		}
	}
	r := &samples{contender: contender, n: n}
	m.rows = append(m.rows, r)
	return r
}

// add appends the results of rounds.
func (m *measurement) add(contender string, n int, rounds ...float64) *samples {
	r := m.samplesOf(contender, n)
	r.rounds = append(r.rounds, rounds...)
	return r
}

func (r *samples) note(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// fail records why a contender could not be measured, or not to the end.
func (s *scenarioRun) fail(contender string, n int, err error) {
	f := failure{contender, n, err.Error()}
	if !slices.Contains(s.failures, f) {
		s.failures = append(s.failures, f)
	}
}

func (s *scenarioRun) plot(p Plot) {
	if len(p.Series) > 0 {
		s.plots = append(s.plots, p)
	}
}

// report returns the collected figures. err is what ended the scenario, or nil.
func (s *scenarioRun) report(sc scenario, err error) Scenario {
	out := Scenario{Name: sc.name, Title: sc.title, About: sc.about, Plots: s.plots}
	if err != nil {
		out.Error = err.Error()
	}
	for _, collected := range s.measures {
		m := collected.Measure
		for _, r := range collected.rows {
			if len(r.rounds) > 0 {
				m.Rows = append(m.Rows, collected.toRow(r))
			}
		}
		if len(m.Rows) > 0 {
			m.Rows = inOrder(m.Rows)
			out.Measures = append(out.Measures, m)
		}
	}
	for _, f := range s.failures {
		if len(out.Measures) == 0 {
			out.Error = fmt.Sprintf("%s: %s", f.contender, f.why)
			continue
		}
		first := &out.Measures[0]
		if i := slices.IndexFunc(first.Rows, func(r Row) bool { return r.Contender == f.contender && r.N == f.n }); i >= 0 {
			first.Rows[i].Error = f.why
		} else {
			first.Rows = inOrder(append(first.Rows, Row{Contender: f.contender, N: f.n, Error: f.why}))
		}
	}
	return out
}

// toRow returns the spread of the samples and, unless they are the base, that of their ratios to the base.
func (m *measurement) toRow(r *samples) Row {
	row := Row{Contender: r.contender, N: r.n, Value: spread(r.rounds), Early: r.early, Notes: r.notes}
	if m.Base == "" || m.Base == r.contender {
		return row
	}
	for _, base := range m.rows {
		if base.contender == m.Base && base.n == r.n && !base.few && !r.few {
			if m.Better == Higher {
				row.Ratio = spread(ratios(r.rounds, base.rounds))
			} else {
				row.Ratio = spread(ratios(base.rounds, r.rounds))
			}
		}
	}
	return row
}

// inOrder sorts rows by the number of timers, and then by the order of the contenders.
func inOrder(rows []Row) []Row {
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.N != b.N {
			return a.N - b.N
		}
		return contenderRank(a.Contender) - contenderRank(b.Contender)
	})
	return rows
}

// markUsed adds the names of the contenders that have rows.
func (s Scenario) markUsed(used map[string]bool) {
	for _, m := range s.Measures {
		for _, r := range m.Rows {
			used[r.Contender] = true
		}
	}
}
