// Command observe shows what the timers of a program do, while they do it: as a live page, and as
// metrics for Prometheus.
//
//	go run ./prometheus/examples/observe
//
// prints two addresses and runs until it is interrupted. The file prometheus/dashboard.json shows
// the metrics in Grafana. What to copy is observe; the rest of the program only gives it
// something to show.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
	foliotprom "github.com/foliot-go/foliot/prometheus"
)

// observe returns a handler with the page and the metrics of a runtime. Like pprof, it is for an
// address that only operators can reach.
func observe(name string, rt *foliot.Runtime, queues map[string]inspect.Queue) (http.Handler, error) {
	metrics := prometheus.NewRegistry()
	if err := metrics.Register(foliotprom.NewCollector(rt, foliotprom.Labels{"runtime": name})); err != nil {
		return nil, err
	}
	page := inspect.Handler(inspect.Options{Runtimes: map[string]*foliot.Runtime{name: rt}, Queues: queues})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.Handle("/debug/foliot/", http.StripPrefix("/debug/foliot", page))
	return mux, nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address of the page and the metrics")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *listen, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves the page and the metrics until ctx ends.
func run(ctx context.Context, listen string, out io.Writer) error {
	rt, err := foliot.New(foliot.Options{
		SlowCallback: 20 * time.Millisecond, // longer ones are logged
		Logger:       slog.New(slog.NewTextHandler(out, nil)),
	})
	if err != nil {
		return err
	}
	retries := foliot.NewQueue[string](rt)
	handler, err := observe("network", rt, map[string]inspect.Queue{"retries": retries})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "live:    http://%s/debug/foliot/\n", listener.Addr())
	fmt.Fprintf(out, "metrics: http://%s/metrics\n", listener.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	// Close and not Shutdown, which would wait for every open page.
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := pretend(rt, retries); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	_, err = rt.Shutdown(context.Background())
	return err
}

// pretend makes the runtime busy, as if the program were a server.
func pretend(rt *foliot.Runtime, retries *foliot.Queue[string]) error {
	// 20,000 connections are closed after being idle for 30 s. Some are read from meanwhile.
	idle := make([]foliot.Timer, 20_000)
	for i := range idle {
		var err error
		if idle[i], err = rt.NewTimer(func() { idle[i].Reset(30 * time.Second) }); err != nil {
			return err
		}
		idle[i].Reset(rand.N(30 * time.Second))
	}
	// 2,000 sessions send a heartbeat about once a second.
	for range 2000 {
		beat := foliot.MustInterval(time.Second+rand.N(time.Second/10), foliot.Skip)
		if _, err := rt.Spawn(&session{beat}); err != nil {
			return err
		}
	}
	// Every 10 ms ten requests are sent. One in fifty times out, and is retried a few seconds later.
	// Errors are left alone here: there is one after Shutdown, and then nothing is left to do.
	_, err := rt.Every(10*time.Millisecond, func() {
		for range 10 {
			idle[rand.IntN(len(idle))].Reset(30 * time.Second)
			deadline, _ := rt.AfterFunc(200*time.Millisecond, func() { retries.Push(rand.N(5*time.Second), "GET /") })
			rt.AfterFunc(rand.N(204*time.Millisecond), func() { deadline.Stop() })
		}
		due := make([]string, 10)
		retries.TryWait(due)
	})
	if err != nil {
		return err
	}
	// A report takes too long now and then, and is logged.
	_, err = rt.Every(10*time.Second, func() { time.Sleep(30 * time.Millisecond) })
	return err
}

type session struct{ beat foliot.Interval }

func (s *session) Poll(cx *foliot.Context) foliot.Status {
	s.beat.Poll(cx)
	return foliot.Pending
}
