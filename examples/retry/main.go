// Command retry shows clients that try again after a failure, with exponential backoff
// and jitter.
//
//	go run ./examples/retry
//
// lets 1,000 clients call a service during an outage of a second, and prints a histogram of
// their attempts over time. The jitter spreads the attempts out. Without it they come in
// waves, all at the same time:
//
//	go run ./examples/retry -jitter=false
//
// The function to copy is Retry, in retry.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
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
		fmt.Fprintln(os.Stderr, "retry:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	clients int
	outage  time.Duration
	within  time.Duration
	jitter  bool
	policy  Policy
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("retry", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&c.clients, "clients", 1000, "clients, all of which start at once")
	flags.DurationVar(&c.outage, "outage", time.Second, "how long the service is down")
	flags.DurationVar(&c.within, "within", 10*time.Second, "how long a client keeps trying")
	flags.BoolVar(&c.jitter, "jitter", true, "wait for a random part of the backoff instead of all of it")
	flags.IntVar(&c.policy.Attempts, "attempts", 20, "how often a client tries at most")
	flags.DurationVar(&c.policy.Base, "base", 50*time.Millisecond, "backoff after the first attempt; doubled by each further one")
	flags.DurationVar(&c.policy.Max, "max", time.Second, "the longest backoff")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected %q: there are only flags, see -help", flags.Arg(0))
	case c.clients < 1, c.policy.Attempts < 1:
		return c, fmt.Errorf("-clients %d -attempts %d: both must be at least 1", c.clients, c.policy.Attempts)
	case c.policy.Base <= 0, c.policy.Max < c.policy.Base:
		return c, fmt.Errorf("-base %v -max %v: want 0 < base <= max", c.policy.Base, c.policy.Max)
	case c.outage < 0, c.within <= 0:
		return c, fmt.Errorf("-outage %v -within %v: want at least 0 and more than 0", c.outage, c.within)
	}
	if !c.jitter {
		c.policy.Jitter = func(bound time.Duration) time.Duration { return bound }
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
	s := &service{up: time.Now().Add(c.outage), start: time.Now()}
	var (
		clients           sync.WaitGroup
		succeeded, gaveUp atomic.Int64
		lastErr           atomic.Value
	)
	for range c.clients {
		clients.Go(func() {
			ctx, cancel := rt.WithTimeout(ctx, c.within)
			defer cancel()
			if err := Retry(ctx, rt, c.policy, s.call); err != nil {
				gaveUp.Add(1)
				lastErr.Store(err.Error())
				return
			}
			succeeded.Add(1)
		})
	}
	clients.Wait()

	closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	armed, err := rt.Shutdown(closing)
	if err == nil && armed != 0 {
		err = fmt.Errorf("%d timers are armed although no client sleeps", armed)
	}
	s.draw(out)
	fmt.Fprintf(out, "%d clients: %d succeeded, %d gave up", c.clients, succeeded.Load(), gaveUp.Load())
	if why := lastErr.Load(); why != nil {
		fmt.Fprintf(out, " (the last: %v)", why)
	}
	fmt.Fprintln(out)
	return errors.Join(err, ctx.Err())
}

// service is down until the time up. It counts its calls over time.
type service struct {
	start, up time.Time

	mu    sync.Mutex
	calls []int // number of calls in each bucket since start
}

const bucket = 50 * time.Millisecond

var errDown = errors.New("service unavailable")

func (s *service) call(context.Context) error {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	at := int(now.Sub(s.start) / bucket)
	for len(s.calls) <= at {
		s.calls = append(s.calls, 0)
	}
	s.calls[at]++
	if now.Before(s.up) {
		return errDown
	}
	return nil
}

// draw prints a bar for each bucket.
func (s *service) draw(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := 1
	for _, n := range s.calls {
		most = max(most, n)
	}
	for i, n := range s.calls {
		fmt.Fprintf(out, "%7v %6d %s\n", time.Duration(i)*bucket, n, strings.Repeat("#", (60*n+most-1)/most))
	}
}
