package kvstore

import (
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// Fire implements [durable.Store].
func (s *Store) Fire(ids []string, rules durable.Rules) (durable.Fired, error) {
	if err := s.enterChange(); err != nil {
		return durable.Fired{}, err
	}
	defer s.leave()
	d := decision{operation: s.begin(ids...), rules: rules, now: rules.Now.UnixNano(), seen: make(map[string]bool, len(ids))}
	for _, id := range ids {
		if err := d.look(id); err != nil {
			d.end()
			return durable.Fired{}, err
		}
	}
	d.fired.Wait = d.commit().wait
	return d.fired, nil
}

// A decision is what one call of Fire decides.
type decision struct {
	*operation
	rules durable.Rules
	now   int64
	seen  map[string]bool
	fired durable.Fired
}

// look decides whether a timer fires.
func (d *decision) look(id string) error {
	if d.seen[id] {
		return nil
	}
	d.seen[id] = true
	old, err := d.read(id)
	if err != nil {
		return err
	}
	r := old
	e, ok := r.Next(d.now, d.running(id, r.Occurrence.Rev), d.rules.Attempts)
	if !ok {
		d.wake(id, &r)
		return nil
	}
	timer := r.Timer(id)
	if !d.rules.Handles(timer) {
		d.fired.Unhandled = append(d.fired.Unhandled, timer)
		return nil
	}
	payload, err := d.payload(id, &r)
	if err != nil {
		return err
	}
	timer.Payload = payload
	due := r.DueAt(d.now, func(after time.Time) time.Time { return d.rules.Next(timer, after) })
	if err := d.happen(&r, e, timer, due); err != nil {
		return err
	}
	d.write(id, &old, &r, payload, false)
	d.wake(id, &r)
	return nil
}

// running reports whether this process is handling an occurrence.
func (d *decision) running(id string, rev uint64) bool {
	return d.s.stripe(id).running[attempt{id, rev}]
}

// skipped returns the event for a timer that is due: another one if it is skipped.
func (d *decision) skipped(r *moves.Record, e moves.Event, due moves.Due) moves.Event {
	if d.rules.SkipBefore.IsZero() || r.Rev > d.s.before.Load() {
		return e
	}
	return r.OrSkip(e, due, d.rules.SkipBefore.UnixNano())
}

// happen changes a record by an event that Next has returned, and adds what follows to the decision. t is
// the timer with its payload.
func (d *decision) happen(r *moves.Record, e moves.Event, t durable.Timer, due moves.Due) error {
	e = d.skipped(r, due.Event(e), due)
	f, fires := r.Happen(t.ID, e, due, func() uint64 { return d.s.nextRev(&d.batch) })
	f.Payload = t.Payload
	switch {
	case e == moves.Die:
		d.fired.Dead = append(d.fired.Dead, f)
		return d.bury(f)
	case !fires:
		d.fired.Skipped = append(d.fired.Skipped, t)
		return nil
	}
	d.fired.Fires = append(d.fired.Fires, f)
	st := d.s.stripe(t.ID)
	if st.running == nil {
		st.running = make(map[attempt]bool)
	}
	st.running[attempt{t.ID, f.Rev}] = true
	return nil
}

// Finish implements [durable.Store].
func (s *Store) Finish(f durable.Fire, end durable.End) (ok bool, wait func() error, err error) {
	if err := s.enterChange(); err != nil {
		return false, nil, err
	}
	defer s.leave()
	op := s.begin(f.ID)
	running, key := s.stripe(f.ID).running, attempt{f.ID, f.Rev}
	if running[key] {
		delete(running, key)
		ok, err = op.finish(f, end)
	}
	if err != nil {
		op.end()
		return false, nil, err
	}
	return ok, op.commit().wait, nil
}

// finish ends an attempt. It reports whether the attempt ended as end says.
func (op *operation) finish(f durable.Fire, end durable.End) (ok bool, err error) {
	old, err := op.read(f.ID)
	if err != nil {
		return false, err
	}
	r := old
	ok, changed := r.Finish(f.Rev, end)
	if !changed {
		return false, nil
	}
	if end.How == durable.Dead {
		f.Error = end.Error
		if err := op.bury(f); err != nil {
			return false, err
		}
	}
	op.write(f.ID, &old, &r, f.Payload, false)
	op.wake(f.ID, &r)
	if r.State == moves.None {
		op.gone = append(op.gone, f.ID)
	}
	return ok, nil
}
