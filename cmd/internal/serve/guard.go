package serve

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard decides whether a request may be served. An error is a Problem.
//
// Without a token the server listens on loopback, and each program of the machine may use it. A web page may
// not: it runs in a browser of the machine, but comes from elsewhere. Its requests have a foreign Origin, or
// a foreign Host if its name was resolved to this machine.
func (s *server) guard(r *http.Request, open bool) error {
	sec := s.secrets.Load()
	if sec.token == nil && !localHost(r.Host) {
		return problem(http.StatusForbidden, "The host %q is not this machine. Use localhost or 127.0.0.1, or start the server with --token-file.", r.Host)
	}
	if sec.token != nil && !open && !sec.knows(r.Header.Get("Authorization")) {
		return problem(http.StatusUnauthorized, "The token is missing or wrong. Send it as: Authorization: Bearer TOKEN.").
			with("WWW-Authenticate", `Bearer realm="foliot"`)
	}
	if !s.sameOrigin(r) {
		return problem(http.StatusForbidden, "The request comes from the page of another site, which may not change anything. Send it from a program, or from the page of this server.")
	}
	return nil
}

// localHost reports whether the Host of a request is a name of this machine itself, or empty. A browser always
// sends one; some programs that use HTTP/1.0 do not.
func localHost(host string) bool {
	if host == "" {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return name == "localhost"
}

// sameOrigin reports whether a request changes nothing, or does not come from a page of another site. The
// standard library looks at Sec-Fetch-Site, and at Origin only if that is missing. Here both must be right.
func (s *server) sameOrigin(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	if s.crossOrigin.Check(r) != nil {
		return false
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	return true
}
