package natsserver

import (
	"io"
	"net"
	"testing"
	"time"
)

// echo starts a server that sends back what it gets, and returns a connection to it through a Proxy.
func echo(t *testing.T) (*Proxy, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	p := NewProxy(t, l.Addr().String())
	return p, dial(t, p)
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// exchange sends a byte, and returns an error if it does not come back within a time.
func exchange(c net.Conn, within time.Duration) error {
	if _, err := c.Write([]byte{'x'}); err != nil {
		return err
	}
	return receive(c, within)
}

func receive(c net.Conn, within time.Duration) error {
	_ = c.SetReadDeadline(time.Now().Add(within))
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

func TestAProxyDelaysBytes(t *testing.T) {
	p, c := echo(t)
	if err := exchange(c, Patience); err != nil {
		t.Fatal(err)
	}
	p.Delay(40 * time.Millisecond)
	begin := time.Now()
	if err := exchange(c, Patience); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 80*time.Millisecond {
		t.Errorf("there and back took %v, want at least twice the delay", took)
	}
}

func TestAProxyHoldsBytesBackUntilHeal(t *testing.T) {
	for _, d := range []struct{ toServer, toClient bool }{{true, false}, {false, true}, {true, true}} {
		p, c := echo(t)
		p.Hold(d.toServer, d.toClient)
		if err := exchange(c, 50*time.Millisecond); err == nil {
			t.Errorf("%+v: a byte came back through a proxy that holds it", d)
		}
		p.Heal()
		if err := receive(c, Patience); err != nil {
			t.Errorf("%+v: after Heal the byte does not come: %v", d, err)
		}
	}
}

func TestABrokenProxyClosesConnections(t *testing.T) {
	p, c := echo(t)
	if err := exchange(c, Patience); err != nil {
		t.Fatal(err)
	}
	p.Break()
	if err := exchange(c, Patience); err == nil {
		t.Error("a connection is open after Break")
	}
	if err := exchange(dial(t, p), Patience); err == nil {
		t.Error("a new connection is open after Break")
	}
	p.Heal()
	if err := exchange(dial(t, p), Patience); err != nil {
		t.Errorf("after Heal a new connection does not work: %v", err)
	}
}
