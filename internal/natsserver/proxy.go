package natsserver

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A Proxy is between a client and a server, or between two servers. It passes bytes on until a test tells
// it to delay them, to hold them back, or to close the connections. Its methods may be called from any
// goroutine.
type Proxy struct {
	Addr string // where it listens

	target string
	mu     sync.Mutex
	change chan struct{} // closed and made anew when a field below changes
	delay  time.Duration
	held   [2]bool // by direction
	broken bool
	links  map[*link]bool
	ended  bool
}

// A direction of bytes through a Proxy.
type direction int

const (
	toServer direction = iota
	toClient
)

// A link is one connection through a Proxy.
type link struct{ client, server net.Conn }

func (l *link) close() {
	_ = l.client.Close()
	if l.server != nil {
		_ = l.server.Close()
	}
}

// chunk is what was read at once.
type chunk struct {
	b  []byte
	at time.Time
}

// NewProxy starts a Proxy for a server that listens on an address, now or later. It ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, change: make(chan struct{}), links: make(map[*link]bool)}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() { p.serve(c) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		p.set(func() { p.ended = true })
		p.closeLinks()
		done.Wait()
	})
	return p
}

// URL returns the address for nats.Connect.
func (p *Proxy) URL() string { return "nats://" + p.Addr }

// set changes fields, and wakes what waits for a change.
func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.change)
	p.change = make(chan struct{})
}

// Delay makes all bytes come later by a time.
func (p *Proxy) Delay(d time.Duration) { p.set(func() { p.delay = d }) }

// Hold holds bytes back, in one direction or in both. The connections stay, and new ones are accepted. What
// is held back comes after Heal.
func (p *Proxy) Hold(toTheServer, toTheClient bool) {
	p.set(func() { p.held = [2]bool{toTheServer, toTheClient} })
}

// Break closes all connections, and new ones as soon as they are made. What was delayed or held back is
// lost.
func (p *Proxy) Break() {
	p.set(func() { p.broken = true })
	p.closeLinks()
}

// Heal ends what Delay, Hold and Break have begun.
func (p *Proxy) Heal() {
	p.set(func() { p.delay, p.held, p.broken = 0, [2]bool{}, false })
}

func (p *Proxy) closeLinks() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// enter adds a link. It returns false if the proxy is broken or has ended.
func (p *Proxy) enter(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken || p.ended {
		return false
	}
	p.links[l] = true
	return true
}

// serve passes bytes on between a client and the server until one of them closes.
func (p *Proxy) serve(c net.Conn) {
	l := &link{client: c}
	defer l.close()
	s, err := net.DialTimeout("tcp", p.target, time.Second)
	if err != nil {
		return
	}
	l.server = s
	if !p.enter(l) {
		return
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	}()
	var both sync.WaitGroup
	both.Go(func() { p.pass(l, s, c, toServer) })
	both.Go(func() { p.pass(l, c, s, toClient) })
	both.Wait()
}

// pass passes bytes on in one direction.
func (p *Proxy) pass(l *link, to io.Writer, from io.Reader, d direction) {
	chunks := make(chan chunk, 256)
	go func() {
		defer close(chunks)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if n > 0 {
				chunks <- chunk{b[:n], time.Now()}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range chunks {
		if !p.await(c.at, d) {
			break
		}
		if _, err := to.Write(c.b); err != nil {
			break
		}
	}
	l.close()
	for range chunks { // so that the reader ends
	}
}

// await waits until bytes that were read at a time may go on. It returns false if their connection has
// ended.
func (p *Proxy) await(at time.Time, d direction) bool {
	for {
		p.mu.Lock()
		change, held, wait, over := p.change, p.held[d], time.Until(at.Add(p.delay)), p.broken || p.ended
		p.mu.Unlock()
		switch {
		case over:
			return false
		case held:
			<-change
		case wait > 0:
			select {
			case <-change:
			case <-time.After(wait):
			}
		default:
			return true
		}
	}
}
