//go:build browser

package inspect

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/inspect"
	"github.com/foliot-go/foliot/lab/check/internal/browser"
	"github.com/foliot-go/foliot/loop"
)

// prefix is where the page is mounted: not at the root, so that an absolute address on the page would be noticed.
const prefix = "/debug/foliot/"

// The functions of the timers. Their names are on the page.
func closeIdle()     {}
func expireSession() {}
func renew()         {}
func giveUp()        {}

// newRuntime returns a runtime that is shut down after the test.
func newRuntime(t *testing.T) *foliot.Runtime {
	t.Helper()
	rt, err := foliot.New(foliot.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := rt.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// arm arms n timers that are due between two delays, at equal distances.
func arm(t *testing.T, rt *foliot.Runtime, n int, from, to time.Duration, f func()) {
	t.Helper()
	for i := range n {
		if _, err := rt.AfterFunc(from+(to-from)*time.Duration(i)/time.Duration(n), f); err != nil {
			t.Fatal(err)
		}
	}
}

// newBusy returns a runtime like that of a server: so many timers of idle connections, sessions and certificates, and
// requests that come and go as long as the test runs.
func newBusy(t *testing.T, timers int) *foliot.Runtime {
	t.Helper()
	rt := newRuntime(t)
	arm(t, rt, timers*6/10, 90*time.Second, 4*time.Minute, closeIdle)
	arm(t, rt, timers*2/10, time.Second, 15*time.Minute, closeIdle)
	arm(t, rt, timers*19/100, time.Second, 24*time.Hour, expireSession)
	arm(t, rt, timers/100, 60*24*time.Hour, 90*24*time.Hour, renew)
	done := make(chan struct{})
	ended := make(chan struct{})
	t.Cleanup(func() { close(done); <-ended })
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			requests(rt, 20+i/50%20)
		}
	}()
	return rt
}

// requests arms timers as requests do: of four, two are stopped, one is postponed, and one fires soon.
func requests(rt *foliot.Runtime, n int) {
	for i := range n {
		timer, err := rt.AfterFunc(time.Duration(1+i*200)*time.Millisecond, giveUp)
		if err != nil {
			return
		}
		switch i % 4 {
		case 0, 1:
			timer.Stop()
		case 2:
			timer.Reset(6 * time.Second)
		}
	}
}

// idleTimers is the number of timers of a runtime of newIdle. None is due during a test.
const idleTimers = 3

func newIdle(t *testing.T) *foliot.Runtime {
	t.Helper()
	rt := newRuntime(t)
	for _, d := range []time.Duration{time.Hour, 25 * time.Hour, 30 * 25 * time.Hour} {
		arm(t, rt, 1, d, d, expireSession)
	}
	return rt
}

// newLoop returns a loop that runs, with two timers that are due after the test.
func newLoop(t *testing.T) *loop.Loop {
	t.Helper()
	l := loop.New(loop.Options{})
	for range 2 {
		l.CallLater(1000*time.Hour, func() {})
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run of the loop returned %v", err)
		}
	})
	return l
}

// A site is a server with the page.
type site struct {
	handler http.Handler
	address string // of the page
	server  *http.Server
	streams atomic.Int32 // requests for events that are open
	opened  atomic.Int32 // requests for events so far
	mutes   atomic.Int32 // calls of mute
}

// newSite serves the page on a free port of this machine.
func newSite(t *testing.T, o inspect.Options) *site {
	t.Helper()
	o.Interval = 200 * time.Millisecond
	s := &site{}
	page := http.StripPrefix("/debug/foliot", inspect.Handler(o))
	mux := http.NewServeMux()
	mux.Handle(prefix, page)
	mux.HandleFunc(prefix+"events", func(w http.ResponseWriter, r *http.Request) {
		s.opened.Add(1)
		s.streams.Add(1)
		defer s.streams.Add(-1)
		page.ServeHTTP(&stream{w, s, s.mutes.Load()}, r)
	})
	s.handler = mux
	s.start(t, "127.0.0.1:0")
	t.Cleanup(s.stop)
	return s
}

// start begins to serve. The address may be that of a server that was stopped.
func (s *site) start(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s.address = "http://" + listener.Addr().String() + prefix
	s.server = &http.Server{Handler: s.handler}
	go s.server.Serve(listener)
}

// stop ends the server and all its connections.
func (s *site) stop() { s.server.Close() }

// mute has all open streams send nothing more, as if the network had broken without a word.
func (s *site) mute() { s.mutes.Add(1) }

// A stream is the response to a request for events.
type stream struct {
	http.ResponseWriter
	site  *site
	mutes int32 // of the site when the stream began
}

func (s *stream) Write(data []byte) (int, error) {
	if s.site.mutes.Load() != s.mutes {
		return len(data), nil
	}
	return s.ResponseWriter.Write(data)
}

// Unwrap lets the page flush the response.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// program returns the options of most tests: a busy runtime, one with a few timers, and one without any.
func program(t *testing.T) inspect.Options {
	t.Helper()
	timers := 100_000
	if browser.Screenshots() != "" {
		timers = 1_000_000
	}
	busy := newBusy(t, timers)
	queue := foliot.NewQueue[string](busy)
	for i := range 5 {
		if _, err := queue.Push(time.Duration(i-1)*time.Hour, "retry"); err != nil {
			t.Fatal(err)
		}
	}
	return inspect.Options{
		Runtimes: map[string]*foliot.Runtime{"default": busy, "few": newIdle(t), "none": newRuntime(t)},
		Loops:    map[string]*loop.Loop{"scripts": newLoop(t)},
		Queues:   map[string]inspect.Queue{"retries": queue},
	}
}
