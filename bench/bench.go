// Package bench measures Foliot beside the standard library: the same work by both,
// in one process, in rounds that take turns, with the garbage collector on.
package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// Options say what to measure. The zero value is a run of about half a minute.
type Options struct {
	Timers   int               // outstanding timers; default 1,000,000
	Rounds   int               // rounds of each measurement; default 9
	Full     bool              // also measure with ten times as many
	Progress func(text string) // called with what is about to be measured
}

// A Result is one line of the report.
type Result struct {
	Name   string // the work, as a user would put it
	Unit   string // of the figures
	Timers int    // outstanding
	Std    Spread // time.AfterFunc and Stop or Reset; zero where it has no such thing
	Wheel  Spread // package wheel
	List   Spread // the other layout of a wheel; zero where it was not tried
	Ratio  Spread // Std to Wheel, round by round; more is better for Foliot
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
	sizes := []int{o.Timers}
	if o.Full {
		sizes = append(sizes, 10*o.Timers)
	}
	for _, n := range sizes {
		for _, measure := range measurements {
			if err := ctx.Err(); err != nil {
				return r, err
			}
			o.Progress(fmt.Sprintf("%s, %d timers", measure.what, n))
			for _, row := range measure.run(ctx, o, n) {
				if row.Wheel != (Spread{}) { // it was measured before ctx ended
					r.Results = append(r.Results, row)
				}
			}
			runtime.GC()
		}
	}
	return r, ctx.Err()
}

// measurements are made one after the other, each with timers of its own.
var measurements = []struct {
	what string
	run  func(ctx context.Context, o Options, n int) []Result
}{
	{"arm, cancel and re-arm", measureOps},
	{"re-arm at random for long", measureChurn},
	{"fire", measureFire},
	{"memory and garbage collection", measureMemory},
}

// perOp returns the nanoseconds that each of n operations took.
func perOp(n int, f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}
