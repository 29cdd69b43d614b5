package kvstore

import (
	"context"
	"fmt"
	"iter"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// Dead timers are not in the cache. An operation on one reads it from the engine, after the last change
// of its stripe is kept.

// dead returns the dead timer with an ID.
func (op *operation) dead(id string) (d moves.DeadRecord, ok bool, err error) {
	s := op.s
	if err := s.wait(s.stripe(id).last); err != nil {
		return d, false, err
	}
	v, err := s.engine.Get(key(deadPrefix, id))
	if err != nil || v == nil {
		return d, false, s.fail(err)
	}
	if d, err = moves.DecodeDead(id, v); err != nil {
		return d, false, s.fail(fmt.Errorf("dead timer %q: %w", id, err))
	}
	return d, true, nil
}

// bury makes an occurrence dead.
func (op *operation) bury(f durable.Fire) error {
	_, ok, err := op.dead(f.ID)
	if err != nil {
		return err
	}
	if !ok {
		op.s.dead.Add(1)
	}
	d := moves.DeadRecord{Fire: f}
	op.batch.set(key(deadPrefix, f.ID), d.Append(nil))
	return nil
}

// unbury removes a dead timer.
func (op *operation) unbury(id string) {
	op.batch.delete(key(deadPrefix, id))
	op.s.dead.Add(-1)
}

// Dead implements [durable.Store].
func (s *Store) Dead(ctx context.Context) iter.Seq2[durable.Fire, error] {
	return func(yield func(durable.Fire, error) bool) {
		from, to := []byte{deadPrefix}, after(deadPrefix)
		for from != nil {
			ids, next, err := s.ids(ctx, from, to)
			if err != nil {
				yield(durable.Fire{}, err)
				return
			}
			from = next
			for _, l := range ids {
				f, ok, err := s.deadOf(l.id)
				if err != nil {
					yield(f, err)
					return
				}
				if ok && !yield(f, nil) {
					return
				}
			}
		}
	}
}

// deadOf returns the dead timer with an ID.
func (s *Store) deadOf(id string) (f durable.Fire, ok bool, err error) {
	if err := s.enter(); err != nil {
		return f, false, err
	}
	defer s.leave()
	op := s.begin(id)
	d, ok, err := op.dead(id)
	if failed := op.commit().wait(); failed != nil {
		return f, false, failed
	}
	return d.Fire, ok, err
}
