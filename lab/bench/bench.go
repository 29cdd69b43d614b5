package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/lab/bench/internal/catalog"
)

// A run measures scenarios and writes a line for each turn of a contender. Only the goroutine that measures uses it.
type run struct {
	ctx        context.Context
	out        io.Writer      // lines in Go's benchmark format
	progress   io.Writer      // what is being measured
	full       bool           // measure long enough for reliable figures
	n          int            // outstanding timers
	rounds     int            // rounds of a benchmark, unless a round takes seconds
	match      *regexp.Regexp // names of the scenarios or benchmarks to measure; nil: all
	contenders []string       // that take part beside the bases; empty: all
	scenario   string         // that is being measured
	began      time.Time
}

// scenarioFuncs measure the scenarios of the catalog, by name.
var scenarioFuncs = map[string]func(*run) error{
	"memory": memory, "requests": requests, "one-timer": oneTimer, "thousand": thousand, "steady": steady,
	"drop-in": dropIn, "contexts": contexts, "short-ticks": shortTicks, "tasks": tasks, "delay-queue": delayQueue,
	"ttl-cache": ttlCache, "loop": loops, "wheel": wheels, "durable": durableTimers, "cluster": clusterTimers,
	"serve": serveTimers, "bulk-expiry": bulkExpiry, "sharing": sharing,
	"periodic": periodic,
}

// plan returns the scenarios to measure.
func (r *run) plan() (all []catalog.Scenario) {
	for _, s := range catalog.Scenarios {
		named := r.match != nil && (r.match.MatchString(s.Name) ||
			slices.ContainsFunc(s.Benchmarks, func(b catalog.Benchmark) bool { return r.match.MatchString(b.Name) }))
		if named || r.match == nil && (r.full || !s.Servers) {
			all = append(all, s)
		}
	}
	return all
}

// measure measures the scenarios of the plan. A scenario that fails is reported and does not end the run.
func (r *run) measure() {
	r.began = time.Now()
	r.header()
	plan := r.plan()
	for i, s := range plan {
		if r.ctx.Err() != nil {
			return
		}
		fmt.Fprintf(r.progress, "%6v [%d/%d] %s\n", time.Since(r.began).Round(time.Second), i+1, len(plan), s.Name)
		r.scenario = s.Name
		if err := scenarioFuncs[s.Name](r); err != nil && r.ctx.Err() == nil {
			r.note(s.Name, err)
		}
		runtime.GC()
	}
}

// header writes what is known about the machine, and which units are better if there is more of them. benchstat makes a
// table of its own for each configuration, so what may differ between two commits is in comments.
func (r *run) header() {
	m := machine()
	for _, line := range [][2]string{
		{"goos", runtime.GOOS},
		{"goarch", runtime.GOARCH},
		{"pkg", "github.com/foliot-go/foliot/lab/bench"},
		{"cpu", m.cpu},
		{"go", runtime.Version()},
		{"gomaxprocs", strconv.Itoa(runtime.GOMAXPROCS(0))},
		{"memory", m.memory},
		{"# kernel", m.kernel},
		{"# commit", commit()},
		{"# date", time.Now().UTC().Format(time.DateOnly)},
		{"# mode", pick(r, "quick", "full")},
		{"# rounds", strconv.Itoa(r.rounds)},
	} {
		if line[1] != "" {
			fmt.Fprintf(r.out, "%s: %s\n", line[0], line[1])
		}
	}
	fmt.Fprintln(r.out, "Unit op/s better=higher")
	for _, base := range catalog.Bases() {
		fmt.Fprintf(r.out, "Unit %s better=higher\n", catalog.Ratio(base))
	}
	fmt.Fprintln(r.out)
}

// note reports why something was not measured, in the output and to whoever waits.
func (r *run) note(what string, err error) {
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	fmt.Fprintf(r.out, "# %s: %s\n", what, text)
	fmt.Fprintf(r.progress, "%s: %s\n", what, text)
}

// wants reports whether a contender is to be measured. Bases always are.
func (r *run) wants(contender string) bool {
	return len(r.contenders) == 0 || slices.Contains(r.contenders, contender) || slices.Contains(catalog.Bases(), contender)
}

// measures reports whether one of these benchmarks is to be measured.
func (r *run) measures(benchmarks ...string) bool {
	return r.match == nil || r.match.MatchString(r.scenario) || slices.ContainsFunc(benchmarks, r.match.MatchString)
}

// pick returns quick in a quick run and full in a full run.
func pick[T any](r *run, quick, full T) T {
	if r.full {
		return full
	}
	return quick
}

// few returns the number of rounds of a benchmark whose rounds take seconds.
func (r *run) few(most int) int { return min(r.rounds, most) }

// count names a benchmark by the number of timers: n=1000000.
func count(n int) string { return "n=" + strconv.Itoa(n) }

// An entrant is a contender in a scenario. T is what the scenario needs of it.
type entrant[T any] struct {
	name string
	it   T
	out  bool           // it has failed and takes no more turns
	ops  map[string]int // operations in a turn, by the benchmark and its key
}

// A maker makes what a scenario needs of a contender.
type maker[T any] struct {
	name string
	make func() (T, error)
}

// enter makes the contenders that are wanted. One that cannot be made is reported and does not take part.
func enter[T any](r *run, makers []maker[T]) (all []*entrant[T]) {
	for _, m := range makers {
		if !r.wants(m.name) || r.ctx.Err() != nil {
			continue
		}
		it, err := m.make()
		if err != nil {
			r.note(r.scenario+"/"+m.name, err)
			continue
		}
		all = append(all, &entrant[T]{name: m.name, it: it, ops: map[string]int{}})
	}
	return all
}

// A result is what one contender has got in one turn of a benchmark. The first of its values is the main one.
type result struct {
	name   string // of the benchmark
	key    string // what distinguishes it from others of the name, such as n=1000; may be empty
	ops    int    // operations; 0 counts as 1
	values []value
}

type value struct {
	v    float64
	unit string
}

// turns lets all contenders work in rounds. Another one begins each round. A turn may have results of several
// benchmarks; the ratio of each to that of the base in the same round becomes a value of its own. A contender that
// fails is reported and takes no more turns. errUnsupported only says that it has no such turn.
func turns[T any](r *run, rounds int, all []*entrant[T], turn func(round int, e *entrant[T]) ([]result, error)) {
	for round := range rounds {
		results := map[string][]result{} // by contender
		for i := range all {
			e := all[(round+i)%len(all)]
			if e.out || r.ctx.Err() != nil {
				continue
			}
			got, err := turn(round, e)
			switch {
			case err == nil:
				results[e.name] = got
			case r.ctx.Err() == nil && !errors.Is(err, errUnsupported):
				e.out = true
				r.note(r.scenario+"/"+e.name, err)
			}
		}
		if r.ctx.Err() != nil {
			return // the round is not complete
		}
		for _, e := range all {
			for _, one := range results[e.name] {
				r.write(e.name, one, results)
			}
		}
	}
}

var errUnsupported = errors.New("not supported")

// perRound returns a function that draws once in a round, so that all contenders have the same.
func perRound[T any](draw func() T) func(round int) T {
	var drawn T
	last := -1
	return func(round int) T {
		if round != last {
			drawn, last = draw(), round
		}
		return drawn
	}
}

// write writes the line of a result.
func (r *run) write(contender string, one result, round map[string][]result) {
	if len(one.values) == 0 || !r.measures(one.name) {
		return
	}
	b, ok := catalog.Find(one.name)
	if !ok || one.values[0].unit != b.Unit {
		panic(fmt.Sprintf("%s with the unit %s is not in the catalog", one.name, one.values[0].unit))
	}
	values := one.values
	for _, base := range round[b.Base] {
		if base.name == one.name && base.key == one.key && contender != b.Base {
			if x, ok := ratio(one.values[0], base.values[0]); ok {
				values = append(slices.Clip(values), value{x, catalog.Ratio(b.Base)})
			}
		}
	}
	name := "Benchmark" + catalog.CamelCase(one.name) + "/contender=" + contender
	if one.key != "" {
		name += "/" + one.key
	}
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		name += "-" + strconv.Itoa(procs)
	}
	fmt.Fprintf(r.out, "%s\t%8d", name, max(one.ops, 1))
	for _, v := range values {
		fmt.Fprintf(r.out, "\t%s %s", digits(v.v), v.unit)
	}
	fmt.Fprintln(r.out)
}

// ratio returns how many times better a value is than that of the base: more than 1 is better.
func ratio(own, base value) (float64, bool) {
	if own.v <= 0 || base.v <= 0 {
		return 0, false
	}
	if catalog.HigherIsBetter(own.unit) {
		return own.v / base.v, true
	}
	return base.v / own.v, true
}

// digits writes a number with four digits or more.
func digits(v float64) string {
	for places := 0; places < 5; places++ {
		if v >= 1000 || v <= -1000 || v == 0 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		if limit := []float64{1000, 100, 10, 1, 0.1}[places]; v >= limit {
			return strconv.FormatFloat(v, 'f', places, 64)
		}
	}
	return strconv.FormatFloat(v, 'f', 6, 64)
}

// work is a loop of operations that all contenders do.
//
// Its cost is the processor time of the whole process, because the garbage collector works on other threads and is part
// of the price. Set garbage where some contenders leave garbage. Then each turn begins with a collection, which removes
// the garbage of the turn before. Such a turn has to be long enough for garbage to pile up and be collected.
type work struct {
	name, key string
	garbage   bool
	most      int                        // operations in a turn, at most; 0: any number
	per       int                        // operations that count for each; 0: one
	length    time.Duration              // of a turn; 0: 25 ms, or 200 ms in a full run
	do        func(ops int) (failed int) // returns how many operations failed; none may
	cleanup   func(ops int) (failed int) // runs after do and is not measured; may be nil
}

// cost measures one turn of work. The first turn is preceded by short ones, to warm up and to find out how many
// operations make a turn: an operation takes nanoseconds with one contender and microseconds with another.
func (e *entrant[T]) cost(r *run, w work) ([]result, error) {
	ops := e.ops[w.name+w.key]
	if ops == 0 {
		var err error
		if ops, err = w.calibrate(cmp.Or(w.length, pick(r, 25*time.Millisecond, 200*time.Millisecond))); err != nil {
			return nil, err
		}
		e.ops[w.name+w.key] = ops
	}
	c, err := w.measure(ops)
	if err != nil {
		return nil, err
	}
	c = c.dividedBy(max(w.per, 1))
	return []result{c.result(w.name, w.key, ops*max(w.per, 1))}, nil
}

// calibrate returns how many operations take about the given time.
func (w work) calibrate(length time.Duration) (int, error) {
	w.garbage = false
	for ops := w.atMost(8); ; ops = w.atMost(8 * ops) {
		fastest := math.Inf(1) // of three: the machine may do something else meanwhile
		for range 3 {
			c, err := w.measure(ops)
			if err != nil {
				return 0, err
			}
			fastest = min(fastest, max(c.wall, 0.01))
		}
		if fastest*float64(ops) > float64(length)/8 || ops == w.most {
			return w.atMost(max(1, int(float64(length)/fastest))), nil
		}
	}
}

func (w work) atMost(ops int) int {
	if w.most > 0 {
		return min(ops, w.most)
	}
	return ops
}

func (w work) measure(ops int) (cost, error) {
	c, err := measureCost(ops, w.garbage, func() int { return w.do(ops) })
	if err == nil && w.cleanup != nil {
		if failed := w.cleanup(ops); failed != 0 {
			err = failedOps(failed, ops)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", w.name, err)
	}
	return c, err
}

// A cost is what one operation took, on average over a turn.
type cost struct{ cpu, wall, allocs float64 } // nanoseconds, and a number

func (c cost) dividedBy(n int) cost {
	return cost{c.cpu / float64(n), c.wall / float64(n), c.allocs / float64(n)}
}

func (c cost) result(name, key string, ops int) result {
	return result{name, key, ops, []value{{c.cpu, "cpu-ns/op"}, {c.wall, "ns/op"}, {c.allocs, "allocs/op"}}}
}

// measureCost measures do, which does ops operations. With clean set it collects garbage first.
func measureCost(ops int, clean bool, do func() (failed int)) (c cost, err error) {
	if clean {
		runtime.GC()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, cpu := time.Now(), processCPU()
	failed := do()
	cpu, wall := processCPU()-cpu, time.Since(began)
	runtime.ReadMemStats(&after)
	per := 1 / float64(ops)
	c = cost{max(float64(cpu), 1) * per, float64(wall) * per, float64(after.Mallocs-before.Mallocs) * per}
	if failed != 0 {
		err = failedOps(failed, ops)
	}
	return c, err
}

func failedOps(failed, of int) error { return fmt.Errorf("%d of %d operations failed", failed, of) }

// parallel divides the operations among g goroutines, which work at the same time. It returns how many operations
// failed.
func parallel(g, ops int, do func(from, to int) (failed int)) int {
	var failed atomic.Int64
	var all sync.WaitGroup
	for i := range g {
		all.Go(func() { failed.Add(int64(do(i*ops/g, (i+1)*ops/g))) })
	}
	all.Wait()
	return int(failed.Load())
}

// lateness returns the values of timers that were late: the median first.
func lateness(late []time.Duration) []value {
	if len(late) == 0 {
		return nil
	}
	s := slices.Sorted(slices.Values(late))
	at := func(share float64) float64 {
		return max(float64(s[min(int(share*float64(len(s))), len(s)-1)]), 1)
	}
	values := []value{{at(0.5), "p50-late-ns"}, {at(0.9), "p90-late-ns"}}
	if len(s) >= 100 { // with fewer it would be the latest
		values = append(values, value{at(0.99), "p99-late-ns"})
	}
	early, _ := slices.BinarySearch(s, 0)
	return append(values, value{at(1), "max-late-ns"}, value{float64(early), "early"})
}

// median returns the middle of some numbers.
func median(numbers []float64) float64 {
	s := slices.Sorted(slices.Values(numbers))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// A host is what is known about the machine.
type host struct {
	cpu, kernel, memory string
	bytes               int64 // of memory; 0: unknown
}
