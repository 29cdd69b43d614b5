package kvstore

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// read returns the record of a timer. Its state is none if there is none. The caller holds the lock of
// the stripe.
func (s *Store) read(id string) (record, error) {
	b, err := s.engine.Get(key(recordPrefix, id))
	if err != nil || b == nil {
		return record{}, s.fail(err)
	}
	r, err := decodeRecord(b)
	if err != nil {
		return r, s.fail(fmt.Errorf("timer %q: %w", id, err))
	}
	return r, nil
}

// payload returns the payload of a timer.
func (s *Store) payload(id string, r *record) ([]byte, error) {
	if r.payload == 0 {
		return nil, nil
	}
	b, err := s.engine.Get(key(payloadPrefix, id))
	if err == nil && len(b) != int(r.payload) {
		err = fmt.Errorf("timer %q: the payload has %d bytes, and the record says %d", id, len(b), r.payload)
	}
	return b, s.fail(err)
}

// write adds to a batch what turns the record old into r. The payload is written if it is not nil.
func (s *Store) write(b *Batch, id string, old, r *record, payload []byte) {
	if old.state != none && (r.state == none || r.at != old.at) {
		b.delete(dueKey(old.at, id))
	}
	if old.payload != 0 && (r.state == none || r.payload == 0) {
		b.delete(key(payloadPrefix, id))
	}
	if old.state.hasBoth() && !r.state.hasBoth() {
		b.delete(key(bothPrefix, id))
	}
	if r.state == none {
		b.delete(key(recordPrefix, id))
		s.pending.Add(-1)
		return
	}
	b.set(key(recordPrefix, id), r.encode(make([]byte, 0, 64+len(r.kind))))
	if old.state == none || r.at != old.at {
		b.set(dueKey(r.at, id), nil)
	}
	if payload != nil {
		b.set(key(payloadPrefix, id), payload)
	}
	if r.state.hasBoth() && !old.state.hasBoth() {
		b.set(key(bothPrefix, id), nil)
	}
	if old.state == none {
		s.pending.Add(1)
	}
}

// check returns an error if a timer is not as a condition demands.
func check(c durable.Condition, id string, r *record) error {
	switch {
	case c.Absent && r.state != none:
		return fmt.Errorf("%w (ID %q, revision %d)", durable.ErrExists, id, r.rev)
	case c.HasRev && r.state == none:
		return fmt.Errorf("%w (ID %q: there is no timer, not one of revision %d)", durable.ErrRev, id, c.Rev)
	case c.HasRev && !r.state.isArmed():
		return fmt.Errorf("%w (ID %q: revision %d is being handled)", durable.ErrRev, id, r.rev)
	case c.HasRev && r.rev != c.Rev:
		return fmt.Errorf("%w (ID %q: it has revision %d, not %d)", durable.ErrRev, id, r.rev, c.Rev)
	}
	return nil
}

// Schedule implements [durable.Store].
func (s *Store) Schedule(_ context.Context, ts []durable.Timer, c durable.Condition) ([]uint64, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	ids := make([]string, len(ts))
	for i := range ts {
		ids[i] = ts[i].ID
	}
	l := s.lock(ids...)
	b := &Batch{}
	revs, err := s.scheduleLocked(b, ts, c)
	if err != nil {
		if wait := s.settled(l); wait() != nil {
			return nil, s.state()
		}
		return nil, err
	}
	wait, err := s.applyAndWake(l, b, ts)
	if err == nil {
		err = wait()
	}
	if err != nil {
		return nil, err
	}
	return revs, nil
}

// applyAndWake applies a batch that arms timers and tells the watcher before it unlocks the stripes.
func (s *Store) applyAndWake(l locked, b *Batch, ts []durable.Timer) (func() error, error) {
	return s.apply(l, b, func() {
		for i := range ts {
			s.wake(ts[i].ID, ts[i].At.UnixNano())
		}
	})
}

// scheduleLocked adds to a batch what arms timers.
func (s *Store) scheduleLocked(b *Batch, ts []durable.Timer, c durable.Condition) ([]uint64, error) {
	revs := make([]uint64, len(ts))
	var last map[string]int // by ID: the index of the timer that wins
	if len(ts) > 1 {
		last = make(map[string]int, len(ts))
		for i := range ts {
			last[ts[i].ID] = i
		}
	}
	olds := make([]record, len(ts))
	for i := range ts {
		var err error
		if olds[i], err = s.read(ts[i].ID); err == nil {
			err = check(c, ts[i].ID, &olds[i])
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range ts {
		revs[i] = s.nextRev(b)
		if last != nil && last[ts[i].ID] != i {
			continue
		}
		s.scheduleOne(b, &ts[i], &olds[i], revs[i])
	}
	return revs, nil
}

// scheduleOne adds to a batch what arms a timer under a revision.
func (s *Store) scheduleOne(b *Batch, t *durable.Timer, old *record, rev uint64) {
	r := *old
	r.move(schedule) // legal in each state
	r.kind, r.every, r.payload = t.Kind, int64(t.Every), uint32(len(t.Payload))
	r.at, r.rev, r.missed = t.At.UnixNano(), rev, 0
	payload := t.Payload
	if len(payload) == 0 {
		payload = nil
	}
	s.write(b, t.ID, old, &r, payload)
}

// Cancel implements [durable.Store].
func (s *Store) Cancel(_ context.Context, id string, c durable.Condition) (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	l := s.lock(id)
	old, err := s.read(id)
	if err == nil && old.state != none {
		err = check(c, id, &old)
	}
	r := old
	b := &Batch{}
	ok := err == nil && r.move(cancel)
	if ok {
		s.write(b, id, &old, &r, nil)
	}
	wait, failed := s.apply(l, b, func() { s.gone(id) })
	if failed == nil {
		failed = wait()
	}
	if failed != nil {
		return false, failed
	}
	return ok, err
}

// Redrive implements [durable.Store].
func (s *Store) Redrive(_ context.Context, id string, at time.Time) (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	l := s.lock(id)
	b := &Batch{}
	t, ok, err := s.redriveLocked(b, id, at)
	wait, failed := s.apply(l, b, func() { s.wake(id, t.At.UnixNano()) })
	if failed == nil {
		failed = wait()
	}
	if failed != nil {
		return false, failed
	}
	return ok, err
}

// redriveLocked adds to a batch what arms a dead timer.
func (s *Store) redriveLocked(b *Batch, id string, at time.Time) (t durable.Timer, ok bool, err error) {
	d, ok, err := s.readDead(id)
	if err != nil || !ok {
		return t, false, err
	}
	old, err := s.read(id)
	if err == nil {
		err = check(durable.Condition{Absent: true}, id, &old)
	}
	if err != nil {
		return t, false, err
	}
	t = d.fire.Timer
	t.At, t.Every = at, 0
	s.scheduleOne(b, &t, &old, s.nextRev(b))
	b.delete(key(deadPrefix, id))
	s.dead.Add(-1)
	return t, true, nil
}

// Discard implements [durable.Store].
func (s *Store) Discard(_ context.Context, id string) (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	l := s.lock(id)
	v, err := s.engine.Get(key(deadPrefix, id))
	b := &Batch{}
	if err == nil && v != nil {
		b.delete(key(deadPrefix, id))
		s.dead.Add(-1)
	}
	wait, failed := s.apply(l, b, nil)
	if failed == nil {
		failed = wait()
	}
	return v != nil && err == nil && failed == nil, s.firstError(err, failed)
}

// firstError returns the error of the store, or nil.
func (s *Store) firstError(read, applied error) error {
	if read != nil {
		return s.fail(read)
	}
	return applied
}

// readDead returns the dead timer with an ID.
func (s *Store) readDead(id string) (d deadRecord, ok bool, err error) {
	v, err := s.engine.Get(key(deadPrefix, id))
	if err != nil || v == nil {
		return d, false, s.fail(err)
	}
	d, err = decodeDead(id, v)
	if err != nil {
		return d, false, s.fail(fmt.Errorf("dead timer %q: %w", id, err))
	}
	return d, true, nil
}
