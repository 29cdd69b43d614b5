package jetstream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// Get implements [durable.Store].
func (s *Store) Get(ctx context.Context, id string) (t durable.Timer, ok bool, err error) {
	if err := s.failure(); err != nil {
		return t, false, err
	}
	ctx, cancel := bound(ctx, callBound)
	defer cancel()
	p := s.part(id)
	fresh, err := p.check(ctx, id)
	if err != nil {
		return t, false, failedCall("Get", id, err)
	}
	t, ok, err = p.timer(ctx, id, fresh)
	return t, ok, failedCall("Get", id, err)
}

// timer returns a timer with its payload. fresh is what check has returned, or nil.
func (p *part) timer(ctx context.Context, id string, fresh *view) (t durable.Timer, ok bool, err error) {
	for {
		v := p.view(id)
		if fresh != nil {
			v = *fresh
		}
		if v.record.State == moves.None {
			return t, false, nil
		}
		payload, _, err := p.body(ctx, id, &v)
		if errors.Is(err, errMoved) {
			if fresh, err = p.check(ctx, id); err != nil {
				return t, false, err
			}
			continue
		}
		if err != nil {
			return t, false, err
		}
		t = v.record.Timer(id)
		if len(payload) > 0 {
			t.Payload = bytes.Clone(payload)
		}
		return t, true, nil
	}
}

// all waits for a barrier of each part.
func (s *Store) all(ctx context.Context) error {
	for _, p := range s.parts {
		if err := p.barriers.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A place is where a timer is in a list.
type place struct {
	id string
	at int64
}

func (a place) compare(b place, byDue bool) int {
	if byDue && a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	return strings.Compare(a.id, b.id)
}

// List implements [durable.Store]. The IDs are those of the begin.
func (s *Store) List(ctx context.Context, q durable.Query) iter.Seq2[durable.Timer, error] {
	return func(yield func(durable.Timer, error) bool) {
		places, err := s.places(ctx, q)
		if err != nil {
			yield(durable.Timer{}, err)
			return
		}
		left := q.Limit
		if left == 0 {
			left = math.MaxInt
		}
		for _, at := range places {
			if err := errors.Join(ctx.Err(), s.failure()); err != nil {
				yield(durable.Timer{}, err)
				return
			}
			short, cancel := bound(ctx, callBound)
			t, ok, err := s.part(at.id).timer(short, at.id, nil)
			cancel()
			if err != nil {
				yield(t, failedCall("List", at.id, err))
				return
			}
			moved := q.ByDue && t.At.UnixNano() != at.at // its place is another one now
			if !ok || moved || !matches(q, t.Kind, t.At.UnixNano()) {
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

// matches reports whether a timer with the right prefix is one that a query selects.
func matches(q durable.Query, kind string, at int64) bool {
	return (q.Kind == "" || kind == q.Kind) &&
		(q.From.IsZero() || at >= clamp(q.From)) &&
		(q.To.IsZero() || at < clamp(q.To))
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

// places returns the timers that a query selects, in order.
func (s *Store) places(ctx context.Context, q durable.Query) ([]place, error) {
	if err := errors.Join(ctx.Err(), s.failure()); err != nil {
		return nil, err
	}
	short, cancel := bound(ctx, callBound)
	defer cancel()
	if err := s.all(short); err != nil {
		return nil, failedCall("List", q.Prefix, err)
	}
	after := place{id: q.After}
	if q.After != "" && q.ByDue {
		v := s.part(q.After).view(q.After)
		switch {
		case v.record.State != moves.None:
			after.at = v.record.At
		case q.From.IsZero():
			return nil, fmt.Errorf("%w: Query.After is %q, and there is no timer with this ID any more; set Query.From to the At that it had", durable.ErrInvalid, q.After)
		default:
			after.at = clamp(q.From)
		}
	}
	var places []place
	for _, p := range s.parts {
		p.mu.Lock()
		for id, e := range p.index.entries {
			at := place{id, e.at}
			if moves.State(e.bits&7) != moves.None && strings.HasPrefix(id, q.Prefix) &&
				(q.After == "" || at.compare(after, q.ByDue) > 0) && matches(q, p.index.kinds.name(e.kind), e.at) {
				places = append(places, at)
			}
		}
		p.mu.Unlock()
	}
	slices.SortFunc(places, func(a, b place) int { return a.compare(b, q.ByDue) })
	return places, nil
}

// Dead implements [durable.Store].
func (s *Store) Dead(ctx context.Context) iter.Seq2[durable.Fire, error] {
	return func(yield func(durable.Fire, error) bool) {
		ids, err := s.deadIDs(ctx)
		if err != nil {
			yield(durable.Fire{}, err)
			return
		}
		for _, id := range ids {
			if err := errors.Join(ctx.Err(), s.failure()); err != nil {
				yield(durable.Fire{}, err)
				return
			}
			short, cancel := bound(ctx, callBound)
			f, ok, err := s.part(id).deadOf(short, id)
			cancel()
			if err != nil {
				yield(f, failedCall("Dead", id, err))
				return
			}
			if ok && !yield(f, nil) {
				return
			}
		}
	}
}

// deadIDs returns the IDs that have a dead occurrence, in order.
func (s *Store) deadIDs(ctx context.Context) (ids []string, err error) {
	if err := errors.Join(ctx.Err(), s.failure()); err != nil {
		return nil, err
	}
	short, cancel := bound(ctx, callBound)
	defer cancel()
	if err := s.all(short); err != nil {
		return nil, failedCall("Dead", "", err)
	}
	for _, p := range s.parts {
		p.mu.Lock()
		for id := range p.index.deads {
			ids = append(ids, id)
		}
		p.mu.Unlock()
	}
	slices.Sort(ids)
	return ids, nil
}

// deadOf returns the dead occurrence of an ID.
func (p *part) deadOf(ctx context.Context, id string) (f durable.Fire, ok bool, err error) {
	for {
		x := &next{id: id, old: p.view(id)}
		if !x.old.hasDead {
			return f, false, nil
		}
		err := p.carry(ctx, x)
		if errors.Is(err, errMoved) {
			if err := p.barriers.wait(ctx); err != nil {
				return f, false, err
			}
			continue
		}
		if err != nil {
			return f, false, err
		}
		return fireOf(x.message.dead, x.dead), true, nil
	}
}

// Waiting implements [durable.Store].
//
// The ranking may have changed since the watcher was told of a timer: it was told a time after from, and looks at
// the timer before from now. So Waiting also yields timers that this process looks at before from, by at most the
// longest delay. Only those that it can fire are among them: the others would come again in each call.
func (s *Store) Waiting(from time.Time) iter.Seq2[durable.Wake, error] {
	return func(yield func(durable.Wake, error) bool) {
		if err := s.failure(); err != nil {
			yield(durable.Wake{}, err)
			return
		}
		least, early := int64(math.MinInt64), int64(math.MinInt64)
		if !from.IsZero() {
			least = from.UnixNano()
			early = clamp(from.Add(-time.Duration(s.members.longest.Load())))
		}
		var wakes []durable.Wake
		for _, p := range s.parts {
			p.mu.Lock()
			for id, e := range p.index.entries {
				v := p.index.unpack(e)
				at, ok := s.lookAt(id, &v)
				if from.IsZero() && v.record.State.IsHandling() && (!s.isOwned(id, &v) || !s.members.isKnown(v.owner)) {
					at, ok = math.MinInt64, true
				}
				if ok && (at >= least || at >= early && s.handles(&v.record)) {
					wakes = append(wakes, durable.Wake{ID: id, At: at})
				}
			}
			p.mu.Unlock()
		}
		slices.SortFunc(wakes, func(a, b durable.Wake) int {
			return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.ID, b.ID))
		})
		for _, w := range wakes {
			if !yield(w, nil) {
				return
			}
		}
		if from.IsZero() {
			s.awaitOwners(yield)
		}
	}
}

// handles reports whether the watcher can fire a timer.
func (s *Store) handles(r *moves.Record) bool {
	s.watch.RLock()
	defer s.watch.RUnlock()
	return s.watcher != nil && s.watcher.Handles(r.Kind) && (!r.IsByNext() || s.watcher.HasNext(r.Kind))
}

// awaitOwners yields attempts of processes that were never heard until it is known whether these have ended.
// It yields them again and again, so that the caller can stop. On a manual clock, the caller does not look at
// anything before the end, and time does not pass: so it is not enough to tell the watcher.
func (s *Store) awaitOwners(yield func(durable.Wake, error) bool) {
	for {
		ids := s.members.undecided()
		for _, id := range ids {
			if !yield(durable.Wake{ID: id, At: math.MinInt64}, nil) {
				return
			}
		}
		if len(ids) == 0 || s.failure() != nil {
			return
		}
		s.sleep(ownersEvery)
	}
}

// ownersEvery is how often awaitOwners looks.
const ownersEvery = 50 * time.Millisecond
