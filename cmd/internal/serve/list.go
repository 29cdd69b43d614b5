package serve

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/foliot-go/foliot/durable"
)

// A List is the response to GET /v1/timers.
type List struct {
	Timers []Timer `json:"timers"`
	Next   string  `json:"next,omitzero" doc:"The cursor of the next page; there is none after the last one."`
}

const (
	defaultLimit = 100
	maxLimit     = 1000

	// maxPage is the size of a page in bytes, about, without its last timer: 8 MiB. A page of large timers has
	// fewer than were asked for, so that one request needs little memory.
	maxPage = 8 << 20
)

func itoa(n int) string { return strconv.Itoa(n) }

// A listQuery is the query of GET /v1/timers.
type listQuery struct {
	prefix, kind string
	from, to     time.Time
	byDue        bool
	limit        int
	after        *cursor
}

// A cursor is the place of the last timer of a page. It has the time, so that the next page does not depend
// on whether that timer is still there.
type cursor struct {
	ID string    `json:"id"`
	At time.Time `json:"at,omitzero"` // in the order of time
}

func (c *cursor) encode() string {
	b, err := json.Marshal(c)
	if err != nil { // an ID is UTF-8
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(text string) (*cursor, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	var c cursor
	if err == nil {
		err = json.Unmarshal(b, &c, json.RejectUnknownMembers(true))
	}
	if err != nil || c.ID == "" {
		return nil, badRequest("cursor is not one of this server; send next of the last page as it is.")
	}
	return &c, nil
}

// parseQuery checks that a query has no other parameters than some, and each only once.
func parseQuery(r *http.Request, known ...string) (url.Values, error) {
	v, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("The query cannot be read: percent-encode what is not a letter or a digit.")
	}
	for name, values := range v {
		if !slices.Contains(known, name) {
			return nil, badRequest("There is no parameter %q; correct its name or leave it out.", name)
		}
		if len(values) > 1 {
			return nil, badRequest("The parameter %q occurs twice; send it once.", name)
		}
	}
	return v, nil
}

// parseLimit returns the size of a page.
func parseLimit(text string) (int, error) {
	if text == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxLimit {
		return 0, badRequest("limit must be a number from 1 to %d.", maxLimit)
	}
	return n, nil
}

func parseListQuery(r *http.Request) (q listQuery, err error) {
	v, err := parseQuery(r, "prefix", "kind", "from", "to", "order", "limit", "cursor")
	if err != nil {
		return q, err
	}
	q.prefix, q.kind = v.Get("prefix"), v.Get("kind")
	for name, to := range map[string]*time.Time{"from": &q.from, "to": &q.to} {
		text := v.Get(name)
		if text == "" {
			continue
		}
		if *to, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return q, badRequest("%s must be a time as in RFC 3339, such as 2026-12-24T18:00:00Z; a + is written as %%2B.", name)
		}
	}
	switch v.Get("order") {
	case "", "id":
	case "due":
		q.byDue = true
	default:
		return q, badRequest("order must be due or id.")
	}
	if q.limit, err = parseLimit(v.Get("limit")); err != nil {
		return q, err
	}
	if text := v.Get("cursor"); text != "" {
		if q.after, err = decodeCursor(text); err != nil {
			return q, err
		}
		if q.byDue == q.after.At.IsZero() {
			return q, badRequest("cursor belongs to another order; send the same query for each page.")
		}
	}
	return q, nil
}

// durable returns the query of the scheduler. It may select more.
func (q *listQuery) durable() durable.Query {
	d := durable.Query{Prefix: q.prefix, From: q.from, To: q.to, ByDue: q.byDue}
	switch {
	case q.after == nil:
	case !q.byDue:
		d.After = q.after.ID
	case q.after.At.After(d.From):
		d.From = q.after.At
	}
	return d
}

// passed reports whether a timer was on an earlier page.
func (q *listQuery) passed(t *durable.Timer) bool {
	return q.after != nil && q.byDue && t.At.Equal(q.after.At) && t.ID <= q.after.ID
}

func (s *server) listTimers(w http.ResponseWriter, r *http.Request) error {
	q, err := parseListQuery(r)
	if err != nil {
		return err
	}
	list := List{Timers: []Timer{}}
	size := 0
	for t, err := range s.scheduler().List(r.Context(), q.durable()) {
		if err != nil {
			return err
		}
		if q.passed(&t) {
			continue
		}
		shown := show(&t)
		if q.kind != "" && shown.Kind != q.kind {
			continue
		}
		if n := len(list.Timers); n == q.limit || size > maxPage {
			last := &list.Timers[n-1]
			c := cursor{ID: last.ID}
			if q.byDue {
				c.At = last.At
			}
			list.Next = c.encode()
			break
		}
		list.Timers = append(list.Timers, shown)
		size += shown.size()
	}
	return writeJSON(w, http.StatusOK, list)
}
