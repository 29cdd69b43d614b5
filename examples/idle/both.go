package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

const (
	// spareFiles is the number of descriptors kept for other uses: listeners, standard
	// output, the Go runtime and Foliot.
	spareFiles = 64

	// perListener is the largest number of connections to one address. Their client ports
	// must differ. Common systems have 16,000 to 28,000 ports for clients, and Linux
	// searches long for a free one when half of them are taken.
	perListener = 14_000
)

// runBoth runs server and load generator in this process, and checks that they agree.
func runBoth(ctx context.Context, c config, out io.Writer) error {
	limit := fileLimit(2*c.conns + spareFiles)
	sockets := min(c.conns, max((limit-spareFiles)/2, 1))
	if c.sockets > 0 {
		sockets = min(sockets, c.sockets)
	}
	if sockets < c.conns {
		fmt.Fprintf(out, "%d file descriptors hold both ends of %d connections; the other %d are stand-ins, timers without a socket\n",
			limit, sockets, c.conns-sockets)
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
	var addrs []string
	for range (sockets + perListener - 1) / perListener {
		addr, err := srv.listen("127.0.0.1:0")
		if err != nil {
			return errors.Join(err, srv.close(), closeRuntime(rt))
		}
		addrs = append(addrs, addr.String())
	}

	l := newLoad(addrs, c.timeout, c.silent)
	l.standIn = srv.standIn
	var stage atomic.Value
	stage.Store("connect")
	l.onStage = func(name string) { stage.Store(name) }

	showing, stopShowing := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() { newTable(out, rt, srv, perTimer).run(showing, func() string { return stage.Load().(string) }) })
	err = l.run(ctx, c.conns, sockets)
	stopShowing()
	shown.Wait()

	// After closing, no callback runs, so the counts are final.
	if err := errors.Join(err, srv.close(), closeRuntime(rt)); err != nil {
		return err
	}
	if got, want := srv.closedIdle.Load(), l.closed.Load(); got != want {
		return fmt.Errorf("the server closed %d connections for idleness, but %d were silent", got, want)
	}
	fmt.Fprintln(out, l.summary())
	return nil
}

// bytesPerTimer measures the memory of n armed idle timeouts, including their callbacks. It
// uses a separate runtime without connections, which take kilobytes each and would hide the
// memory of the timers.
func bytesPerTimer(n int) (float64, error) {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return 0, err
	}
	srv := newServer(rt, time.Hour)
	timeouts := make([]idleTimeout, n)
	unused := new(standIn)
	before := heap()
	for i := range timeouts {
		if timeouts[i], err = srv.startTimeout(unused); err != nil {
			return 0, errors.Join(err, closeRuntime(rt))
		}
	}
	after := heap()
	for _, t := range timeouts {
		t.free()
	}
	return float64(after-before) / float64(n), closeRuntime(rt)
}

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
