package serve

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// A router finds the route of a request by the path as it was sent.
//
// Paths with an ID are matched here, and not by http.ServeMux. It cleans a path and redirects to the result,
// which is another ID or none if the ID is ".." or has raw dots in it. It also takes the ID "/" for the end of
// a path. All other paths are left to the mux, but those that it would redirect are not found.
type router struct {
	byID     []*idPath
	mux      *http.ServeMux
	notFound http.Handler
}

// An idPath is a path with an ID in it, and its routes.
type idPath struct {
	path     string
	segments []string // of the path; one of them is idSegment
	methods  map[string]http.Handler
	other    http.Handler // for all other methods
}

const idSegment = "{id}"

// handler returns the handler of all requests.
func (s *server) handler() http.Handler { return s.router() }

func (s *server) router() *router {
	rt := &router{mux: http.NewServeMux(), notFound: s.wrap(routeNotFound)}
	var paths []string
	routes := make(map[string][]route)
	for _, r := range append(s.routes(), s.pageRoutes()...) {
		if routes[r.path] == nil {
			paths = append(paths, r.path)
		}
		routes[r.path] = append(routes[r.path], r)
	}
	for _, p := range paths {
		other := s.wrap(methodNotAllowed(routes[p]))
		if !strings.Contains(p, idSegment) {
			for _, r := range routes[p] {
				rt.mux.Handle(r.method+" "+p, s.wrap(r))
			}
			rt.mux.Handle(p, other)
			continue
		}
		at := &idPath{path: p, segments: strings.Split(p[1:], "/"), methods: make(map[string]http.Handler), other: other}
		for _, r := range routes[p] {
			at.methods[r.method] = s.wrap(r)
			if r.method == http.MethodGet {
				at.methods[http.MethodHead] = at.methods[r.method]
			}
		}
		rt.byID = append(rt.byID, at)
	}
	rt.mux.Handle("/", rt.notFound)
	return rt
}

func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, _, id := rt.find(r)
	if id != "" {
		r.SetPathValue("id", id)
	}
	h.ServeHTTP(w, r)
}

// find returns the handler of a request. For a path with an ID, it also returns the ID and where it was found.
func (rt *router) find(r *http.Request) (h http.Handler, at *idPath, id string) {
	sent := sentPath(r.URL)
	for _, at := range rt.byID {
		if id := at.match(sent); id != "" {
			if h := at.methods[r.Method]; h != nil {
				return h, at, id
			}
			return at.other, at, id
		}
	}
	if !isClean(sent) {
		return rt.notFound, nil, ""
	}
	return rt.mux, nil, ""
}

// isClean reports whether a path is one that the mux does not redirect. A slash at its end is clean.
func isClean(sent string) bool {
	if sent == "" || sent[0] != '/' {
		return false
	}
	clean := path.Clean(sent)
	return clean == sent || clean != "/" && clean+"/" == sent
}

// sentPath returns the path of an address with its escapes. URL.EscapedPath would decode a %2F if there is a
// character elsewhere in the path that should have been escaped.
func sentPath(u *url.URL) string {
	if u.RawPath != "" {
		return u.RawPath
	}
	return u.EscapedPath()
}

// match returns the ID in a path, or "" if it is another path.
func (at *idPath) match(sent string) (id string) {
	rest, ok := strings.CutPrefix(sent, "/")
	for i, want := range at.segments {
		if !ok {
			return ""
		}
		var segment string
		segment, rest, ok = strings.Cut(rest, "/")
		segment, err := url.PathUnescape(segment)
		switch {
		case err != nil:
			return ""
		case want == idSegment:
			id = segment
		case want != segment:
			return ""
		}
		if last := i == len(at.segments)-1; last && ok {
			return ""
		}
	}
	return id
}

// methodNotAllowed returns the route of a path for methods that it does not have.
func methodNotAllowed(routes []route) route {
	var allowed []string
	for _, r := range routes {
		allowed = append(allowed, r.method)
		if r.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	allow := strings.Join(allowed, ", ")
	return route{path: routes[0].path, early: true, serve: func(_ http.ResponseWriter, r *http.Request) error {
		return problem(http.StatusMethodNotAllowed, "The method %s is not allowed here; use one of: %s.", r.Method, allow).with("Allow", allow)
	}}
}

// routeNotFound is the route of all paths that there are not.
var routeNotFound = route{path: "/", early: true, serve: func(http.ResponseWriter, *http.Request) error {
	return problem(http.StatusNotFound, "There is nothing at this path; /openapi.json describes the requests. An ID with a slash is written with %%2F.")
}}
