// Package bench measures Foliot beside the standard library: the same work by both,
// in one process, in rounds that take turns, with the garbage collector on.
package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// The parts that can be measured by themselves.
const (
	Wheel   = "wheel"   // package wheel, owned by one goroutine
	Runtime = "runtime" // timers of package foliot, used by any
	Tasks   = "tasks"   // its tasks and queues, beside goroutines
)

var parts = []string{Wheel, Runtime, Tasks}

// Options say what to measure. The zero value is a run of about two minutes.
type Options struct {
	Only     string            // one of the parts; empty: all
	Timers   int               // outstanding timers; default 1,000,000
	Rounds   int               // rounds of each measurement; default 9
	Full     bool              // also measure with ten times as many
	Progress func(text string) // called with what is about to be measured
}

// A Result is one line of the report.
type Result struct {
	Part   string // Wheel, Runtime or Tasks
	Group  string // under what conditions: the lines of a group are one table
	Name   string // the work, as a user would put it
	Unit   string // of the figures
	Timers int    // how many there are
	Std    Spread // time.AfterFunc and Stop or Reset, or what Against says; none where there is no such thing
	Foliot Spread // the wheel, the runtime or its tasks
	List   Spread `json:",omitzero"` // the other layout of a wheel; none where it was not tried
	Ratio  Spread // Std to Foliot, round by round; more is better for Foliot

	// Against is whose figures Std are, the same for the lines of a group; empty: those of
	// time.AfterFunc.
	Against string `json:",omitempty"`

	// Where the above is processor time, this is the time on the clock.
	StdWall, FoliotWall, RatioWall Spread `json:",omitzero"`
}

// A Report is all results and where they come from.
type Report struct {
	Go, OS, Arch string
	CPU          string `json:",omitempty"`
	Procs        int
	Rounds       int
	When         time.Time
	Results      []Result
}

// Run measures and returns what it has. If ctx ends on the way, the report holds what
// was measured before, and the error is that of ctx.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Timers < 0 || o.Rounds < 0 {
		return Report{}, fmt.Errorf("bench: %d timers, %d rounds: neither can be negative", o.Timers, o.Rounds)
	}
	if o.Only != "" && !slices.Contains(parts, o.Only) {
		return Report{}, fmt.Errorf("bench: there is no part %q; there are %q", o.Only, parts)
	}
	if o.Timers == 0 {
		o.Timers = 1_000_000
	}
	if o.Rounds == 0 {
		o.Rounds = 9
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := Report{
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuName(),
		Procs: runtime.GOMAXPROCS(0), Rounds: o.Rounds, When: time.Now().UTC().Truncate(time.Second),
	}
	for _, t := range o.plan() {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		o.Progress(t.title())
		rows, err := t.run(ctx, o, t.timers)
		for _, row := range rows {
			if row.Foliot.none() { // ctx ended before it was measured
				continue
			}
			row.Part = t.part
			if row.Group == "" {
				row.Group = fmt.Sprintf("%d timers", t.timers)
			}
			r.Results = append(r.Results, row)
		}
		if err != nil {
			return r, fmt.Errorf("bench: %s: %w", t.title(), err)
		}
		runtime.GC()
	}
	return r, ctx.Err()
}

// A measurement is made with timers of its own, and yields some lines.
type measurement struct {
	part   string
	what   string
	scales bool // it depends on the number of timers
	tenth  bool // it is made with a tenth of the number
	messy  bool // it leaves traces in the process, and comes last
	run    func(ctx context.Context, o Options, n int) ([]Result, error)
}

var measurements = []measurement{
	{part: Wheel, what: "arm, cancel and re-arm", scales: true, run: measureOps},
	{part: Wheel, what: "re-arm at random for long", scales: true, run: measureChurn},
	{part: Wheel, what: "fire", scales: true, run: measureFire},
	{part: Wheel, what: "memory and garbage collection", scales: true, run: measureMemory},
	{part: Runtime, what: "one timer, nothing else to do", run: measureIdleLateness},
	{part: Runtime, what: "one timer, all processors busy", run: measureBusyLateness},
	{part: Runtime, what: "timers an hour ahead, nothing else to do", run: measureIdle},
	{part: Runtime, what: "memory and garbage collection", scales: true, run: measureArmed},
	{part: Runtime, what: "AfterFunc and Stop", scales: true, run: measurePairs},
	{part: Runtime, what: "AfterFunc and Stop, one shard", scales: true, run: measureHotShard},
	{part: Runtime, what: "Reset and Stop at random", scales: true, run: measureResets},
	{part: Runtime, what: "Stop on another goroutine", scales: true, run: measureHandover},
	{part: Runtime, what: "AfterFuncBatch", scales: true, run: measureBatches},
	{part: Runtime, what: "timers that fire", scales: true, messy: true, run: measureBurst},
	{part: Tasks, what: "wake and poll", run: measureWakes},
	{part: Tasks, what: "Spawn and Done", run: measureSpawns},
	{part: Tasks, what: "Queue", scales: true, run: measureQueue},
	{part: Tasks, what: "one tick a second each", scales: true, tenth: true, messy: true, run: measurePeriodic},
}

// A task is a measurement with a number of timers.
type task struct {
	measurement
	timers int
}

func (t task) title() string {
	if !t.scales {
		return fmt.Sprintf("%s: %s", t.part, t.what)
	}
	things := "timers"
	if t.part == Tasks {
		things = "of them"
	}
	return fmt.Sprintf("%s: %s, %d %s", t.part, t.what, t.timers, things)
}

// plan returns what is to be measured, in that order.
func (o Options) plan() []task {
	var tasks, last []task
	for _, part := range parts {
		for _, times := range []int{1, 10} {
			for _, m := range measurements {
				t := task{m, times * o.Timers}
				if m.tenth {
					t.timers = max(t.timers/10, 1)
				}
				switch {
				case m.part != part || o.Only != "" && o.Only != part || times > 1 && !(o.Full && m.scales):
				case m.messy:
					last = append(last, t)
				default:
					tasks = append(tasks, t)
				}
			}
		}
	}
	return append(tasks, last...)
}

// some and few are the numbers of rounds of what takes a second or several.
func (o Options) some() int { return o.Rounds/2 + 1 }
func (o Options) few() int  { return (o.Rounds + 2) / 3 }

// perOp returns the nanoseconds that each of n operations took.
func perOp(n int, f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}
