// Command retryqueue processes jobs that fail now and then, with a queue that retries them
// with exponential backoff, and a rate limit for all attempts together.
//
//	go run ./examples/retryqueue
//
// processes 20,000 jobs with four workers. A worker fetches the jobs that are due in
// batches. A job that fails goes back into the queue, and comes out again after a pause that
// doubles each time. A job that has failed too often is given up. Between two attempts a job
// is 16 bytes in a queue, not a goroutine that sleeps. A line every half second shows the
// progress. At the end the program checks that every job was done or given up, exactly once,
// and that the rate was never exceeded.
//
// After an interrupt, the jobs that are neither done nor given up are still in the queue and
// are counted. A real program would save them.
//
// The parts to copy are the RetryQueue in queue.go and the Limiter in limiter.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
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
		fmt.Fprintln(os.Stderr, "retryqueue:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	jobs, workers int
	fail, broken  float64
	seed          uint64
	policy        Policy
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("retryqueue", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&c.jobs, "jobs", 20_000, "jobs, all of which are there from the start")
	flags.IntVar(&c.workers, "workers", 4, "goroutines that process them")
	flags.Float64Var(&c.fail, "fail", 0.3, "share of the attempts that fail")
	flags.Float64Var(&c.broken, "broken", 0.01, "share of the jobs that fail each time")
	flags.Uint64Var(&c.seed, "seed", 1, "seed for the choice of these attempts and jobs")
	flags.IntVar(&c.policy.Batch, "batch", 64, "largest number of jobs that a worker fetches at once")
	flags.IntVar(&c.policy.Attempts, "attempts", 6, "largest number of attempts for a job")
	flags.DurationVar(&c.policy.Base, "base", 50*time.Millisecond, "pause after the first attempt; doubled by each further one")
	flags.DurationVar(&c.policy.Max, "max", time.Second, "the longest pause")
	flags.IntVar(&c.policy.Rate, "rate", 10_000, "attempts per second, of all workers together")
	flags.IntVar(&c.policy.Burst, "burst", 100, "attempts at once, after a pause")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	p := c.policy
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected %q: there are only flags, see -help", flags.Arg(0))
	case c.jobs < 1, c.workers < 1, p.Batch < 1, p.Attempts < 1:
		return c, fmt.Errorf("-jobs %d -workers %d -batch %d -attempts %d: each must be at least 1", c.jobs, c.workers, p.Batch, p.Attempts)
	case !(c.fail >= 0 && c.fail <= 1), !(c.broken >= 0 && c.broken <= 1):
		return c, fmt.Errorf("-fail %v -broken %v: want 0 to 1", c.fail, c.broken)
	case p.Base <= 0, p.Max < p.Base:
		return c, fmt.Errorf("-base %v -max %v: want 0 < base <= max", p.Base, p.Max)
	case p.Rate < 1, p.Rate > maxRate, p.Burst < 1:
		return c, fmt.Errorf("-rate %d -burst %d: want at least 1 each, and a rate of at most %d", p.Rate, p.Burst, maxRate)
	}
	return c, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	s := newService(c)
	q := NewRetryQueue(rt, c.policy, s.attempt)
	q.OnDone, q.OnGiveUp = s.done, s.giveUp
	for id := range c.jobs {
		if err := q.Add(uint64(id)); err != nil {
			return err
		}
	}

	began := time.Now()
	showing, stopShowing := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() { printProgress(showing, q, s, out) })
	err = q.Run(ctx, c.workers)
	stopShowing()
	shown.Wait()
	took := time.Since(began)

	left := q.Len()
	closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, closeErr := rt.Shutdown(closing)
	done, gaveUp, attempts := s.totals()
	fmt.Fprintf(out, "%d jobs: %d done, %d given up, %d left; %d attempts in %v, %.0f a second\n",
		c.jobs, done, gaveUp, left, attempts, took.Round(time.Millisecond), float64(attempts)/took.Seconds())
	return errors.Join(err, closeErr, s.check(left))
}

// printProgress prints a line every half second until ctx ends.
func printProgress(ctx context.Context, q *RetryQueue, s *service, out io.Writer) {
	began, before := time.Now(), 0
	fmt.Fprintf(out, "%6s %9s %8s %8s %11s\n", "time", "in queue", "done", "given up", "attempts/s")
	for foliot.Default().Sleep(ctx, 500*time.Millisecond) == nil {
		done, gaveUp, attempts := s.totals()
		fmt.Fprintf(out, "%5.1fs %9d %8d %8d %11d\n", time.Since(began).Seconds(), q.Len(), done, gaveUp, 2*(attempts-before))
		before = attempts
	}
}
