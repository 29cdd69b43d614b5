// Package bench compares timers: those of Foliot, of the standard library, of other Go packages and of other
// programs. All contenders do the same work, in one process where that is possible. They take turns in rounds,
// with the garbage collector on.
//
// A scenario is a use of timers that a user recognises. Running it lets contenders do some work and collects the
// figures, which become a part of the report. To read the code, begin with:
//
//   - report.go: what a run produces; bench.go: Run
//   - scenarios.go and contenders.go: the lists of both
//   - scenariorun.go: one run of a scenario, its rounds and the figures it collects
//   - workload.go and pair.go: the two ways to measure work, by all contenders in turn or by two of them
//
// There are seven kinds of contenders:
//
//   - timers that call functions: timers.go, with adapters.go and peers.go
//   - data structures with one owner: structures.go
//   - event loops in this process: loops.go
//   - event loops of other programs: scripts.go
//   - stores of timers that survive a crash: durablestores.go
//   - timers in a stream of NATS JetStream: clustertimers.go, with clusterservers.go
//   - servers of HTTP in other processes: servechild.go, with servehttp.go and servebare.go
//
// Each scenario is a function. Those about timers are in requests.go, parts.go, resets.go, lateness.go, burst.go, density.go,
// memory.go, dropin.go, tickers.go and periodic.go; the others in contexts.go, queue.go, ttlcache.go, durable.go, cluster.go,
// serve.go and in the files whose names begin with task, wheel or loops.
// A report is shown by table.go, judged by verdict.go, compared with another by compare.go and put into a page by
// splice.go.
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
	Scenarios  []string // names of the scenarios; empty: all, but those that start servers only in a full run
	Contenders []string // names of the contenders; empty: all. The bases of comparison are always included
	Timers     int      // outstanding timers; default 100,000, or 1,000,000 in a full run
	Rounds     int      // rounds of each measure, at most; default 5
	Full       bool     // measure long enough for reliable figures: a quarter of an hour, 40 minutes with the slowest peers
	Progress   func(Progress)
}

// Progress is reported before each scenario.
type Progress struct {
	Scenario string        // the title of the scenario
	Index    int           // its place in the run, from 0
	Of       int           // the number of scenarios
	Took     time.Duration // time since the beginning of the run
}

// Check returns an error if the options are invalid.
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
		if _, ok := findContender(name); !ok {
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

// Run measures the scenarios and returns the report. If ctx ends before the run does, the report holds what was
// measured until then, and the error is that of ctx. An error in a scenario is part of the report.
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
		s := newScenarioRun(ctx, o)
		err := sc.run(s)
		if ctx.Err() != nil {
			err = nil // the figures measured until then are valid
		}
		if got := s.report(sc, err); len(got.Measures) > 0 || got.Error != "" {
			r.Scenarios = append(r.Scenarios, got)
			got.markUsed(used)
		}
		runtime.GC()
	}
	sortAsShown(r.Scenarios)
	for _, c := range contenders {
		if used[c.Name] {
			r.Contenders = append(r.Contenders, c.describe())
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

// plan returns the scenarios to measure, in the order of measuring: those that need a fresh process first, those
// that leave traces in the process last.
func (o Options) plan() []scenario {
	var first, plan, last []scenario
	for _, s := range scenarios {
		switch {
		case len(o.Scenarios) > 0 && !slices.Contains(o.Scenarios, s.name):
		case len(o.Scenarios) == 0 && !o.Full && s.needsServers:
		case s.needsFreshProcess:
			first = append(first, s)
		case s.leavesTraces:
			last = append(last, s)
		default:
			plan = append(plan, s)
		}
	}
	return slices.Concat(first, plan, last)
}

// sortAsShown sorts scenarios by the order in which reports show them.
func sortAsShown(measured []Scenario) {
	place := map[string]int{}
	for i, s := range scenarios {
		place[s.name] = i
	}
	slices.SortFunc(measured, func(a, b Scenario) int { return place[a.Name] - place[b.Name] })
}

// wants reports whether a contender is to be measured.
func (o Options) wants(c contender) bool {
	return len(o.Contenders) == 0 || c.Kind == Standard || slices.Contains(o.Contenders, c.Name)
}
