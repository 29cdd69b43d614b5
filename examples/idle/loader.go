package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
)

// member is a peer that is heard of regularly.
type member struct {
	peer
	// sent is when its latest message set out. The server has pushed the timeout back
	// later than that, so it may not close the connection before sent + timeout.
	sent time.Time
}

// loader looks after its share of the connections.
type loader struct {
	load *load

	first int // it makes the connections first, first + loaders and so on

	ring  []*member // talkative connections, pinged in turn
	next  int       // the one whose turn it is
	paced time.Time // how far in time the pings have got

	mu   sync.Mutex
	down bool
	all  []peer // for hangUp, which runs at any time
}

// connect makes the connections. Those it has made already must not wait for the rest.
func (ld *loader) connect(ctx context.Context) {
	l := ld.load
	ld.paced = time.Now()
	for i := ld.first; i < l.conns && ctx.Err() == nil && l.failed() == nil; i += loaders {
		began := time.Now()
		p, err := ld.peer(ctx, i)
		if err != nil {
			l.fail(err)
			return
		}
		if p == nil {
			return
		}
		if !ld.keep(p) {
			return
		}
		l.opened.Add(1)
		if l.isSilent(i) {
			l.quiet.Go(func() { l.watch(ctx, p, began) })
		} else {
			ld.ring = append(ld.ring, &member{p, began})
		}
		ld.turn()
	}
}

// peer makes connection i, or a stand-in for it, or nothing.
func (ld *loader) peer(ctx context.Context, i int) (peer, error) {
	l := ld.load
	if l.isSocket(i) && l.refusal() == nil {
		p, err := dial(ctx, l.addrs[i/loaders%len(l.addrs)])
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case l.opened.Load() == 0:
			return nil, fmt.Errorf("cannot connect, is there a server? %w", err)
		}
		l.refuse(err)
	}
	if l.standIn == nil {
		return nil, nil
	}
	return l.standIn()
}

// watch waits until the server closes a silent connection.
func (l *load) watch(ctx context.Context, p peer, began time.Time) {
	err := p.wait()
	lived := time.Since(began)
	switch {
	case ctx.Err() != nil || l.failed() != nil:
		// Closed from this end.
	case err != nil:
		l.fail(fmt.Errorf("a silent connection ended after %v, but not by its timeout: %w", lived, err))
	case lived < l.timeout-l.tolerance:
		l.fail(fmt.Errorf("a silent connection was closed after %v, before its timeout of %v", lived, l.timeout))
	default:
		l.closed.Add(1)
	}
}

// ping sends a message over m.
func (ld *loader) ping(m *member) {
	l := ld.load
	began := time.Now()
	err := m.ping()
	switch silence := time.Since(m.sent); {
	case silence >= l.timeout-l.tolerance:
		// The timeout may have struck, even when there was still an echo.
		l.fail(fmt.Errorf("nothing was sent on a connection for %v: %w", silence, errStalled))
	case err != nil:
		l.fail(fmt.Errorf("a connection was closed %v after a message, before its timeout of %v: %w", silence, l.timeout, err))
	default:
		m.sent = began
	}
}

// turn pings as many connections as are due for all to have their turn in half a
// timeout, evenly spread.
func (ld *loader) turn() {
	now, n := time.Now(), len(ld.ring)
	if n == 0 {
		ld.paced = now
		return
	}
	each := ld.load.timeout / 2 / time.Duration(n)
	for range n {
		if ld.paced.Add(each).After(now) {
			return
		}
		ld.paced = ld.paced.Add(each)
		ld.ping(ld.ring[ld.next%n])
		ld.next = (ld.next + 1) % n
	}
	ld.paced = now // a whole round behind; there is no more to catch up on
}

// talk takes turns until ctx ends or something is wrong.
func (ld *loader) talk(ctx context.Context) {
	for ld.load.failed() == nil && foliot.Default().Sleep(ctx, pause) == nil {
		ld.turn()
	}
}

// round pings everyone, at once.
func (ld *loader) round() {
	for _, m := range ld.ring {
		if ld.load.failed() != nil {
			return
		}
		ld.ping(m)
	}
}

// keep notes p for hangUp. False: that has been, and p is closed.
func (ld *loader) keep(p peer) bool {
	ld.mu.Lock()
	defer ld.mu.Unlock()
	if ld.down {
		p.hangUp()
		return false
	}
	ld.all = append(ld.all, p)
	return true
}

// hangUp closes all connections of the loader, those to come too.
func (ld *loader) hangUp() {
	ld.mu.Lock()
	defer ld.mu.Unlock()
	ld.down = true
	for _, p := range ld.all {
		p.hangUp()
	}
}
