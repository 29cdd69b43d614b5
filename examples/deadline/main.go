// Command deadline is a client with a deadline for each request. Many requests are pending
// over one connection at the same time.
//
//	go run ./examples/deadline
//
// sends 20,000 requests over a TCP connection to a backend that is sometimes too slow
// and sometimes silent, and prints what happened to them. Each request ends exactly once,
// by its reply or by its deadline, however close the two come: only the goroutine whose
// Stop returned true may complete the request, and Stop returns true only once. The client
// is in client.go. Try a deadline that is as long as a typical reply takes:
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

// config holds the values of the flags.
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
	flags.IntVar(&c.parallel, "parallel", 500, "requests pending at a time")
	flags.DurationVar(&c.deadline, "deadline", 50*time.Millisecond, "how long a request may take")
	flags.DurationVar(&c.latency, "latency", 20*time.Millisecond, "how long a reply takes on average; some take much longer")
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

// replyDelay returns a random delay: most replies take less than the average, a few take
// several times as long. It returns false for the share of requests that get no reply.
func (c config) replyDelay(frame) (time.Duration, bool) {
	return time.Duration(rand.ExpFloat64() * float64(c.latency)), rand.IntN(100) >= c.lost
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	// Each side has its own runtime, so that the statistics of the client's runtime are about
	// the client only.
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
	b := &backend{rt: backendRT, replyDelay: c.replyDelay}
	var serving sync.WaitGroup
	serving.Go(func() {
		b.serve(ctx, far)
		far.Close()
	})

	var total counts
	total.sendAll(ctx, client, c)

	// There are no more requests. Wait for the remaining replies, to count them.
	errs := []error{near.CloseWrite()}
	serving.Wait()
	<-client.done
	errs = append(errs, client.Close())
	total.replies, total.lateReplies, total.pending = b.answered.Load(), client.lateReplies.Load(), client.Pending()
	total.stats = rt.Stats()
	total.armed, err = shutdown(rt)
	errs = append(errs, err)
	_, err = shutdown(backendRT)
	errs = append(errs, err, total.check())

	total.print(out)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return ctx.Err()
}

// shutdown closes rt, waits for its last callbacks and returns how many timers were still
// armed.
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
