package serve

import (
	"net/http"
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
	c.revs, err = parseETags(text)
	return c, err
}

// parseETags parses a list of ETags. Weak ones, and those that are no revisions, match nothing and are left
// out.
func parseETags(list string) (revs []uint64, err error) {
	for tag := range strings.SplitSeq(list, ",") {
		tag = strings.TrimSpace(tag)
		strong, weak := strings.CutPrefix(tag, "W/")
		if len(strong) < 2 || strong[0] != '"' || strong[len(strong)-1] != '"' || strings.Contains(strong[1:len(strong)-1], `"`) {
			return nil, badRequest("%q is not an ETag; write the revision in quotes, such as \"17\".", tag)
		}
		rev, err := strconv.ParseUint(strong[1:len(strong)-1], 10, 64)
		if err == nil && !weak && etag(rev) == strong {
			revs = append(revs, rev)
		}
	}
	return revs, nil
}
