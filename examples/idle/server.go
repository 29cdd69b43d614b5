package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot"
)

// server echoes what it reads. It closes a connection on which nothing has arrived for as
// long as timeout.
type server struct {
	rt           *foliot.Runtime
	timeout      time.Duration
	closedIdle   atomic.Int64 // connections closed by their timeout
	openStandIns atomic.Int64 // stand-ins that are open

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}
	running   sync.WaitGroup // a goroutine for each listener and connection
}

func newServer(rt *foliot.Runtime, timeout time.Duration) *server {
	return &server{rt: rt, timeout: timeout, conns: make(map[net.Conn]struct{})}
}

// An idleTimeout is the idle timeout of one connection: one timer, which lives as long as
// the connection and is pushed back by each read. The zero idleTimeout does nothing.
type idleTimeout struct {
	timer   foliot.Timer
	timeout time.Duration
}

// startTimeout starts the idle timeout of c.
func (s *server) startTimeout(c io.Closer) (idleTimeout, error) {
	timer, err := s.rt.NewTimer(func() {
		// Its goroutine or close may close the connection at the same time. Only one Close
		// succeeds. If it is this one, the connection was idle.
		if c.Close() == nil {
			s.closedIdle.Add(1)
		}
	})
	if err != nil {
		return idleTimeout{}, err
	}
	t := idleTimeout{timer, s.timeout}
	if !t.pushBack() {
		timer.Free()
		return idleTimeout{}, foliot.ErrClosed
	}
	return t, nil
}

// pushBack sets the timeout to its full length again. If the callback has already closed
// the connection, that is too late, and the next read fails.
func (t idleTimeout) pushBack() bool { return t.timer.Reset(t.timeout) }

// free ends the timeout. It does not wait for a callback that is running: that closes a
// connection which its owner is about to close anyway.
func (t idleTimeout) free() { t.timer.Free() }

// serve echoes until the connection ends. The timer stays armed during writes, so a client
// that reads nothing is closed like one that sends nothing.
func (s *server) serve(c net.Conn) {
	defer s.remove(c)
	idle, err := s.startTimeout(c)
	if err != nil {
		log.Printf("connection from %v refused: %v", c.RemoteAddr(), err)
		return
	}
	defer idle.free()
	buf := make([]byte, 512)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if !idle.pushBack() {
			return // the runtime is closed
		}
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// listen accepts connections on addr until close.
func (s *server) listen(addr string) (net.Addr, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(net.ErrClosed, ln.Close())
	}
	s.listeners = append(s.listeners, ln)
	s.running.Go(func() { s.accept(ln) })
	return ln.Addr(), nil
}

func (s *server) accept(ln net.Listener) {
	for {
		c, err := ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Most likely there are no free file descriptors, until other connections end.
			log.Printf("%v; trying again", err)
			if s.rt.Sleep(context.Background(), 100*time.Millisecond) != nil {
				return
			}
		default:
			s.start(c)
		}
	}
}

// start serves c on a new goroutine, unless the server is closed.
func (s *server) start(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.running.Go(func() { s.serve(c) })
}

func (s *server) remove(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// sockets returns the number of open connections.
func (s *server) sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// close closes listeners and connections and waits until all their timers are freed. Call
// it before the runtime is shut down, which would count the timers as still armed.
func (s *server) close() error {
	s.mu.Lock()
	s.closed = true
	var errs []error
	for _, ln := range s.listeners {
		errs = append(errs, ln.Close())
	}
	s.listeners = nil
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the listeners: %w", err)
	}
	return nil
}
