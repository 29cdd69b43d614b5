package kvstore

import (
	"math"
	"sync"

	"github.com/foliot-go/foliot/durable"
)

const never = math.MaxInt64

// Fire implements [durable.Store].
func (s *Store) Fire(ids []string, rules durable.Rules) (durable.Fired, error) {
	if err := s.enter(); err != nil {
		return durable.Fired{}, err
	}
	defer s.leave()
	l := s.lock(ids...)
	d := decision{s: s, rules: rules, now: rules.Now.UnixNano(), seen: make(map[string]bool, len(ids))}
	for _, id := range ids {
		if err := d.look(id); err != nil {
			l.unlock()
			return durable.Fired{}, err
		}
	}
	tell := func() {
		for _, w := range d.wakes {
			s.wake(w.ID, w.At)
		}
	}
	if len(d.batch.Ops) == 0 {
		tell()
	}
	wait, err := s.apply(l, &d.batch, tell)
	if err != nil {
		return durable.Fired{}, err
	}
	d.fired.Wait = sync.OnceValue(wait)
	return d.fired, nil
}

// A decision is what one call of Fire decides. The stripes of its timers are locked.
type decision struct {
	s     *Store
	rules durable.Rules
	now   int64
	seen  map[string]bool
	batch Batch
	fired durable.Fired
	wakes []durable.Wake
}

// look decides whether a timer fires.
func (d *decision) look(id string) error {
	if d.seen[id] {
		return nil
	}
	d.seen[id] = true
	old, err := d.s.read(id)
	if err != nil {
		return err
	}
	r := old
	e, due := d.next(id, &r)
	if !due {
		if at, ok := r.wakeAt(); ok {
			d.wakes = append(d.wakes, durable.Wake{ID: id, At: at})
		}
		return nil
	}
	if !d.rules.Handled(r.kind) {
		d.fired.Unhandled = append(d.fired.Unhandled, r.timer(id))
		return nil
	}
	if e == tick || e == fire {
		e = d.skip(id, &r, e)
	}
	if err := d.happen(id, &r, e); err != nil {
		return err
	}
	d.s.write(&d.batch, id, &old, &r, nil)
	if at, ok := r.wakeAt(); ok {
		d.wakes = append(d.wakes, durable.Wake{ID: id, At: at})
	}
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
	case (r.state == retrying || r.state == armedRetrying) && r.occurrence.retryAt <= d.now:
		return retry, true
	}
	return 0, false
}

// running reports whether this process is handling an occurrence.
func (d *decision) running(id string, rev uint64) bool {
	return d.s.stripes[d.s.stripeOf(id)].running[attempt{id, rev}]
}

// skip returns the event for a timer that is due: whether it is skipped.
func (d *decision) skip(id string, r *record, e event) event {
	if d.rules.SkipBefore.IsZero() || r.rev > d.s.before.Load() {
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
func (d *decision) happen(id string, r *record, e event) error {
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
		var err error
		if cutOff.Payload, err = d.s.payload(id, r); err != nil {
			return err
		}
		d.fired.Dead = append(d.fired.Dead, cutOff)
		return d.s.bury(&d.batch, cutOff, "the process ended during the attempt")
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
	var err error
	if f.Payload, err = d.s.payload(id, r); err != nil {
		return err
	}
	d.fired.Fires = append(d.fired.Fires, f)
	st := &d.s.stripes[d.s.stripeOf(id)]
	if st.running == nil {
		st.running = make(map[attempt]bool)
	}
	st.running[attempt{id, o.rev}] = true
	return nil
}

// Finish implements [durable.Store].
func (s *Store) Finish(f durable.Fire, end durable.End) (ok bool, wait func() error, err error) {
	if err := s.enter(); err != nil {
		return false, nil, err
	}
	defer s.leave()
	l := s.lock(f.ID)
	delete(l[0].running, attempt{f.ID, f.Rev})
	old, err := s.read(f.ID)
	if err != nil {
		l.unlock()
		return false, nil, err
	}
	r := old
	b := &Batch{}
	if r.state.isHandling() && r.occurrence.rev == f.Rev {
		if ok, err = s.finish(b, f, end, &r); err != nil {
			l.unlock()
			return false, nil, err
		}
		s.write(b, f.ID, &old, &r, nil)
	}
	wait, err = s.apply(l, b, func() {
		if at, ok := r.wakeAt(); ok {
			s.wake(f.ID, at)
		}
	})
	return ok, wait, err
}

// finish changes a record by the end of an attempt. It reports whether the attempt ended as end says.
func (s *Store) finish(b *Batch, f durable.Fire, end durable.End, r *record) (ok bool, err error) {
	switch end.How {
	case durable.Done:
		return r.move(done), nil
	case durable.Dead:
		return r.move(die), s.bury(b, f, end.Error)
	}
	if r.state == armedHandling && end.Retry.UnixNano() >= r.at {
		r.move(yield)
		return false, nil
	}
	ok = r.move(again)
	r.occurrence.retryAt = end.Retry.UnixNano()
	return ok, nil
}

// bury adds a dead timer to a batch.
func (s *Store) bury(b *Batch, f durable.Fire, message string) error {
	d := deadRecord{fire: f, err: message}
	old, err := s.engine.Get(key(deadPrefix, f.ID))
	if err != nil {
		return s.fail(err)
	}
	if old == nil {
		s.dead.Add(1)
	}
	b.set(key(deadPrefix, f.ID), d.encode(nil))
	return nil
}
