// Package bench races timers: Foliot's, those of the standard library, of other Go packages and of other
// programs. The same work is done by all of them, in one process where that is possible, in rounds that take
// turns, with the garbage collector on.
//
// A scenario (scenarios.go) is something that a user recognises. It has contenders (contenders.go) do
// some work and writes what that took onto a sheet (sheet.go), which becomes a part of the report (report.go).
// There are three kinds of contenders in this process: timers that call functions (timers.go), structures
// with one owner (rings.go) and event loops (loops.go); other programs are run as scripts (scripts.go).
package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Options say what to measure. The zero value is a run of about a minute.
type Options struct {
	Scenarios  []string // names of the scenarios; empty: all
	Contenders []string // names of the contenders; empty: all. What others are compared with is always there
	Timers     int      // outstanding timers; default 100,000, or 1,000,000 in a full run
	Rounds     int      // rounds of each measure, at most; default 5
	Full       bool     // take the time that sound figures take: eight minutes, half an hour with the slowest peers
	Progress   func(Progress)
}

// Progress tells what is about to be measured.
type Progress struct {
	Scenario string // its title
	Index    int    // from 0
	Of       int
	Took     time.Duration // since the beginning of the run
}

// Check tells what is wrong with the options.
func (o Options) Check() error {
	if o.Timers < 0 || o.Rounds < 0 {
		return fmt.Errorf("bench: %d timers, %d rounds: neither can be negative", o.Timers, o.Rounds)
	}
	for _, name := range o.Scenarios {
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name == name }) {
			return fmt.Errorf("bench: there is no scenario %q; there are %s", name, strings.Join(names(scenarios, func(s scenario) string { return s.name }), ", "))
		}
	}
	for _, name := range o.Contenders {
		if _, ok := find(name); !ok {
			return fmt.Errorf("bench: there is no contender %q; there are %s", name, strings.Join(names(contenders, func(c contender) string { return c.Name }), ", "))
		}
	}
	return nil
}

func names[T any](all []T, name func(T) string) []string {
	list := make([]string, len(all))
	for i, x := range all {
		list[i] = name(x)
	}
	return list
}

// Run measures and returns what it has. If ctx ends on the way, the report holds what was measured before,
// and the error is that of ctx. What goes wrong in a scenario is told by the report.
func Run(ctx context.Context, o Options) (Report, error) {
	if err := o.Check(); err != nil {
		return Report{}, err
	}
	o = o.withDefaults()
	began := time.Now()
	r := Report{Environment: environment(o)}
	plan := o.plan()
	used := map[string]bool{}
	for i, sc := range plan {
		if ctx.Err() != nil {
			break
		}
		o.Progress(Progress{Scenario: sc.title, Index: i, Of: len(plan), Took: time.Since(began)})
		s := newSheet(ctx, o)
		err := sc.run(s)
		if ctx.Err() != nil {
			err = nil // what was measured until then is sound
		}
		if got := s.scenario(sc, err); len(got.Measures) > 0 || got.Error != "" {
			r.Scenarios = append(r.Scenarios, got)
			got.markUsed(used)
		}
		runtime.GC()
	}
	asShown(r.Scenarios)
	for _, c := range contenders {
		if used[c.Name] {
			r.Contenders = append(r.Contenders, c.described())
		}
	}
	r.Environment.Took = time.Since(began).Seconds()
	r.Interrupted = ctx.Err() != nil
	return r, ctx.Err()
}

func (o Options) withDefaults() Options {
	if o.Timers == 0 {
		o.Timers = 100_000
		if o.Full {
			o.Timers = 1_000_000
		}
	}
	if o.Rounds == 0 {
		o.Rounds = 5
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return o
}

// plan returns what is to be measured, in that order: what leaves traces in the process comes last, and what
// traces would falsify first.
func (o Options) plan() []scenario {
	var first, plan, last []scenario
	for _, s := range scenarios {
		switch {
		case len(o.Scenarios) > 0 && !slices.Contains(o.Scenarios, s.name):
		case s.fresh:
			first = append(first, s)
		case s.messy:
			last = append(last, s)
		default:
			plan = append(plan, s)
		}
	}
	return slices.Concat(first, plan, last)
}

// asShown sorts what was measured as it is shown.
func asShown(measured []Scenario) {
	place := map[string]int{}
	for i, s := range scenarios {
		place[s.name] = i
	}
	slices.SortFunc(measured, func(a, b Scenario) int { return place[a.Name] - place[b.Name] })
}

// wants tells whether a contender is to be measured.
func (o Options) wants(c contender) bool {
	return len(o.Contenders) == 0 || c.Kind == Standard || slices.Contains(o.Contenders, c.Name)
}
