package kvstore

import (
	"math"

	"github.com/foliot-go/foliot/durable"
)

const never = math.MaxInt64

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
	e, due := d.next(id, &r)
	if !due {
		d.wake(id, &r)
		return nil
	}
	if !d.rules.Handled(r.kind) {
		d.fired.Unhandled = append(d.fired.Unhandled, r.timer(id))
		return nil
	}
	payload, err := d.payload(id, &r)
	if err != nil {
		return err
	}
	if err := d.happen(id, &r, d.skipped(&r, e), payload); err != nil {
		return err
	}
	d.write(id, &old, &r, payload, false)
	d.wake(id, &r)
	return nil
}

// next returns what happens to a timer now, if anything does.
func (d *decision) next(id string, r *record) (event, bool) {
	cutOff := r.state.isHandling() && !d.running(id, r.occurrence.rev)
	switch {
	case (r.state == armed || r.state.hasBoth()) && r.at <= d.now && r.every != 0:
		return tick, true
	case r.state == armed && r.at <= d.now:
		return fire, true
	case cutOff && d.rules.Attempts > 0 && int(r.occurrence.attempt) > d.rules.Attempts:
		return die, true
	case cutOff:
		return resume, true
	case r.state.isRetrying() && r.occurrence.retryAt <= d.now:
		return retry, true
	}
	return 0, false
}

// running reports whether this process is handling an occurrence.
func (d *decision) running(id string, rev uint64) bool {
	return d.s.stripe(id).running[attempt{id, rev}]
}

// skipped returns the event for a timer that is due: another one if it is skipped.
func (d *decision) skipped(r *record, e event) event {
	if e != fire && e != tick || d.rules.SkipBefore.IsZero() || r.rev > d.s.before.Load() {
		return e
	}
	latest, _, _ := occurrences(r, d.now)
	if latest >= d.rules.SkipBefore.UnixNano() {
		return e
	}
	if e == tick {
		return skipTick
	}
	return skip
}

// occurrences returns, of a timer that is due, the latest occurrence that is due, how many are before
// it, and the next one. The next one is never if it would be after the last time of an int64.
func occurrences(r *record, now int64) (latest int64, before uint64, next int64) {
	if r.every == 0 {
		return r.at, 0, 0
	}
	before = (uint64(now) - uint64(r.at)) / uint64(r.every)
	latest = r.at + int64(before)*r.every
	if latest > math.MaxInt64-r.every {
		return latest, before, never
	}
	return latest, before, latest + r.every
}

// happen changes a record by an event, and adds what follows to the decision.
func (d *decision) happen(id string, r *record, e event, payload []byte) error {
	latest, before, next := occurrences(r, d.now)
	timer, cutOff := r.timer(id), r.fire(id)
	if !r.move(e) {
		panic("kvstore: illegal move") // next returns legal ones only
	}
	o := &r.occurrence
	switch e {
	case skip:
		d.fired.Skipped = append(d.fired.Skipped, timer)
		return nil
	case skipTick:
		d.fired.Skipped = append(d.fired.Skipped, timer)
		r.at, r.rev, r.missed = next, d.s.nextRev(&d.batch), r.missed+before+1
		return nil
	case die:
		cutOff.Payload = payload
		d.fired.Dead = append(d.fired.Dead, cutOff)
		return d.bury(cutOff, "the process ended during the attempt")
	case fire:
		*o = occurrence{at: r.at, rev: r.rev, attempt: 1, missed: r.missed}
	case tick:
		*o = occurrence{at: latest, rev: r.rev, attempt: 1, missed: r.missed + before}
		r.at, r.rev, r.missed = next, d.s.nextRev(&d.batch), 0
	case retry, resume:
		o.attempt++
		o.retryAt = 0
	}
	f := r.fire(id)
	f.Payload = payload
	d.fired.Fires = append(d.fired.Fires, f)
	st := d.s.stripe(id)
	if st.running == nil {
		st.running = make(map[attempt]bool)
	}
	st.running[attempt{id, o.rev}] = true
	return nil
}

// Finish implements [durable.Store].
func (s *Store) Finish(f durable.Fire, end durable.End) (ok bool, wait func() error, err error) {
	if err := s.enterChange(); err != nil {
		return false, nil, err
	}
	defer s.leave()
	op := s.begin(f.ID)
	delete(s.stripe(f.ID).running, attempt{f.ID, f.Rev})
	if ok, err = op.finish(f, end); err != nil {
		op.end()
		return false, nil, err
	}
	return ok, op.commit().wait, nil
}

// finish ends an attempt. It reports whether the attempt ended as end says.
func (op *operation) finish(f durable.Fire, end durable.End) (ok bool, err error) {
	old, err := op.read(f.ID)
	if err != nil || !old.state.isHandling() || old.occurrence.rev != f.Rev {
		return false, err
	}
	r := old
	switch {
	case end.How == durable.Done:
		ok = r.move(done)
	case end.How == durable.Dead:
		ok = r.move(die)
		if err := op.bury(f, end.Error); err != nil {
			return false, err
		}
	case r.state == armedHandling && end.Retry.UnixNano() >= r.at:
		r.move(yield)
	default:
		ok = r.move(again)
		r.occurrence.retryAt = end.Retry.UnixNano()
	}
	op.write(f.ID, &old, &r, f.Payload, false)
	op.wake(f.ID, &r)
	return ok, nil
}
