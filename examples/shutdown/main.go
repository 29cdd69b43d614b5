// Command shutdown ends a program with timers in an orderly way.
//
//	go run ./examples/shutdown
//
// schedules jobs all the time, each of which takes a while. It shuts down when it is
// interrupted, when it gets a SIGTERM, or after three seconds. Then no further job begins,
// it waits for the running jobs, and it counts the jobs that have not begun, which a real
// program would save for its next start. A second interrupt kills it. If the grace period is
// too short for the running jobs, it fails with an error:
//
//	go run ./examples/shutdown -work 2s -grace 100ms
//
// The order of events is in run. The Scheduler in scheduler.go keeps the jobs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/foliot-go/foliot"
)

func main() {
	err := run(os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "shutdown:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	lasting, every, within, work, grace time.Duration
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("shutdown", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.DurationVar(&c.lasting, "for", 3*time.Second, "shut down after this time; 0: only by a signal")
	flags.DurationVar(&c.every, "every", time.Millisecond, "how often a job is scheduled")
	flags.DurationVar(&c.within, "within", 10*time.Second, "jobs are due at random within this time")
	flags.DurationVar(&c.work, "work", 500*time.Millisecond, "how long a job takes")
	flags.DurationVar(&c.grace, "grace", 5*time.Second, "how long to wait for running jobs")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected %q: there are only flags, see -help", flags.Arg(0))
	case c.every <= 0, c.within <= 0:
		return c, fmt.Errorf("-every %v -within %v: both must be more than 0", c.every, c.within)
	case c.lasting < 0, c.work < 0, c.grace < 0:
		return c, fmt.Errorf("-for %v -work %v -grace %v: none may be negative", c.lasting, c.work, c.grace)
	}
	return c, nil
}

func run(args []string, out io.Writer) error {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	s, err := NewScheduler()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if c.lasting > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.lasting)
		defer cancel()
	}

	var scheduling sync.WaitGroup
	var added int
	var addErr error
	scheduling.Go(func() { added, addErr = schedule(s, c) })
	fmt.Fprintln(out, "running; interrupt to shut down")
	<-ctx.Done()
	stop() // from here on a signal has its usual effect, so the second one kills the process

	waiting, running, _ := s.Counts()
	fmt.Fprintf(out, "shutting down: %d jobs are waiting, %d are running and have %v to finish\n", waiting, running, c.grace)
	grace, cancel := context.WithTimeout(context.Background(), c.grace)
	defer cancel()
	left, err := s.Close(grace)
	scheduling.Wait() // ends because Add returns ErrClosed
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w; use -grace to wait longer than %v", err, c.grace)
	}
	if err := errors.Join(err, addErr); err != nil {
		return err
	}
	_, _, finished := s.Counts()
	fmt.Fprintf(out, "%d jobs scheduled, %d finished, %d not begun, to be saved for the next start\n", added, finished, len(left))
	if added != finished+len(left) {
		return fmt.Errorf("%d jobs were lost", added-finished-len(left))
	}
	return nil
}

// schedule adds jobs until the scheduler is closed, and returns their number.
func schedule(s *Scheduler, c config) (added int, err error) {
	for {
		name := fmt.Sprintf("job %d", added+1)
		err := s.Add(name, rand.N(c.within), func() { time.Sleep(c.work) })
		if errors.Is(err, foliot.ErrClosed) {
			return added, nil
		}
		if err != nil {
			return added, err
		}
		added++
		time.Sleep(c.every)
	}
}
