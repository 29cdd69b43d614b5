// Command observe shows what its timers do, while they do it.
//
//	go run ./examples/observe
//
// prints two addresses and runs until it is interrupted. One is a page that shows the timers live. The
// other has the metrics for Prometheus. prometheus/dashboard.json shows these in Grafana.
//
// The program pretends to be a server, so that there is something to see: connections with idle
// timeouts, requests with deadlines, sessions with heartbeats, retries in a queue, and a report that
// takes too long now and then. They are in load.go. The part to copy is newHandler in this file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
	foliotprom "github.com/foliot-go/foliot/prometheus"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "observe:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	listen                string
	connections, sessions int
	requests              int
	slow                  time.Duration
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("observe", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8080", "address of the page and of the metrics; a port of 0 is a free one")
	flags.IntVar(&c.connections, "connections", 20_000, "connections, each with an idle timeout")
	flags.IntVar(&c.sessions, "sessions", 2_000, "sessions, each a task with a heartbeat a second")
	flags.IntVar(&c.requests, "requests", 1_000, "requests a second, each with a deadline")
	flags.DurationVar(&c.slow, "slow", 50*time.Millisecond, "how long the report takes when it is slow")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected %q: there are only flags, see -help", flags.Arg(0))
	case c.connections < 1, c.sessions < 0, c.requests < 0, c.requests > 1_000_000:
		return c, fmt.Errorf("-connections %d -sessions %d -requests %d: want at least one connection, nothing negative and at most 1000000 requests", c.connections, c.sessions, c.requests)
	case c.slow < 0:
		return c, fmt.Errorf("-slow %v: want 0 or more", c.slow)
	}
	return c, nil
}

// run serves the page and the metrics until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	// Two runtimes, so that the sessions have workers for themselves. The page and the metrics tell them
	// apart by their names.
	options := foliot.Options{
		SlowCallback: 20 * time.Millisecond,
		Logger:       slog.New(slog.NewTextHandler(out, nil)),
		OnPanic:      func(v any, _ []byte) { slog.Error("a callback panicked", "value", v) },
	}
	network, err := foliot.New(options)
	if err != nil {
		return err
	}
	sessions, err := foliot.New(options)
	if err != nil {
		return err
	}
	runtimes := map[string]*foliot.Runtime{"network": network, "sessions": sessions}
	retries := foliot.NewQueue[*request](network)
	handler, err := newHandler(inspect.Options{Runtimes: runtimes, Queues: map[string]inspect.Queue{"retries": retries}})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.listen)
	if err != nil {
		return fmt.Errorf("%w; use -listen for another address", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(listener) }()
	fmt.Fprintf(out, "live:    http://%s/debug/foliot/\n", listener.Addr())
	fmt.Fprintf(out, "metrics: http://%s/metrics\n", listener.Addr())

	working, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := startLoad(working, c, network, sessions, retries)
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-serving:
		}
	}
	cancel()
	// Close and not Shutdown, which would wait for pages that are open.
	err = errors.Join(err, server.Close())
	l.wait()
	grace, cancelGrace := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancelGrace()
	armed := 0
	for _, rt := range runtimes {
		n, closing := rt.Shutdown(grace)
		armed, err = armed+n, errors.Join(err, closing)
	}
	fmt.Fprintf(out, "ended; %d timers and values were waiting\n", armed)
	return err
}

// newHandler returns the handler of the page, and of the metrics of the runtimes on it.
func newHandler(o inspect.Options) (http.Handler, error) {
	reg := prometheus.NewRegistry()
	cs := []prometheus.Collector{collectors.NewGoCollector()}
	for name, rt := range o.Runtimes {
		cs = append(cs, foliotprom.NewCollector(rt, foliotprom.Labels{"runtime": name}))
	}
	for _, c := range cs {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	mux.Handle("/debug/foliot/", http.StripPrefix("/debug/foliot", inspect.Handler(o)))
	mux.Handle("GET /{$}", http.RedirectHandler("/debug/foliot/", http.StatusFound))
	return mux, nil
}
