package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

const (
	// fireBound is how long one call of Fire waits for the stream. What is not decided then is looked at
	// again later.
	fireBound = 3 * time.Second

	// fireAgain is how long after that it is looked at again.
	fireAgain = 200 * time.Millisecond

	// fireRounds is how often one call of Fire decides about a timer that others change, too.
	fireRounds = 4
)

// A firing is a timer that Fire looks at.
type firing struct {
	next
	p     *part
	order int
	event moves.Event
	timer durable.Timer
	fire  durable.Fire
	fires bool
	get   *get
	try   *try
}

// Fire implements [durable.Store]. It returns what the stream has taken: other processes may look at the same
// timers.
func (s *Store) Fire(ids []string, rules durable.Rules) (durable.Fired, error) {
	fired := durable.Fired{Wait: s.failure}
	if err := s.failure(); err != nil {
		return fired, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), fireBound)
	defer cancel()
	var todo []*firing
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		if !seen[id] {
			seen[id] = true
			todo = append(todo, &firing{next: next{id: id}, p: s.part(id), order: i})
		}
	}
	fires := make([]*firing, len(ids))
	for round := 0; len(todo) > 0; round++ {
		if round == fireRounds || ctx.Err() != nil {
			s.lookLater(todo)
			break
		}
		todo = s.fireRound(ctx, todo, rules, &fired, fires)
		if err := s.failure(); err != nil {
			return fired, err
		}
	}
	for _, f := range fires {
		if f != nil {
			fired.Fires = append(fired.Fires, f.fire)
		}
	}
	return fired, nil
}

// fireRound decides about timers, sends all changes and waits for them. It returns those that must be decided
// anew.
func (s *Store) fireRound(ctx context.Context, todo []*firing, rules durable.Rules, fired *durable.Fired, fires []*firing) (again []*firing) {
	sent := todo[:0:0]
	for _, f := range todo {
		if s.consider(f, rules, fired) {
			sent = append(sent, f)
		}
	}
	for _, f := range sent { // all requests are on their way before the first reply is waited for
		if f.old.hasDead || f.old.record.Payload > 0 {
			f.get = f.p.beginGet(f.old.seq)
		}
	}
	for _, f := range sent {
		if f.get != nil {
			m, err := f.get.wait(ctx)
			f.get = nil
			if err == nil {
				err = f.take(f.p, m.Header.Get(recordHeader), m.Data)
			}
			if err != nil {
				s.noteFire(f.id, err)
				again = append(again, f)
				continue
			}
		}
		s.happen(f, rules)
		f.try = f.p.begin(&f.next)
	}
	for _, f := range sent {
		if f.try == nil {
			continue
		}
		_, err := f.try.wait(ctx)
		f.try = nil
		if err == nil {
			s.won.Add(1)
			s.add(f, fired, fires)
			continue
		}
		s.lost.Add(1)
		if isConflict(err) {
			err = f.p.lost(ctx, &f.next, err)
		}
		if err != nil {
			s.noteFire(f.id, err)
		}
		again = append(again, f)
	}
	return again
}

// noteFire logs an error that a firing has met, at most once a second. It is tried again.
func (s *Store) noteFire(id string, err error) {
	now, noted := time.Now().UnixNano(), s.noted.Load()
	if !errors.Is(err, errMoved) && s.failure() == nil && now-noted > int64(time.Second) && s.noted.CompareAndSwap(noted, now) {
		s.log.Warn("jetstream: a timer that is due cannot be decided; it is tried again", "id", id, "error", err)
	}
}

// consider decides by the index whether something happens to a timer, and prepares it.
func (s *Store) consider(f *firing, rules durable.Rules, fired *durable.Fired) bool {
	now := rules.Now.UnixNano()
	f.p.mu.Lock()
	f.old = f.p.index.view(f.id)
	r := &f.old.record
	e, due := r.Next(now, s.isOwned(f.id, &f.old), rules.Attempts)
	if !due {
		if r.State != moves.None {
			s.tellView(f.id, &f.old)
		}
		f.p.mu.Unlock()
		return false
	}
	if e == moves.Retry && s.isRunning(f.id, r.Occurrence.Rev) {
		f.p.mu.Unlock()
		return false // Finish of the last attempt has not returned, and looks again
	}
	if delay := int64(s.members.delay(f.id, r)); delay > 0 && e != moves.Resume && e != moves.Die {
		if at, _ := r.WakeAt(); now < at+delay { // the ranking has changed since it was told
			s.tellView(f.id, &f.old)
			f.p.mu.Unlock()
			return false
		}
	}
	f.p.mu.Unlock()
	if !rules.Handles(r.Timer(f.id)) {
		if !s.members.leave(f.id, r) {
			s.members.noteUnhandled(f.id, f.old.seq)
			fired.Unhandled = append(fired.Unhandled, r.Timer(f.id))
		}
		return false
	}
	f.event = e
	f.payload, f.dead = nil, nil // of an earlier round
	f.message = message{record: f.old.record, owner: f.old.owner, hasDead: f.old.hasDead}
	return true
}

// isOwned reports whether a process that has not ended handles the occurrence of a timer.
func (s *Store) isOwned(id string, v *view) bool {
	if !v.record.State.IsHandling() {
		return false
	}
	if v.owner == s.name {
		return s.isRunning(id, v.record.Occurrence.Rev)
	}
	return s.members.isAlive(v.owner)
}

// isRunning reports whether this process handles an occurrence.
func (s *Store) isRunning(id string, rev uint64) bool {
	s.attempts.Lock()
	defer s.attempts.Unlock()
	return s.running[attempt{id, rev}] != nil
}

// happen changes the message by the event.
func (s *Store) happen(f *firing, rules durable.Rules) {
	m := &f.message
	f.timer = m.record.Timer(f.id)
	f.timer.Payload = f.payload
	due := m.record.DueAt(rules.Now.UnixNano(), func(after time.Time) time.Time { return rules.Next(f.timer, after) })
	f.event = due.Event(f.event)
	if !rules.SkipBefore.IsZero() && m.record.Rev <= s.before[partOf(f.id, len(s.parts))] {
		f.event = m.record.OrSkip(f.event, due, rules.SkipBefore.UnixNano())
	}
	f.fire, f.fires = m.record.Happen(f.id, f.event, due, func() uint64 { return 0 })
	if f.fires {
		m.owner = s.name
	}
	if f.event == moves.Die {
		m.hasDead = true
		m.dead = moves.DeadRecord{Fire: f.fire}
		f.dead = f.payload
	}
}

// add adds a decision that the stream has taken.
func (s *Store) add(f *firing, fired *durable.Fired, fires []*firing) {
	f.fire.Payload = bytes.Clone(f.payload)
	switch {
	case f.event == moves.Die:
		fired.Dead = append(fired.Dead, f.fire)
	case !f.fires:
		fired.Skipped = append(fired.Skipped, f.timer)
	default:
		if f.event == moves.Resume {
			s.resumed.Add(1)
		}
		s.attempts.Lock()
		s.running[attempt{f.id, f.fire.Rev}] = &handling{uint32(f.fire.Attempt), f.payload}
		s.attempts.Unlock()
		fires[f.order] = f
	}
}

// lookLater makes the Scheduler look at timers again, after a while.
func (s *Store) lookLater(todo []*firing) {
	time.AfterFunc(fireAgain, func() {
		for _, f := range todo {
			f.p.mu.Lock()
			v := f.p.index.view(f.id)
			s.tellView(f.id, &v)
			f.p.mu.Unlock()
		}
	})
}

// Finish implements [durable.Store]. It waits until the stream has taken the end, however long that takes:
// until then the attempt has not ended.
func (s *Store) Finish(f durable.Fire, end durable.End) (ok bool, wait func() error, err error) {
	if err := s.failure(); err != nil {
		return false, nil, err
	}
	key := attempt{f.ID, f.Rev}
	s.attempts.Lock()
	h := s.running[key]
	s.attempts.Unlock()
	if h == nil || int(h.number) != f.Attempt {
		return false, s.failure, nil
	}
	defer s.forget(key)
	pause := backoff{50 * time.Millisecond, 2 * time.Second}
	for {
		ok, err := s.finish(f, end, h)
		if err == nil {
			return ok, s.failure, nil
		}
		if err := s.failure(); err != nil {
			return false, nil, err
		}
		s.log.Warn("jetstream: the end of an attempt cannot be stored; it is tried again", "id", f.ID, "attempt", f.Attempt, "error", err)
		s.sleep(pause.pause())
	}
}

// forget ends an attempt of this process. Until then this process starts no other attempt of the occurrence. So
// the owner and the number in a record name one attempt, also if a number is given twice.
func (s *Store) forget(key attempt) {
	s.attempts.Lock()
	delete(s.running, key)
	s.attempts.Unlock()
	p := s.part(key.id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.index.view(key.id); v.record.State.IsRetrying() && v.record.Occurrence.Rev == key.rev {
		s.tellView(key.id, &v)
	}
}

// finish stores the end of an attempt.
func (s *Store) finish(f durable.Fire, end durable.End, h *handling) (ok bool, err error) {
	// Without a bound: after one it would not be known whether the end is stored, and the next try would
	// find that the attempt has ended and report that it has changed nothing.
	ctx := context.Background()
	_, changed, err := s.part(f.ID).decide(ctx, f.ID, func(x *next) (changes bool, err error) {
		m := &x.message
		if m.owner == s.name && m.record.Occurrence.Attempt == h.number {
			ok, changes = m.record.Finish(f.Rev, end)
		} else { // it was taken over, or another occurrence has fired
			ok = end.How == durable.Ended && m.record.EndSeries(f.Rev)
			changes = ok
		}
		if !changes {
			return false, nil
		}
		x.payload = h.payload
		if end.How == durable.Dead {
			dead := f
			dead.Late, dead.Error = 0, end.Error
			m.hasDead = true
			m.dead = moves.DeadRecord{Fire: dead}
			x.dead = h.payload
		}
		return true, nil
	})
	if err != nil {
		return false, fmt.Errorf("timer %q: %w", f.ID, err)
	}
	return ok && changed, nil
}
