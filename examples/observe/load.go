package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// A load is what the program pretends to do. Its goroutines end with their context.
type load struct {
	config
	rt      *foliot.Runtime
	conns   []connection
	retries *foliot.Queue[*request]
	running sync.WaitGroup

	closed, answered, timedOut, retried, beats, reports atomic.Int64
}

const (
	idleTimeout    = 30 * time.Second
	requestTimeout = 200 * time.Millisecond
	step           = 10 * time.Millisecond
)

// startLoad arms the timers of network and spawns the tasks of sessions. The load it returns is not nil,
// even if there is an error.
func startLoad(ctx context.Context, c config, network, sessions *foliot.Runtime, retries *foliot.Queue[*request]) (*load, error) {
	l := &load{config: c, rt: network, conns: make([]connection, c.connections), retries: retries}
	for i := range l.conns {
		if err := l.conns[i].open(l); err != nil {
			return l, err
		}
	}
	for range c.sessions {
		beat, err := foliot.NewInterval(time.Second+rand.N(time.Second/10), foliot.Skip)
		if err != nil {
			return l, err
		}
		if _, err := sessions.Spawn(&session{load: l, beat: beat}); err != nil {
			return l, err
		}
	}
	if _, err := network.Every(time.Second, l.report); err != nil {
		return l, err
	}
	ticker := network.NewTicker(step)
	l.running.Go(func() {
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				l.step()
			}
		}
	})
	l.running.Go(func() { l.retry(ctx) })
	return l, nil
}

// wait waits until the goroutines of the load have ended.
func (l *load) wait() { l.running.Wait() }

// step is what happens in a hundredth of a second: some connections are read from, and requests are sent.
func (l *load) step() {
	for range 1 + len(l.conns)/100 {
		l.conns[rand.IntN(len(l.conns))].read()
	}
	for range rand.N(2*l.requests/100 + 1) {
		new(request).send(l)
	}
}

// report takes a nap once in ten times. The page, the metrics and the log show it.
func (l *load) report() {
	if l.reports.Add(1)%10 == 3 {
		time.Sleep(l.slow)
	}
}

// retry sends requests again that timed out.
func (l *load) retry(ctx context.Context) {
	due := make([]*request, 64)
	for {
		n, err := l.retries.Wait(ctx, due)
		if err != nil {
			return // ctx has ended, or the runtime is shut down
		}
		for _, r := range due[:n] {
			l.retried.Add(1)
			r.send(l)
		}
	}
}

// A connection is closed if it is not read from for a while. Then another one takes its place.
type connection struct {
	load    *load
	timeout foliot.Timer
}

func (c *connection) open(l *load) (err error) {
	c.load = l
	c.timeout, err = l.rt.NewTimer(c.closeIdle)
	if err == nil {
		c.timeout.Reset(rand.N(idleTimeout)) // as if it had been open for some time
	}
	return err
}

// read moves the timeout back.
func (c *connection) read() { c.timeout.Reset(idleTimeout) }

func (c *connection) closeIdle() {
	c.load.closed.Add(1)
	c.timeout.Reset(idleTimeout)
}

// A request has a deadline, which is nearly always stopped by the response.
type request struct {
	load     *load
	attempts int
}

func (r *request) send(l *load) {
	r.load = l
	r.attempts++
	// The only error is ErrClosed: then there is nothing left to pretend.
	deadline, err := l.rt.AfterFunc(requestTimeout, r.timeOut)
	if err == nil {
		_, _ = l.rt.AfterFunc(rand.N(requestTimeout*101/100), func() { r.respond(deadline) })
	}
}

// respond ends the request, unless it has timed out.
func (r *request) respond(deadline foliot.Timer) {
	if deadline.Stop() {
		r.load.answered.Add(1)
	}
}

// timeOut puts the request into the queue of retries, with a longer pause each time.
func (r *request) timeOut() {
	r.load.timedOut.Add(1)
	if r.attempts < 5 {
		// The only error is ErrClosed: then nothing is retried.
		_, _ = r.load.retries.Push(time.Second<<r.attempts, r)
	}
}

// A session is a task that sends a heartbeat about once a second.
type session struct {
	load *load
	beat foliot.Interval
}

func (s *session) Poll(cx *foliot.Context) foliot.Status {
	s.load.beats.Add(int64(s.beat.Poll(cx)))
	return foliot.Pending
}
