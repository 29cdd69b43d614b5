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

// A decision decides what becomes of the message of an ID. It returns false if nothing changes. It must not
// keep what it is given.
type decision func(x *next) (changes bool, err error)

// decide decides about one ID until the stream has taken the change, and returns its sequence, or until it is
// sure that nothing changes.
//
// A result that nothing changes, and an error of the decision, come from the index, and the index may be
// behind. So they count only if they were checked since the call began.
func (p *part) decide(ctx context.Context, id string, d decision) (seq uint64, changed bool, err error) {
	var fresh *view // what check has returned
	for sure := false; ; {
		x := &next{id: id, old: p.view(id)}
		if fresh != nil {
			x.old = *fresh
		}
		changes, refused := p.prepare(ctx, x, d)
		moved := errors.Is(refused, errMoved)
		if !changes && sure && !moved {
			return 0, false, refused
		}
		if !changes {
			if fresh, err = p.check(ctx, id); err != nil {
				return 0, false, err
			}
			sure = true
			continue
		}
		fresh = nil
		seq, err := p.begin(x).wait(ctx)
		if err == nil {
			return seq, true, nil
		}
		if !isConflict(err) {
			return 0, false, err
		}
		if err := p.lost(ctx, x, err); err != nil {
			return 0, false, err
		}
		sure = false
	}
}

// isConflict reports whether a change has not happened because the stream has another message.
func isConflict(err error) bool {
	_, ok := conflict(err)
	return ok && !errors.Is(err, errUnknown)
}

// prepare makes the message that replaces the one of a view. It gets the payloads from the stream if they
// are needed.
func (p *part) prepare(ctx context.Context, x *next, d decision) (changes bool, err error) {
	x.message = message{record: x.old.record, owner: x.old.owner, hasDead: x.old.hasDead}
	if x.old.hasDead {
		if err := p.carry(ctx, x); err != nil {
			return false, err
		}
	}
	return d(x)
}

// carry reads the payloads and the dead occurrence that the next message must have, too.
func (p *part) carry(ctx context.Context, x *next) error {
	m, err := p.beginGet(x.old.seq).wait(ctx)
	if err != nil {
		return err
	}
	return x.take(p, m.Header.Get(recordHeader), m.Data)
}

// take takes the payloads and the dead occurrence out of a message of the stream.
func (x *next) take(p *part, header string, body []byte) error {
	stored, err := decodeMessage(x.id, header, p.base+x.old.seq)
	if err == nil {
		x.payload, x.dead, err = stored.split(body)
	}
	if err != nil {
		return fmt.Errorf("timer %q: %w", x.id, err)
	}
	x.message.dead = stored.dead
	return nil
}

// failedCall returns the error of a call that the stream has not decided, or has refused.
func failedCall(what, id string, err error) error {
	switch {
	case err == nil, errors.Is(err, durable.ErrExists), errors.Is(err, durable.ErrRev), errors.Is(err, durable.ErrClosed):
		return err
	case hasCode(err, codeFull, 10023, 10047, 10002), errors.Is(err, errFull):
		return fmt.Errorf("durable: %s of %q: the stream is full; make it larger, or wait until timers have fired: %w", what, id, err)
	}
	return fmt.Errorf("durable: %s of %q: %w", what, id, err)
}

// Schedule implements [durable.Store]. Up to batchMax timers that are in the same partition are armed
// together, all or none.
func (s *Store) Schedule(ctx context.Context, ts []durable.Timer, c durable.Condition) ([]uint64, error) {
	if err := s.failure(); err != nil {
		return nil, err
	}
	ctx, cancel := bound(ctx, callBound)
	defer cancel()
	if len(ts) == 1 {
		t := &ts[0]
		p := s.part(t.ID)
		if err := p.room.take(ctx, t); err != nil {
			return nil, failedCall("Schedule", t.ID, err)
		}
		seq, _, err := p.decide(ctx, t.ID, arms(t, c))
		return []uint64{p.base + seq}, failedCall("Schedule", t.ID, err)
	}
	return s.scheduleMany(ctx, ts, c)
}

// arms returns the decision to arm a timer.
func arms(t *durable.Timer, c durable.Condition) decision {
	return func(x *next) (bool, error) {
		m := &x.message
		if err := m.record.Check(t.ID, c); err != nil {
			return false, err
		}
		m.record.Arm(t, 0)
		m.owner = instance{}
		x.payload = t.Payload
		return true, nil
	}
}

// batchMax is the number of timers that are armed together. The server takes no more in a batch.
const batchMax = 1000

// scheduleMany arms timers in batches.
func (s *Store) scheduleMany(ctx context.Context, ts []durable.Timer, c durable.Condition) ([]uint64, error) {
	last := make(map[string]int, len(ts)) // by ID: the index of the timer that wins
	for i := range ts {
		last[ts[i].ID] = i
	}
	byPart := make([][]int, len(s.parts))
	for i := range ts {
		if last[ts[i].ID] == i {
			n := partOf(ts[i].ID, len(s.parts))
			byPart[n] = append(byPart[n], i)
		}
	}
	revs := make([]uint64, len(ts))
	armed := 0
	for n, all := range byPart {
		for len(all) > 0 {
			some := all[:min(len(all), batchMax)]
			all = all[len(some):]
			if err := s.parts[n].scheduleBatch(ctx, ts, some, c, revs); err != nil {
				err = failedCall("ScheduleBatch", ts[some[0]].ID, err)
				if armed > 0 {
					err = fmt.Errorf("%w; %d other timers of the call are armed", err, armed)
				}
				return nil, err
			}
			armed += len(some)
		}
	}
	for i := range ts {
		revs[i] = revs[last[ts[i].ID]] // one that was replaced at once has the revision of the one that replaced it
	}
	return revs, nil
}

// scheduleBatch arms some timers, all or none.
func (p *part) scheduleBatch(ctx context.Context, ts []durable.Timer, some []int, c durable.Condition, revs []uint64) error {
	for _, i := range some {
		if err := p.room.take(ctx, &ts[i]); err != nil {
			return err
		}
	}
	checked := make(map[string]*view) // by ID: what check has returned
	for {
		xs := make([]*next, 0, len(some))
		var refused error
		var id string // that is refused
		for _, i := range some {
			id = ts[i].ID
			x := &next{id: id, old: p.view(id)}
			if fresh := checked[id]; fresh != nil {
				x.old = *fresh
			}
			if _, refused = p.prepare(ctx, x, arms(&ts[i], c)); refused != nil {
				break
			}
			xs = append(xs, x)
		}
		if refused != nil {
			if _, sure := checked[id]; sure && !errors.Is(refused, errMoved) {
				return refused
			}
			fresh, err := p.check(ctx, id)
			if err != nil {
				return err
			}
			checked[id] = fresh
			continue
		}
		clear(checked)
		seq, err := p.begin(xs...).wait(ctx)
		if err == nil {
			for k, i := range some {
				revs[i] = p.base + seq - uint64(len(some)-1-k)
			}
			return nil
		}
		if !isConflict(err) {
			return err
		}
		// It is not known which of them has changed.
		p.s.conflicts.Add(1)
		if err := p.verify(ctx, xs); err != nil {
			return err
		}
	}
}

// verify mends what the index knows of some IDs after a conflict of a batch: outcomes that it has forgotten,
// or that have expired.
func (p *part) verify(ctx context.Context, xs []*next) error {
	if err := p.barriers.wait(ctx); err != nil {
		return err
	}
	for _, x := range xs {
		if v := p.view(x.id); v.seq != x.old.seq || v.record.State != moves.None || v.hasDead {
			continue
		}
		// A message that changes nothing and that the stream refuses says which one it has.
		t := &try{p: p, c: p.s.pub.begin(), x: []*next{x}}
		probe := *x
		probe.old.seq = 1<<63 - 1
		t.msgs = append(t.msgs, p.msg(0, &probe))
		t.send()
		_, err := t.wait(ctx)
		n, ok := conflict(err)
		if !ok {
			return err
		}
		p.mu.Lock()
		if v := p.index.view(x.id); v.seq == x.old.seq && n != v.seq {
			p.index.drop(x.id, v.seq)
			if n != 0 && n <= p.index.consumed {
				p.index.remember(x.id, n)
			}
		}
		p.mu.Unlock()
	}
	return nil
}

// Cancel implements [durable.Store].
func (s *Store) Cancel(ctx context.Context, id string, c durable.Condition) (bool, error) {
	if err := s.failure(); err != nil {
		return false, err
	}
	ctx, cancel := bound(ctx, callBound)
	defer cancel()
	_, ok, err := s.part(id).decide(ctx, id, func(x *next) (bool, error) {
		return x.message.record.Cancel(id, c)
	})
	return ok, failedCall("Cancel", id, err)
}

// Redrive implements [durable.Store].
func (s *Store) Redrive(ctx context.Context, id string, at time.Time) (bool, error) {
	if err := s.failure(); err != nil {
		return false, err
	}
	ctx, cancel := bound(ctx, callBound)
	defer cancel()
	_, ok, err := s.part(id).decide(ctx, id, func(x *next) (bool, error) {
		m := &x.message
		if !m.hasDead {
			return false, nil
		}
		if err := m.record.Check(id, durable.Condition{Absent: true}); err != nil {
			return false, err
		}
		t := m.dead.Fire.Timer
		t.At, t.Every, t.Payload = at, 0, x.dead
		m.record.Arm(&t, 0)
		x.payload, x.dead, m.hasDead = bytes.Clone(x.dead), nil, false
		return true, nil
	})
	return ok, failedCall("Redrive", id, err)
}

// Discard implements [durable.Store].
func (s *Store) Discard(ctx context.Context, id string) (bool, error) {
	if err := s.failure(); err != nil {
		return false, err
	}
	ctx, cancel := bound(ctx, callBound)
	defer cancel()
	_, ok, err := s.part(id).decide(ctx, id, func(x *next) (bool, error) {
		if !x.message.hasDead {
			return false, nil
		}
		x.dead, x.message.hasDead = nil, false
		return true, nil
	})
	return ok, failedCall("Discard", id, err)
}
