// Command idle is a TCP server that closes connections which are idle for too long. It
// includes a load generator, which shows what the timeouts cost for 100,000 connections.
//
//	go run ./examples/idle
//
// runs both in one process. It makes the connections, sends messages on most of them and
// none on a few, and lets everything rest for a while. At the end it checks that exactly
// the silent ones were closed, none of them early. It prints a line per second:
//
//	sockets       TCP connections that the server holds
//	stand-ins     idle timeouts without a socket, see below
//	armed         armed timers, one for each of the two
//	resets/s      deadlines pushed back, one for each message read
//	closed idle   connections closed by their timeout, including stand-ins
//	CPU %         of one processor, for the whole process
//	B/timer       memory for one armed timer and its callback
//	late p50 p99  how long after their deadline timeouts ran
//
// A process needs a file descriptor for each end of a connection. If the limit is too low
// for the requested number, the remaining connections are stand-ins: timers without a
// socket, which are armed, pushed back and fired in the same way, by a function call
// instead of a message. To have more sockets, raise the limit (ulimit -n) or run server and
// load generator in separate processes:
//
//	go run ./examples/idle -serve :7000
//	go run ./examples/idle -load localhost:7000
//
// The timeout itself is in server.go: a reusable timer for each connection, Reset by each
// read. The load generator is in load.go, loader.go and peer.go. both.go runs the two
// together, table.go prints the table.
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
		fmt.Fprintln(os.Stderr, "idle:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	conns, sockets int
	silent         int // percent
	timeout        time.Duration
	serve, load    string // comma-separated addresses
}

// parse parses the command line. Package flag prints its own errors to out.
func parse(args []string, out io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("idle", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&c.conns, "conns", 100_000, "connections to hold, including stand-ins")
	flags.IntVar(&c.sockets, "sockets", 0, "how many of them may have a socket; 0: as many as there are file descriptors for")
	flags.IntVar(&c.silent, "silent", 5, "percentage of connections that send nothing")
	flags.DurationVar(&c.timeout, "timeout", 10*time.Second, "idle timeout; the same for -serve and -load")
	flags.StringVar(&c.serve, "serve", "", "run only the server, on these addresses (separated by commas)")
	flags.StringVar(&c.load, "load", "", "run only the load generator, against these addresses (separated by commas)")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected %q: there are only flags, see -help", flags.Arg(0))
	case c.conns < 1, c.sockets < 0:
		return c, fmt.Errorf("-conns %d -sockets %d: want at least 1 and 0", c.conns, c.sockets)
	case c.silent < 0 || c.silent > 100:
		return c, fmt.Errorf("-silent %d: want a percentage", c.silent)
	case c.timeout < 100*time.Millisecond:
		return c, fmt.Errorf("-timeout %v: want 100ms or more, because the load generator cannot keep up with less", c.timeout)
	case c.serve != "" && c.load != "":
		return c, errors.New("-serve and -load: choose one, or none to run both")
	}
	return c, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c, err := parse(args, out)
	switch {
	case err != nil:
		return err
	case c.serve != "":
		return serveOnly(ctx, c, out)
	case c.load != "":
		return loadOnly(ctx, c, out)
	}
	return runBoth(ctx, c, out)
}

// serveOnly serves until ctx ends.
func serveOnly(ctx context.Context, c config, out io.Writer) error {
	if limit := fileLimit(c.conns + spareFiles); limit-spareFiles < c.conns {
		fmt.Fprintf(out, "file descriptors: %d, so no more than about %d connections; raise the limit (ulimit -n) for more\n",
			limit, limit-spareFiles)
	}
	perTimer, err := bytesPerTimer(c.conns)
	if err != nil {
		return err
	}
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return err
	}
	srv := newServer(rt, c.timeout)
	for _, addr := range strings.Split(c.serve, ",") {
		at, err := srv.listen(addr)
		if err != nil {
			return errors.Join(fmt.Errorf("cannot listen, choose another address for -serve: %w", err), srv.close(), closeRuntime(rt))
		}
		fmt.Fprintf(out, "listening on %v, closing connections after %v of silence; interrupt to stop\n", at, c.timeout)
	}
	newTable(out, rt, srv, perTimer).run(ctx, func() string { return "serving" })
	return errors.Join(srv.close(), closeRuntime(rt))
}

// loadOnly runs the load generator against a server in another process.
func loadOnly(ctx context.Context, c config, out io.Writer) error {
	sockets := c.sockets
	if fit := max(fileLimit(c.conns+spareFiles)-spareFiles, 1); sockets == 0 || sockets > fit {
		sockets = fit
	}
	if sockets < c.conns {
		fmt.Fprintf(out, "%d connections instead of %d: the limit of file descriptors (ulimit -n) or -sockets allows no more\n", sockets, c.conns)
	}
	l := newLoad(strings.Split(c.load, ","), c.timeout, c.silent)
	// The clock of the server's machine may run a little faster.
	l.tolerance = c.timeout / 100
	l.onStage = func(name string) { fmt.Fprintln(out, name) }
	if err := l.run(ctx, min(c.conns, sockets), sockets); err != nil {
		return err
	}
	fmt.Fprintln(out, l.summary())
	return nil
}

// closeRuntime shuts down a runtime. It returns an error if timers are still armed.
func closeRuntime(rt *foliot.Runtime) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	armed, err := rt.Shutdown(ctx)
	if err != nil {
		return fmt.Errorf("waiting for the last callbacks: %w", err)
	}
	if armed != 0 {
		return fmt.Errorf("%d timers are still armed although their connections are closed", armed)
	}
	return nil
}
