// Command deadline is a client with a deadline for each of its requests, of which many
// are under way over one connection.
//
//	go run ./examples/deadline
//
// sends 20,000 requests over a TCP connection to a backend that is sometimes too slow
// and sometimes silent, and prints an account of them. Each request ends exactly once,
// by its reply or by its deadline, however close the two come: whoever stops the timer
// may complete the request, and Stop answers true to just one. The client is in
// client.go. Try a deadline that is as long as the typical answer takes:
//
//	go run ./examples/deadline -deadline 20ms
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
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
		fmt.Fprintln(os.Stderr, "deadline:", err)
		os.Exit(1)
	}
}

// config is what the flags say.
type config struct {
	requests, parallel int
	deadline, latency  time.Duration
	lost               int // percent
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("deadline", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&c.requests, "requests", 20_000, "requests to send")
	flags.IntVar(&c.parallel, "parallel", 500, "requests under way at a time")
	flags.DurationVar(&c.deadline, "deadline", 50*time.Millisecond, "how long a request may take")
	flags.DurationVar(&c.latency, "latency", 20*time.Millisecond, "how long the backend takes on average; some take much longer")
	flags.IntVar(&c.lost, "lost", 2, "percentage of requests that are never answered")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected %q: there are only flags, see -help", flags.Arg(0))
	case c.requests < 1, c.parallel < 1:
		return c, fmt.Errorf("-requests %d -parallel %d: both must be at least 1", c.requests, c.parallel)
	case c.lost < 0 || c.lost > 100:
		return c, fmt.Errorf("-lost %d: want a percentage", c.lost)
	case c.latency < 0:
		return c, fmt.Errorf("-latency %v: want 0 or more", c.latency)
	}
	return c, nil
}

// fate draws how a request fares: most are answered in less than the average time, a
// few take several times as long.
func (c config) fate(frame) (time.Duration, bool) {
	return time.Duration(rand.ExpFloat64() * float64(c.latency)), rand.IntN(100) >= c.lost
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	// A runtime for each side, so that the client's figures are the client's alone.
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	backendRT, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	near, far, err := connect()
	if err != nil {
		return fmt.Errorf("no connection over the loopback interface: %w", err)
	}

	client := NewClient(rt, near)
	b := &backend{rt: backendRT, fate: c.fate}
	var serving sync.WaitGroup
	serving.Go(func() {
		b.serve(ctx, far)
		far.Close()
	})

	var acc account
	acc.fill(ctx, client, c)

	// No more requests. What the backend still answers is waited for, to be counted.
	errs := []error{near.CloseWrite()}
	serving.Wait()
	<-client.done
	errs = append(errs, client.Close())
	acc.replies, acc.strays, acc.pending = b.answered.Load(), client.strays.Load(), client.Pending()
	acc.stats = rt.Stats()
	acc.armed, err = shutdown(rt)
	errs = append(errs, err)
	_, err = shutdown(backendRT)
	errs = append(errs, err, acc.check())

	acc.print(out)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return ctx.Err()
}

// shutdown closes rt, waits for its last callbacks and says what was still armed.
func shutdown(rt *foliot.Runtime) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return rt.Shutdown(ctx)
}

// connect returns both ends of a TCP connection.
func connect() (near, far *net.TCPConn, err error) {
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	defer ln.Close()
	if near, err = net.DialTCP("tcp", nil, ln.Addr().(*net.TCPAddr)); err != nil {
		return nil, nil, err
	}
	if far, err = ln.AcceptTCP(); err != nil {
		return nil, nil, errors.Join(err, near.Close())
	}
	return near, far, nil
}
