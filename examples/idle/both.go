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
	// spareFiles is for the descriptors that are no connections: listeners, standard
	// output, what the Go runtime and Foliot use.
	spareFiles = 64

	// perListener bounds the connections to one address. The ports of the client's end
	// must differ; common systems have 16,000 to 28,000, and Linux searches long for a
	// free one when half of them are taken.
	perListener = 14_000
)

// both runs server and load generator in this process, and checks that they agree.
func both(ctx context.Context, c config, out io.Writer) error {
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

	// From here on no callback runs: what they counted is final.
	if err := errors.Join(err, srv.close(), closeRuntime(rt)); err != nil {
		return err
	}
	if got, want := srv.idled.Load(), l.closed.Load(); got != want {
		return fmt.Errorf("the server closed %d connections for idleness, of which %d were to stay silent", got, want)
	}
	fmt.Fprintln(out, l.summary())
	return nil
}

// bytesPerTimer measures the memory that n armed idle timeouts take, callback included,
// on a runtime of their own: next to connections, which take kilobytes, it would drown.
func bytesPerTimer(n int) (float64, error) {
	rt, err := foliot.New(foliot.Options{})
	if err != nil {
		return 0, err
	}
	srv := newServer(rt, time.Hour)
	guards := make([]guard, n)
	nobody := new(standIn)
	before := heap()
	for i := range guards {
		if guards[i], err = srv.guard(nobody); err != nil {
			return 0, errors.Join(err, closeRuntime(rt))
		}
	}
	after := heap()
	for _, g := range guards {
		g.free()
	}
	return float64(after-before) / float64(n), closeRuntime(rt)
}

// heap returns the bytes that live objects take.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
