package kvstore

import (
	"context"
	"time"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// Schedule implements [durable.Store].
func (s *Store) Schedule(_ context.Context, ts []durable.Timer, c durable.Condition) ([]uint64, error) {
	if err := s.enterChange(); err != nil {
		return nil, err
	}
	defer s.leave()
	var one [1]string
	ids := one[:0]
	for i := range ts {
		ids = append(ids, ts[i].ID)
	}
	op := s.begin(ids...)
	revs, err := op.schedule(ts, c)
	if failed := op.commit().wait(); failed != nil {
		return nil, failed
	}
	s.outgrow()
	return revs, err
}

// schedule arms timers, or none if there is an error.
func (op *operation) schedule(ts []durable.Timer, c durable.Condition) ([]uint64, error) {
	var one [1]moves.Record
	olds := one[:0]
	for i := range ts {
		old, err := op.read(ts[i].ID)
		if err == nil {
			err = old.Check(ts[i].ID, c)
		}
		if err != nil {
			return nil, err
		}
		olds = append(olds, old)
	}
	var last map[string]int // by ID: the index of the timer that wins
	if len(ts) > 1 {
		last = make(map[string]int, len(ts))
		for i := range ts {
			last[ts[i].ID] = i
		}
	}
	revs := make([]uint64, len(ts))
	for i := range ts {
		revs[i] = op.s.nextRev(&op.batch)
		if last == nil || last[ts[i].ID] == i {
			op.arm(&ts[i], &olds[i], revs[i])
		}
	}
	return revs, nil
}

// arm arms a timer under a revision.
func (op *operation) arm(t *durable.Timer, old *moves.Record, rev uint64) {
	r := *old
	r.Arm(t, rev)
	op.write(t.ID, old, &r, t.Payload, true)
	op.wake(t.ID, &r)
}

// Cancel implements [durable.Store].
func (s *Store) Cancel(_ context.Context, id string, c durable.Condition) (bool, error) {
	if err := s.enterChange(); err != nil {
		return false, err
	}
	defer s.leave()
	op := s.begin(id)
	ok, err := op.cancel(id, c)
	if failed := op.commit().wait(); failed != nil {
		return false, failed
	}
	return ok, err
}

// cancel removes what is armed for an ID.
func (op *operation) cancel(id string, c durable.Condition) (bool, error) {
	old, err := op.read(id)
	if err != nil {
		return false, err
	}
	r := old
	if ok, err := r.Cancel(id, c); !ok {
		return false, err
	}
	op.write(id, &old, &r, nil, false)
	op.gone = append(op.gone, id)
	return true, nil
}

// Redrive implements [durable.Store].
func (s *Store) Redrive(_ context.Context, id string, at time.Time) (bool, error) {
	if err := s.enterChange(); err != nil {
		return false, err
	}
	defer s.leave()
	op := s.begin(id)
	ok, err := op.redrive(id, at)
	if failed := op.commit().wait(); failed != nil {
		return false, failed
	}
	return ok, err
}

// redrive arms a dead timer.
func (op *operation) redrive(id string, at time.Time) (bool, error) {
	d, ok, err := op.dead(id)
	if err != nil || !ok {
		return false, err
	}
	old, err := op.read(id)
	if err == nil {
		err = old.Check(id, durable.Condition{Absent: true})
	}
	if err != nil {
		return false, err
	}
	t := d.Fire.Timer
	t.At, t.Every = at, 0
	op.arm(&t, &old, op.s.nextRev(&op.batch))
	op.unbury(id)
	return true, nil
}

// Discard implements [durable.Store].
func (s *Store) Discard(_ context.Context, id string) (bool, error) {
	if err := s.enterChange(); err != nil {
		return false, err
	}
	defer s.leave()
	op := s.begin(id)
	_, ok, err := op.dead(id)
	if ok {
		op.unbury(id)
	}
	if failed := op.commit().wait(); failed != nil {
		return false, failed
	}
	return ok, err
}
