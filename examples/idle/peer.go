package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
)

// A peer is the client's end of a connection.
type peer interface {
	// ping sends a message and waits for the echo. When it returns nil, the server has
	// read the message and pushed the timeout back.
	ping() error
	// wait returns nil when the server has closed the connection, and an error when
	// anything else has happened.
	wait() error
	// hangUp closes the connection from this end.
	hangUp()
}

// socket is a peer at the end of a TCP connection.
type socket struct{ net.Conn }

func dial(ctx context.Context, addr string) (peer, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return socket{c}, nil
}

func (s socket) ping() error {
	b := []byte{'.'}
	if _, err := s.Write(b); err != nil {
		return err
	}
	_, err := io.ReadFull(s, b)
	return err
}

func (s socket) wait() error {
	n, err := s.Read(make([]byte, 1))
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case n > 0:
		return errors.New("the server speaks unasked")
	}
	return err
}

func (s socket) hangUp() { s.Close() }

// standIn is both ends of a connection without a socket between them. The timer is what
// a TCP connection has; a message is a call of ping.
type standIn struct {
	srv    *server
	guard  guard
	closed atomic.Bool
	done   chan struct{} // closed with the connection
}

// standIn makes one, idle from now on.
func (s *server) standIn() (peer, error) {
	p := &standIn{srv: s, done: make(chan struct{})}
	s.stands.Add(1)
	g, err := s.guard(p)
	if err != nil {
		s.stands.Add(-1)
		return nil, err
	}
	p.guard = g // the callback, which may be running already, does not look at it
	return p, nil
}

// Close is what the timeout calls. Like that of a net.Conn, it succeeds once.
func (p *standIn) Close() error {
	if !p.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	p.srv.stands.Add(-1)
	close(p.done)
	return nil
}

func (p *standIn) ping() error {
	if !p.guard.touch() || p.closed.Load() {
		return net.ErrClosed
	}
	return nil
}

func (p *standIn) wait() error {
	<-p.done
	return nil
}

func (p *standIn) hangUp() {
	p.guard.free()
	p.Close()
}
