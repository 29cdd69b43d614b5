package webhook

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestPublicAddresses(t *testing.T) {
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.15.255.255": true, "172.32.0.0": true, "100.63.255.255": true, "100.128.0.0": true,
		"2606:4700::1111": true, "2a00:1450:4001:82a::200e": true, "64:ff9b::808:808": true, "2002:808:808::1": true, "::ffff:8.8.8.8": true,
		"2001:4860:4860::8888": true,

		"0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "10.255.255.255": false, "100.64.0.0": false, "100.127.255.255": false,
		"127.0.0.1": false, "127.255.255.255": false, "169.254.0.1": false, "169.254.169.254": false, "172.16.0.1": false,
		"172.31.255.255": false, "192.0.0.192": false, "192.168.0.1": false, "192.168.255.255": false, "198.18.0.1": false, "224.0.0.1": false,
		"239.255.255.255": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "fc00::1": false, "fd00::1": false,
		"fdff::1": false, "ff02::1": false, "ff0e::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:0.0.0.0": false, "::ffff:100.64.0.1": false,
		"::127.0.0.1": false, "::10.0.0.1": false, "::ffff:0:127.0.0.1": false,
		"64:ff9b::127.0.0.1": false, "64:ff9b::a00:1": false, "64:ff9b:1::10.0.0.1": false,
		"2002:7f00:1::1": false, "2002:a00:1::1": false, "2002:c0a8:101::1": false,
		"2001:0:a00:1::1": false, "2001:0:808:808:0:0:80ff:fffe": false, // Teredo: 10.0.0.1 is the server; 127.0.0.1 is the client
		"2606:4700::5efe:10.0.0.1": false, "2606:4700::200:5efe:127.0.0.1": false,
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: public is %v, want %v", addr, got, want)
		}
	}
}

func TestPolicyAllows(t *testing.T) {
	p, err := NewPolicy([]string{"10.1.0.0/16", "192.168.7.7", "fd00:1::/32", "[fd00:2::1]", "internal.example."})
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false, "192.168.7.7": true, "192.168.7.8": false,
		"fd00:1::5": true, "fd00:2::1": true, "fd00:2::2": false, "127.0.0.1": false, "::127.0.0.1": false,
	} {
		if got := p.allows(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: allowed is %v, want %v", addr, got, want)
		}
	}
	if !p.hosts["internal.example"] {
		t.Error("the name is not allowed")
	}
	for _, bad := range []string{"", "10.0.0.0/33", "x/y", "a b", "host:80", "*.example", "u@h", "::ffff:10.0.0.0/104"} {
		if _, err := NewPolicy([]string{bad}); err == nil {
			t.Errorf("%q is allowed", bad)
		}
	}
}

// fakeDNS returns a resolver. answer returns the address of a name, for the n-th look-up.
func fakeDNS(t *testing.T, answer func(name string, n int) string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		n := 0
		for buf := make([]byte, 1500); ; {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Header.Response, m.Additionals = true, nil
			addr := ""
			if q.Type == dnsmessage.TypeA {
				n++
				addr = answer(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")), n)
			}
			if addr != "" {
				h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}
				m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: netip.MustParseAddr(addr).As4()}}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// listener returns the port of a listener on this machine, and the number of its connections.
func listener(t *testing.T) (port string, connections *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	connections = new(atomic.Int64)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port, connections
}

// The address counts, and not the name.
func TestNamesOfPrivateAddressesAreRefused(t *testing.T) {
	port, connections := listener(t)
	resolver := fakeDNS(t, func(name string, _ int) string {
		return map[string]string{"inner.example": "127.0.0.1", "meta.example": "169.254.169.254", "ten.example": "10.0.0.1"}[name]
	})
	p, err := NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	dial := p.dialContext(resolver)
	for _, host := range []string{"inner.example", "meta.example", "ten.example", "127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"} {
		conn, err := dial(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			conn.Close()
			t.Errorf("%s: connected", host)
		} else if !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	if p, err = NewPolicy([]string{"inner.example"}); err != nil {
		t.Fatal(err)
	}
	conn, err := p.dialContext(resolver)(t.Context(), "tcp", net.JoinHostPort("INNER.example", port))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// A name that has a public address at first and a private one later is checked each time.
func TestReboundNamesAreRefused(t *testing.T) {
	port, connections := listener(t)
	resolver := fakeDNS(t, func(_ string, n int) string {
		if n == 1 {
			return "203.0.113.1" // public for the policy; nothing is there
		}
		return "127.0.0.1"
	})
	if addrs, err := resolver.LookupNetIP(t.Context(), "ip4", "rebind.example"); err != nil || !public(addrs[0]) {
		t.Fatal(addrs, err)
	}
	p, err := NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.dialContext(resolver)(t.Context(), "tcp", net.JoinHostPort("rebind.example", port)); err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}
