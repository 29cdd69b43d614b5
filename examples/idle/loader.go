package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// talker is a peer that sends messages regularly.
type talker struct {
	peer
	// sent is when its latest message was sent. The server has pushed the timeout back
	// after that, so it may not close the connection before sent + timeout.
	sent time.Time
}

// loader makes and pings its share of the connections.
type loader struct {
	load *load

	first int // it makes the connections first, first + loaderCount and so on

	talkers    []*talker // connections that are pinged in turn
	next       int       // index of the one to ping next
	pacedUntil time.Time // all pings that are due by then have been sent

	mu     sync.Mutex
	closed bool
	all    []peer // all connections, for hangUp, which may run at any time
}

// connect makes the connections, and pings those that it has already made.
func (ld *loader) connect(ctx context.Context) {
	l := ld.load
	ld.pacedUntil = time.Now()
	for i := ld.first; i < l.conns && ctx.Err() == nil && l.firstErr() == nil; i += loaderCount {
		began := time.Now()
		p, err := ld.peer(ctx, i)
		if err != nil {
			l.fail(err)
			return
		}
		if p == nil {
			return
		}
		if !ld.register(p) {
			return
		}
		l.opened.Add(1)
		if l.isSilent(i) {
			l.silentPeers.Go(func() { l.waitForTimeout(ctx, p, began) })
		} else {
			ld.talkers = append(ld.talkers, &talker{p, began})
		}
		ld.pingDue()
	}
}

// peer makes connection i or a stand-in for it. It returns nil if neither is possible.
func (ld *loader) peer(ctx context.Context, i int) (peer, error) {
	l := ld.load
	if l.isSocket(i) && l.socketError() == nil {
		p, err := dial(ctx, l.addrs[i/loaderCount%len(l.addrs)])
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case l.opened.Load() == 0:
			return nil, fmt.Errorf("cannot connect, is there a server? %w", err)
		}
		l.recordSocketErr(err)
	}
	if l.standIn == nil {
		return nil, nil
	}
	return l.standIn()
}

// waitForTimeout waits until the server closes a silent connection.
func (l *load) waitForTimeout(ctx context.Context, p peer, began time.Time) {
	err := p.wait()
	lived := time.Since(began)
	switch {
	case ctx.Err() != nil || l.firstErr() != nil:
		// This end has closed the connection.
	case err != nil:
		l.fail(fmt.Errorf("a silent connection ended after %v, but not by its timeout: %w", lived, err))
	case lived < l.timeout-l.tolerance:
		l.fail(fmt.Errorf("a silent connection was closed after %v, before its timeout of %v", lived, l.timeout))
	default:
		l.closed.Add(1)
	}
}

// ping sends a message on m.
func (ld *loader) ping(m *talker) {
	l := ld.load
	began := time.Now()
	err := m.ping()
	switch silence := time.Since(m.sent); {
	case silence >= l.timeout-l.tolerance:
		// The timeout may have passed, even if there was an echo.
		l.fail(fmt.Errorf("nothing was sent on a connection for %v: %w", silence, errStalled))
	case err != nil:
		l.fail(fmt.Errorf("a connection was closed %v after a message, before its timeout of %v: %w", silence, l.timeout, err))
	default:
		m.sent = began
	}
}

// pingDue pings the connections that are due. Every connection is due once in half a
// timeout, and the pings are spread evenly.
func (ld *loader) pingDue() {
	now, n := time.Now(), len(ld.talkers)
	if n == 0 {
		ld.pacedUntil = now
		return
	}
	each := ld.load.timeout / 2 / time.Duration(n)
	for range n {
		if ld.pacedUntil.Add(each).After(now) {
			return
		}
		ld.pacedUntil = ld.pacedUntil.Add(each)
		ld.ping(ld.talkers[ld.next%n])
		ld.next = (ld.next + 1) % n
	}
	ld.pacedUntil = now // all connections were pinged, so there is nothing left to catch up on
}

// talk pings connections until ctx ends or there is an error.
func (ld *loader) talk(ctx context.Context) {
	for ld.load.firstErr() == nil && foliot.Default().Sleep(ctx, pingPause) == nil {
		ld.pingDue()
	}
}

// pingAll pings all connections, one right after the other.
func (ld *loader) pingAll() {
	for _, m := range ld.talkers {
		if ld.load.firstErr() != nil {
			return
		}
		ld.ping(m)
	}
}

// register adds p to the connections that hangUp closes. If hangUp has already run, it
// closes p and returns false.
func (ld *loader) register(p peer) bool {
	ld.mu.Lock()
	defer ld.mu.Unlock()
	if ld.closed {
		p.hangUp()
		return false
	}
	ld.all = append(ld.all, p)
	return true
}

// hangUp closes all connections of the loader, including later ones.
func (ld *loader) hangUp() {
	ld.mu.Lock()
	defer ld.mu.Unlock()
	ld.closed = true
	for _, p := range ld.all {
		p.hangUp()
	}
}
