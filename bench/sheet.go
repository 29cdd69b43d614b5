package bench

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A sheet collects the figures of one scenario. It belongs to the goroutine that measures.
type sheet struct {
	ctx      context.Context
	o        Options
	n        int // timers that the scenario is to have outstanding
	measures []*figures
	plots    []Plot
	failed   []failure
}

// figures are a measure on the way.
type figures struct {
	Measure
	rows []*figure
}

// A figure is a row on the way.
type figure struct {
	contender string
	n         int
	rounds    []float64
	early     int
	notes     []string
}

// A failure is a contender that did not get to the end.
type failure struct {
	contender string
	n         int
	why       string
}

func newSheet(ctx context.Context, o Options) *sheet {
	return &sheet{ctx: ctx, o: o, n: o.Timers}
}

// pick returns one of two, depending on how much time there is.
func pick[T any](s *sheet, quick, full T) T {
	if s.o.Full {
		return full
	}
	return quick
}

// rounds counts them until there were enough, the time is up or the context has ended. There are three at
// least, or fewer if no more were asked for.
func (s *sheet) rounds() iter.Seq[int] {
	return s.roundsWithin(pick(s, 1200*time.Millisecond, time.Minute))
}

func (s *sheet) roundsWithin(limit time.Duration) iter.Seq[int] {
	return func(yield func(int) bool) {
		began := time.Now()
		for i := range s.o.Rounds {
			if s.ctx.Err() != nil || i >= 3 && time.Since(began) > limit || !yield(i) {
				return
			}
		}
	}
}

// fewRounds are for what takes seconds.
func (s *sheet) fewRounds() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range (s.o.Rounds + 2) / 3 {
			if s.ctx.Err() != nil || !yield(i) {
				return
			}
		}
	}
}

// measure returns the measure of that name, which is compared with the standard library, lower being better,
// unless the caller says otherwise.
func (s *sheet) measure(name, unit string) *figures {
	for _, m := range s.measures {
		if m.Name == name {
			return m
		}
	}
	m := &figures{Measure: Measure{Name: name, Unit: unit, Better: Lower, Base: "std"}}
	s.measures = append(s.measures, m)
	return m
}

// main says that it is the measure to look at first.
func (f *figures) main() *figures { f.Main = true; return f }

// against says whom the others are compared with.
func (f *figures) against(base string) *figures { f.Base = base; return f }

// higher says that more is better.
func (f *figures) higher() *figures { f.Better = Higher; return f }

// neutral says that neither more nor less is better: it is there to judge the others by.
func (f *figures) neutral() *figures { f.Better, f.Base = "", ""; return f }

func (f *figures) row(contender string, n int) *figure {
	for _, r := range f.rows {
		if r.contender == contender && r.n == n {
			return r
		}
	}
	r := &figure{contender: contender, n: n}
	f.rows = append(f.rows, r)
	return r
}

// add writes down what came of some rounds.
func (f *figures) add(contender string, n int, rounds ...float64) *figure {
	r := f.row(contender, n)
	r.rounds = append(r.rounds, rounds...)
	return r
}

func (r *figure) note(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// fail writes down why a contender could not be measured, or not to the end.
func (s *sheet) fail(contender string, n int, err error) {
	f := failure{contender, n, err.Error()}
	if !slices.Contains(s.failed, f) {
		s.failed = append(s.failed, f)
	}
}

func (s *sheet) plot(p Plot) {
	if len(p.Series) > 0 {
		s.plots = append(s.plots, p)
	}
}

// scenario returns what is on the sheet.
func (s *sheet) scenario(sc scenario, err error) Scenario {
	out := Scenario{Name: sc.name, Title: sc.title, About: sc.about, Plots: s.plots}
	if err != nil {
		out.Error = err.Error()
	}
	for _, f := range s.measures {
		m := f.Measure
		for _, r := range f.rows {
			if len(r.rounds) > 0 {
				m.Rows = append(m.Rows, f.finished(r))
			}
		}
		if len(m.Rows) > 0 {
			m.Rows = inOrder(m.Rows)
			out.Measures = append(out.Measures, m)
		}
	}
	for _, f := range s.failed {
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

func (f *figures) finished(r *figure) Row {
	row := Row{Contender: r.contender, N: r.n, Value: spread(r.rounds), Early: r.early, Notes: r.notes}
	if f.Base == "" || f.Base == r.contender {
		return row
	}
	for _, base := range f.rows {
		if base.contender == f.Base && base.n == r.n {
			if f.Better == Higher {
				row.Ratio = spread(ratios(r.rounds, base.rounds))
			} else {
				row.Ratio = spread(ratios(base.rounds, r.rounds))
			}
		}
	}
	return row
}

// inOrder sorts by number of timers, and then as the contenders are listed.
func inOrder(rows []Row) []Row {
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.N != b.N {
			return a.N - b.N
		}
		return rank(a.Contender) - rank(b.Contender)
	})
	return rows
}

func (s Scenario) markUsed(used map[string]bool) {
	for _, m := range s.Measures {
		for _, r := range m.Rows {
			used[r.Contender] = true
		}
	}
}
