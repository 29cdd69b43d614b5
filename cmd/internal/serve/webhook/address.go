package webhook

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// A Policy says to which addresses webhooks may connect: to public ones, and to those that were allowed.
// It does not change after it was made.
type Policy struct {
	prefixes []netip.Prefix
	hosts    map[string]bool // names in lower case, without a final dot
}

// NewPolicy returns a policy that allows networks in CIDR notation, addresses and names of hosts besides
// public addresses. A name allows each address that it is resolved to.
func NewPolicy(allow []string) (*Policy, error) {
	p := &Policy{hosts: make(map[string]bool)}
	for _, a := range allow {
		if err := p.add(a); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Policy) add(allow string) error {
	if strings.Contains(allow, "/") && !strings.Contains(allow, "://") {
		prefix, err := netip.ParsePrefix(allow)
		if err != nil {
			return fmt.Errorf("%q is no network; write it as 10.0.0.0/8 or fd00::/8, or the name of a host as hooks.example", allow)
		}
		if prefix.Addr().Is4In6() {
			return fmt.Errorf("%q is an IPv4 network in IPv6; write it as an IPv4 network", allow)
		}
		p.prefixes = append(p.prefixes, prefix.Masked())
		return nil
	}
	if addr, err := netip.ParseAddr(strings.Trim(allow, "[]")); err == nil {
		addr = addr.Unmap().WithZone("")
		p.prefixes = append(p.prefixes, netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	name := hostKey(allow)
	if name == "" || strings.ContainsAny(name, ":/*@ \t?#") {
		return fmt.Errorf("%q is neither a network, nor an address, nor the name of a host; write a name as hooks.example, without scheme, port and path", allow)
	}
	p.hosts[name] = true
	return nil
}

// Loopback are the networks of this machine itself.
var Loopback = []string{"127.0.0.0/8", "::1/128"}

// hostKey returns the form of a name by which hosts are compared.
func hostKey(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// notPublic are the networks that are not public besides those that netip knows: shared address space,
// networks of protocols, benchmarks, reserved ones, and site-local ones.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("fec0::/10"),
}

// embedding are the IPv6 networks whose addresses have an IPv4 address in them, and where it begins.
var embedding = []struct {
	prefix netip.Prefix
	at     int
	invert bool // its bits are inverted
}{
	{netip.MustParsePrefix("::/96"), 12, false},           // IPv4-compatible
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12, false}, // IPv4-translated
	{netip.MustParsePrefix("64:ff9b::/96"), 12, false},    // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12, false},  // NAT64 of a site, in its most common form
	{netip.MustParsePrefix("2002::/16"), 2, false},        // 6to4
	{netip.MustParsePrefix("2001::/32"), 4, false},        // Teredo, the server
	{netip.MustParsePrefix("2001::/32"), 12, true},        // Teredo, the client
}

// public reports whether an address is one of the public internet. An IPv6 address that has an IPv4 address
// in it is public if both are.
func public(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(addr) {
			return false
		}
	}
	if addr.Is4() {
		return true
	}
	b := addr.As16()
	inner := func(at int, invert bool) netip.Addr {
		v4 := [4]byte(b[at : at+4])
		if invert {
			for i := range v4 {
				v4[i] ^= 0xff
			}
		}
		return netip.AddrFrom4(v4)
	}
	for _, e := range embedding {
		if e.prefix.Contains(addr) && !public(inner(e.at, e.invert)) {
			return false
		}
	}
	isatap := b[10] == 0x5e && b[11] == 0xfe && b[8]&^2 == 0 && b[9] == 0
	return !isatap || public(inner(12, false))
}

// allows reports whether a connection to an address is allowed.
func (p *Policy) allows(addr netip.Addr) bool {
	if public(addr) {
		return true
	}
	addr = addr.Unmap().WithZone("")
	for _, prefix := range p.prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// A refusedError says that an address must not be connected to.
type refusedError struct{ address string }

func (e *refusedError) Error() string {
	return fmt.Sprintf("webhooks to %s are not allowed: the address is not public; start the server with --webhook-allow if it is meant", e.address)
}

// dialContext returns a function that connects to allowed addresses only. It checks the address of each
// connection after the name was looked up. A check of the name, or of a look-up before this one, could be
// deceived by a name that is resolved differently the next time.
func (p *Policy) dialContext(resolver *net.Resolver) func(ctx context.Context, network, address string) (net.Conn, error) {
	free := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Resolver: resolver}
	checked := *free
	checked.Control = func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("the address %q of a webhook cannot be checked: %w", address, err)
		}
		if !p.allows(to.Addr()) {
			return &refusedError{address}
		}
		return nil
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err == nil && p.hosts[hostKey(host)] {
			return free.DialContext(ctx, network, address)
		}
		return checked.DialContext(ctx, network, address)
	}
}
