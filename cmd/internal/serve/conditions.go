package serve

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// conditions are what the headers If-Match and If-None-Match of a request demand.
type conditions struct {
	absent bool     // If-None-Match: *
	any    bool     // If-Match: *
	revs   []uint64 // If-Match; nil if there is none. One that cannot match is left out
	match  bool     // there is an If-Match
}

// etag returns the ETag of a revision.
func etag(rev uint64) string { return `"` + strconv.FormatUint(rev, 10) + `"` }

// parseConditions reads the conditions of a request that changes something.
func parseConditions(h http.Header) (c conditions, err error) {
	if values := h.Values("If-None-Match"); len(values) > 0 {
		if strings.TrimSpace(strings.Join(values, ",")) != "*" {
			return c, badRequest("If-None-Match must be *, which demands that there is no timer. To demand a revision, use If-Match.")
		}
		c.absent = true
	}
	values := h.Values("If-Match")
	if len(values) == 0 {
		return c, nil
	}
	if c.absent {
		return c, badRequest("If-Match and If-None-Match exclude each other; send one of them.")
	}
	c.match = true
	text := strings.TrimSpace(strings.Join(values, ","))
	if text == "*" {
		c.any = true
		return c, nil
	}
	tags, ok := parseETags(text)
	if !ok {
		return c, badRequest("If-Match is not a list of ETags; write the revision in quotes, such as \"17\".")
	}
	for _, tag := range tags {
		if rev, ok := tag.rev(); ok && !tag.weak {
			c.revs = append(c.revs, rev)
		}
	}
	return c, nil
}

// notModified reports whether a reader has a revision already, as If-None-Match says. A list that cannot be read
// is no condition. ETags are compared weakly, as RFC 9110 demands for this header.
func notModified(h http.Header, current uint64) bool {
	text := strings.TrimSpace(strings.Join(h.Values("If-None-Match"), ","))
	if text == "*" {
		return true
	}
	tags, ok := parseETags(text)
	return ok && slices.ContainsFunc(tags, func(tag entityTag) bool {
		rev, ok := tag.rev()
		return ok && rev == current
	})
}

// An entityTag is an ETag of a request.
type entityTag struct {
	weak   bool
	opaque string // with its quotes
}

// rev returns the revision that the ETag stands for.
func (t entityTag) rev() (rev uint64, ok bool) {
	rev, err := strconv.ParseUint(t.opaque[1:len(t.opaque)-1], 10, 64)
	return rev, err == nil && etag(rev) == t.opaque
}

// parseETags parses a list of ETags. Elements of it may be empty, but not all of them. It returns false if the
// text is not such a list.
func parseETags(list string) (tags []entityTag, ok bool) {
	for rest := list; ; {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			return tags, len(tags) > 0
		}
		var t entityTag
		rest, t.weak = strings.CutPrefix(rest, "W/")
		if rest == "" || rest[0] != '"' {
			return nil, false
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 {
			return nil, false
		}
		t.opaque, rest = rest[:end+2], rest[end+2:]
		if strings.ContainsFunc(t.opaque, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return nil, false
		}
		if rest = strings.TrimLeft(rest, " \t"); rest != "" && rest[0] != ',' {
			return nil, false
		}
		tags = append(tags, t)
	}
}
