package kvstore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// chunk is how many keys are read at a time. Between chunks, the store may change and may be closed.
const chunk = 256

// Get implements [durable.Store].
func (s *Store) Get(_ context.Context, id string) (t durable.Timer, ok bool, err error) {
	if err := s.enter(); err != nil {
		return t, false, err
	}
	defer s.leave()
	op := s.begin(id)
	t, ok, err = op.get(id)
	if failed := op.commit().wait(); failed != nil {
		return durable.Timer{}, false, failed
	}
	return t, ok, err
}

// get returns a timer.
func (op *operation) get(id string) (t durable.Timer, ok bool, err error) {
	r, err := op.read(id)
	if err != nil || r.State == moves.None {
		return t, false, err
	}
	t = r.Timer(id)
	t.Payload, err = op.payload(id, &r)
	return t, err == nil, err
}

// List implements [durable.Store].
func (s *Store) List(ctx context.Context, q durable.Query) iter.Seq2[durable.Timer, error] {
	return func(yield func(durable.Timer, error) bool) {
		from, to, err := s.bounds(q)
		if err != nil {
			yield(durable.Timer{}, err)
			return
		}
		left := q.Limit
		if left == 0 {
			left = math.MaxInt
		}
		for from != nil {
			ids, next, err := s.ids(ctx, from, to)
			if err != nil {
				yield(durable.Timer{}, err)
				return
			}
			from = next
			for _, l := range ids {
				if !strings.HasPrefix(l.id, q.Prefix) {
					continue
				}
				t, ok, err := s.Get(ctx, l.id)
				if err != nil {
					yield(t, err)
					return
				}
				moved := q.ByDue && t.At.UnixNano() != l.at // its place is another one now
				if !ok || moved || !matches(q, &t) {
					continue
				}
				if !yield(t, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

// matches reports whether a timer with the right prefix is one that a query selects.
func matches(q durable.Query, t *durable.Timer) bool {
	return (q.Kind == "" || t.Kind == q.Kind) &&
		(q.From.IsZero() || !t.At.Before(q.From)) &&
		(q.To.IsZero() || t.At.Before(q.To))
}

// bounds returns the keys between which the timers of a query are. from is nil if there are none.
func (s *Store) bounds(q durable.Query) (from, to []byte, err error) {
	if !q.ByDue {
		from, to = key(recordPrefix, q.Prefix), after(recordPrefix)
		if q.After != "" {
			from = maxKey(from, append(key(recordPrefix, q.After), 0))
		}
		if end := prefixEnd(key(recordPrefix, q.Prefix)); end != nil {
			to = end
		}
		return from, to, nil
	}
	from, to = []byte{duePrefix}, after(duePrefix)
	if !q.From.IsZero() {
		from = dueKey(clamp(q.From), "")
	}
	if !q.To.IsZero() {
		to = dueKey(clamp(q.To), "")
	}
	if q.After != "" {
		at := clamp(q.From)
		t, ok, err := s.Get(context.Background(), q.After)
		switch {
		case err != nil:
			return nil, nil, err
		case ok:
			at = t.At.UnixNano()
		case q.From.IsZero():
			return nil, nil, fmt.Errorf("%w: Query.After is %q, and there is no timer with this ID any more; set Query.From to the At that it had", durable.ErrInvalid, q.After)
		}
		from = maxKey(from, append(dueKey(at, q.After), 0))
	}
	return from, to, nil
}

// clamp returns a time in nanoseconds since 1970, or the nearest one that an int64 can hold.
func clamp(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func maxKey(a, b []byte) []byte {
	if bytes.Compare(a, b) > 0 {
		return a
	}
	return b
}

// prefixEnd returns the first key after all keys with a prefix, or nil if there is none.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// listed is what a key of a record, of the index by At, or of a dead timer says.
type listed struct {
	id string
	at int64 // only of the index by At
}

// ids returns the IDs of some keys in [from, to), and the key from which to go on, or nil if there are
// no more. The keys are those of records, of the index by At, or of dead timers.
func (s *Store) ids(ctx context.Context, from, to []byte) (ids []listed, next []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := s.enter(); err != nil {
		return nil, nil, err
	}
	defer s.leave()
	damaged := error(nil)
	err = s.engine.Scan(from, to, func(k, _ []byte) bool {
		if len(ids) == chunk {
			next = bytes.Clone(k)
			return false
		}
		l := listed{id: string(k[1:])}
		if k[0] == duePrefix {
			var ok bool
			if l.at, l.id, ok = splitTimeKey(k); !ok {
				damaged = fmt.Errorf("the key %x is damaged", k)
				return false
			}
		}
		ids = append(ids, l)
		return true
	})
	if err == nil {
		err = damaged
	}
	return ids, next, s.fail(err)
}

// Counts implements [durable.Store].
func (s *Store) Counts() durable.Counts {
	return durable.Counts{
		Pending: int(max(s.pending.Load(), 0)),
		Dead:    int(max(s.dead.Load(), 0)),
		Exact:   s.counted.Load(),
	}
}
