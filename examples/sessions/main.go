// Command sessions holds a million sessions as tasks, each with a heartbeat and an idle
// timeout. It compares their cost with that of sessions that have a goroutine each.
//
//	go run ./examples/sessions
//
// begins the sessions, spread over one heartbeat, measures them for some seconds, and ends
// them. Each session sends a heartbeat per second. The peer, which is a function call,
// answers, and that pushes the idle timeout back. One peer in a hundred is silent, and the
// timeout closes its session. Then the program does the same with goroutines. If a million
// of those might be too much for memory or processors, there are fewer, and another row for
// the same number of tasks. So the comparison at the end is always between equal numbers.
// The columns of the table are:
//
//	sessions      number of sessions
//	B/session     memory of the process per session, including its own state
//	CPU %         of one processor, while all sessions send heartbeats
//	CPU/beat      processor time per heartbeat; with more sessions it is less, as a wake-up serves several
//	polls/s       polls of tasks; goroutines are woken as often
//	late p50 p99  how late heartbeats were sent, for a sample of the sessions
//	missed        heartbeats that were not sent at all
//
// At the end the program checks that every session has sent exactly its heartbeats, none of
// them early, and that exactly the sessions with silent peers were closed for idleness.
//
//	go run ./examples/sessions -goroutines
//
// runs only the goroutines, as many as -n says.
//
// The task is in task.go, the goroutine in goroutine.go. What both have in common is in
// group.go, the measurement of lateness in sample.go, the output in table.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, context.Canceled):
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "sessions:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	n          int
	beat, idle time.Duration
	lasting    time.Duration
	slack      time.Duration
	silent     int // percent
	goroutines bool
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("sessions", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&c.n, "n", 1_000_000, "sessions")
	flags.DurationVar(&c.beat, "heartbeat", time.Second, "period of the heartbeats")
	flags.DurationVar(&c.idle, "idle", 2500*time.Millisecond, "idle timeout")
	flags.DurationVar(&c.lasting, "for", 4*time.Second, "how long to measure, rounded down to whole heartbeats")
	flags.DurationVar(&c.slack, "slack", 0, "how late tasks may be polled, to save wake-ups")
	flags.IntVar(&c.silent, "silent", 1, "percentage of peers that do not answer")
	flags.BoolVar(&c.goroutines, "goroutines", false, "run only the version with goroutines")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected %q: there are only flags, see -help", flags.Arg(0))
	case c.n < 1:
		return c, fmt.Errorf("-n %d: want at least 1", c.n)
	case c.silent < 0 || c.silent > 100:
		return c, fmt.Errorf("-silent %d: want a percentage", c.silent)
	case c.beat < time.Millisecond, c.idle < c.beat, c.lasting < c.beat:
		return c, fmt.Errorf("-heartbeat %v -idle %v -for %v: want a heartbeat of at least 1ms, and the others at least as long as a heartbeat", c.beat, c.idle, c.lasting)
	case c.lasting > 24*time.Hour:
		return c, fmt.Errorf("-for %v: want at most a day", c.lasting)
	case c.slack < 0:
		return c, fmt.Errorf("-slack %v: want 0 or more", c.slack)
	}
	return c, nil
}

const (
	// goroutineBytes is more than the memory of a session with a goroutine, a ticker and a
	// timer.
	goroutineBytes = 8 << 10

	// easyBeats is a number of heartbeats of goroutines per second that is a light load for a
	// processor. With too many, all goroutines are late, and a comparison says nothing.
	easyBeats = 100_000
)

// maxGoroutines returns how many sessions may run as goroutines.
func (c config) maxGoroutines() int {
	cpu := easyBeats * c.beat.Seconds() * float64(runtime.GOMAXPROCS(0))
	return min(c.n, max(available()/2/goroutineBytes, 1), max(int(min(cpu, math.MaxInt32)), 1))
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	heading(out)
	if c.goroutines {
		_, err := goroutines(ctx, c, out)
		return err
	}
	all, err := tasks(ctx, c, out)
	if err != nil {
		return err
	}
	few := all
	if n := c.maxGoroutines(); n < c.n {
		fmt.Fprintf(out, "%d goroutines are sure to fit on this machine; the same number of both:\n", n)
		c.n = n
		if few, err = tasks(ctx, c, out); err != nil {
			return err
		}
	}
	gos, err := goroutines(ctx, c, out)
	if err != nil {
		return err
	}
	compare(out, all, few, gos)
	return nil
}
