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
	// ping sends a message and waits for the echo. If it returns nil, the server has read
	// the message and pushed the timeout back.
	ping() error
	// wait waits until the connection ends. It returns nil if the server has closed it,
	// otherwise an error.
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
		return errors.New("the server has sent something without a message")
	}
	return err
}

func (s socket) hangUp() { s.Close() }

// standIn is both ends of a connection without a socket. It has the same timer as a TCP
// connection. A message is a call of ping.
type standIn struct {
	srv     *server
	timeout idleTimeout
	closed  atomic.Bool
	done    chan struct{} // closed with the connection
}

// standIn returns a new stand-in and starts its idle timeout.
func (s *server) standIn() (peer, error) {
	p := &standIn{srv: s, done: make(chan struct{})}
	s.openStandIns.Add(1)
	t, err := s.startTimeout(p)
	if err != nil {
		s.openStandIns.Add(-1)
		return nil, err
	}
	p.timeout = t // the callback, which may already be running, does not use it
	return p, nil
}

// Close is called by the timeout. Like Close of a net.Conn, it succeeds only once.
func (p *standIn) Close() error {
	if !p.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	p.srv.openStandIns.Add(-1)
	close(p.done)
	return nil
}

func (p *standIn) ping() error {
	if !p.timeout.pushBack() || p.closed.Load() {
		return net.ErrClosed
	}
	return nil
}

func (p *standIn) wait() error {
	<-p.done
	return nil
}

func (p *standIn) hangUp() {
	p.timeout.free()
	p.Close()
}
