// Command sessions holds a million sessions, each with a heartbeat and an idle timeout, as
// tasks, and shows what they cost next to the same with a goroutine for each.
//
//	go run ./examples/sessions
//
// begins the sessions spread over one heartbeat, measures for some seconds when all of them
// are there, and ends them. Each sends a heartbeat a second; the peer, a function call, answers, which pushes
// the idle timeout back. One peer in a hundred is silent, and its session is closed by the
// timeout. Then it does the same with goroutines. If a million of those might be too much
// for memory or processors, they are fewer, and there is a row for as many tasks: what is
// compared in the end is always the same number of both. A row of the table says:
//
//	sessions      how many
//	B/session     memory of the process for each of them, its own state included
//	CPU %         of one processor, while all of them beat
//	CPU/beat      the same for one heartbeat; less the more there are, as a wake-up serves several
//	polls/s       polls of tasks; a goroutine is woken as often
//	late p50 p99  how long after their time heartbeats were sent, of some of the sessions
//	missed        heartbeats that were not sent at all
//
// At the end it all has to add up: every session has sent exactly the heartbeats that it
// should, none of them early, and exactly the silent ones were closed for idleness.
//
//	go run ./examples/sessions -goroutines
//
// runs just the goroutines, and as many of them as -n says.
//
// The task is in task.go, the goroutine in goroutine.go.
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

// config is what the flags say.
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
	flags.DurationVar(&c.slack, "slack", 0, "how late tasks may be polled for the sake of fewer wake-ups")
	flags.IntVar(&c.silent, "silent", 1, "percentage of peers that do not answer")
	flags.BoolVar(&c.goroutines, "goroutines", false, "run just the version with goroutines")
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
		return c, fmt.Errorf("-heartbeat %v -idle %v -for %v: want a heartbeat of at least 1ms, and the others no less than that", c.beat, c.idle, c.lasting)
	case c.lasting > 24*time.Hour:
		return c, fmt.Errorf("-for %v: want at most a day", c.lasting)
	case c.slack < 0:
		return c, fmt.Errorf("-slack %v: want 0 or more", c.slack)
	}
	return c, nil
}

const (
	// roomy is more than a session takes as a goroutine with a ticker and a timer.
	roomy = 8 << 10

	// easy is how many heartbeats of goroutines a second are a light load for a processor.
	// When they are too much for it, goroutines are all late, and there is nothing to compare.
	easy = 100_000
)

// bearable returns how many sessions there can be as goroutines.
func (c config) bearable() int {
	cpu := easy * c.beat.Seconds() * float64(runtime.GOMAXPROCS(0))
	return min(c.n, max(available()/2/roomy, 1), max(int(min(cpu, math.MaxInt32)), 1))
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
	if n := c.bearable(); n < c.n {
		fmt.Fprintf(out, "%d goroutines are what is sure to fit here; the same number of both:\n", n)
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
