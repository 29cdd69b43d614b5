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

// server echoes what it reads and closes connections on which nothing has come in for
// as long as timeout.
type server struct {
	rt      *foliot.Runtime
	timeout time.Duration
	idled   atomic.Int64 // connections closed by their timeout
	stands  atomic.Int64 // stand-ins that are not closed

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	conns     map[net.Conn]struct{}
	running   sync.WaitGroup // a goroutine for each listener and connection
}

func newServer(rt *foliot.Runtime, timeout time.Duration) *server {
	return &server{rt: rt, timeout: timeout, conns: make(map[net.Conn]struct{})}
}

// A guard is the idle timeout of one connection: one timer, which lives as long as the
// connection and is pushed back by each read. The zero guard guards nothing.
type guard struct {
	timer   foliot.Timer
	timeout time.Duration
}

// guard starts the idle timeout of c.
func (s *server) guard(c io.Closer) (guard, error) {
	timer, err := s.rt.NewTimer(func() {
		// The connection may be closed by its own goroutine or by close at the same time.
		// Just one Close succeeds; if it is this one, the connection was idle.
		if c.Close() == nil {
			s.idled.Add(1)
		}
	})
	if err != nil {
		return guard{}, err
	}
	g := guard{timer, s.timeout}
	if !g.touch() {
		timer.Free()
		return guard{}, foliot.ErrClosed
	}
	return g, nil
}

// touch pushes the timeout back to its full length. It may come too late, when the
// callback has closed the connection already; the next read tells.
func (g guard) touch() bool { return g.timer.Reset(g.timeout) }

// free ends the timeout. A callback that runs at this moment is not waited for: it
// closes a connection that its owner is about to close anyway.
func (g guard) free() { g.timer.Free() }

// serve echoes until the connection ends. The timer stays armed while it writes: a
// client that takes nothing is closed like one that sends nothing.
func (s *server) serve(c net.Conn) {
	defer s.forget(c)
	idle, err := s.guard(c)
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
		if !idle.touch() {
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
			// Most likely out of file descriptors, which others will give back.
			log.Printf("%v; trying again", err)
			if s.rt.Sleep(context.Background(), 100*time.Millisecond) != nil {
				return
			}
		default:
			s.adopt(c)
		}
	}
}

// adopt serves c on a goroutine of its own, unless the server is closed.
func (s *server) adopt(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.running.Go(func() { s.serve(c) })
}

func (s *server) forget(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// sockets counts the connections.
func (s *server) sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// close closes listeners and connections and waits until all their timers are freed.
// It comes before the shutdown of the runtime, which would count them as left behind.
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
