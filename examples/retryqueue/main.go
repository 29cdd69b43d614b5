// Command retryqueue works off jobs that fail now and then: a queue with exponential
// backoff, and a rate limit for all attempts together.
//
//	go run ./examples/retryqueue
//
// has 20,000 jobs done by four workers. They fetch what is due in batches; a job that
// fails goes back into the queue, to come out again after a pause that doubles each time;
// one that has failed too often is given up. Between two attempts a job is 16 bytes in a
// queue, not a goroutine that sleeps. A line each half second shows how far it is. At the
// end every job must have been done or given up, exactly once, and the rate never
// exceeded.
//
// When it is interrupted, each job that has not been settled is still in the queue, and
// counted: a program that keeps its jobs would save them.
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

// config is what the flags say.
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
	flags.IntVar(&c.workers, "workers", 4, "goroutines that work them off")
	flags.Float64Var(&c.fail, "fail", 0.3, "part of the attempts that fail")
	flags.Float64Var(&c.broken, "broken", 0.01, "part of the jobs that fail each time")
	flags.Uint64Var(&c.seed, "seed", 1, "which attempts and jobs these are")
	flags.IntVar(&c.policy.Batch, "batch", 64, "how many jobs a worker fetches at most")
	flags.IntVar(&c.policy.Attempts, "attempts", 6, "how often a job is tried at most")
	flags.DurationVar(&c.policy.Base, "base", 50*time.Millisecond, "pause after the first attempt; doubled by each further one")
	flags.DurationVar(&c.policy.Max, "max", time.Second, "the longest pause")
	flags.IntVar(&c.policy.Rate, "rate", 10_000, "attempts a second, of all workers together")
	flags.IntVar(&c.policy.Burst, "burst", 100, "attempts at once, after a rest")
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
		return c, fmt.Errorf("-rate %d -burst %d: want at least 1 of both, and a rate of at most %d", p.Rate, p.Burst, maxRate)
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
	shown.Go(func() { show(showing, q, s, out) })
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

// show prints a line each half second until ctx ends.
func show(ctx context.Context, q *RetryQueue, s *service, out io.Writer) {
	began, before := time.Now(), 0
	fmt.Fprintf(out, "%6s %9s %8s %8s %11s\n", "time", "in queue", "done", "given up", "attempts/s")
	for foliot.Default().Sleep(ctx, 500*time.Millisecond) == nil {
		done, gaveUp, attempts := s.totals()
		fmt.Fprintf(out, "%5.1fs %9d %8d %8d %11d\n", time.Since(began).Seconds(), q.Len(), done, gaveUp, 2*(attempts-before))
		before = attempts
	}
}
