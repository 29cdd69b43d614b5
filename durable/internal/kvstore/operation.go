package kvstore

import (
	"fmt"
	"sync"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// An operation decides about some timers. From begin to commit it holds the locks of their stripes.
type operation struct {
	s       *Store
	locked  []*stripe
	batch   Batch
	changes []change
	wakes   []durable.Wake // what the watcher is told
	gone    []string
}

// operations has operations that are not used, with their memory.
var operations = sync.Pool{New: func() any { return new(operation) }}

// end unlocks the stripes. The operation must not be used afterwards.
func (op *operation) end() {
	for _, st := range op.locked {
		st.Unlock()
	}
	op.batch.reset()
	clear(op.locked)
	clear(op.changes)
	clear(op.wakes)
	clear(op.gone)
	op.locked, op.changes, op.wakes, op.gone = op.locked[:0], op.changes[:0], op.wakes[:0], op.gone[:0]
	if cap(op.changes) <= 64 {
		operations.Put(op)
	}
}

// A change is the new record of a timer.
type change struct {
	id     string
	record moves.Record
}

// begin locks the stripes of some IDs, in the order of their numbers.
func (s *Store) begin(ids ...string) *operation {
	op := operations.Get().(*operation)
	op.s = s
	if len(ids) == 1 {
		op.locked = append(op.locked, s.stripe(ids[0]))
		op.locked[0].Lock()
		return op
	}
	var wanted [stripeCount]bool
	for _, id := range ids {
		wanted[s.stripeOf(id)] = true
	}
	for n := range wanted {
		if wanted[n] {
			s.stripes[n].Lock()
			op.locked = append(op.locked, &s.stripes[n])
		}
	}
	return op
}

// commit ends an operation. The result says when its changes are kept. If there are none, it says when
// everything is kept that the operation may have read.
func (op *operation) commit() kept {
	defer op.end()
	s := op.s
	if len(op.batch.Ops) == 0 {
		op.tell()
		return op.hasRead()
	}
	g := s.join(op.batch.Ops)
	for _, st := range op.locked {
		st.last = g
	}
	for i := range op.changes {
		c := &op.changes[i]
		s.remember(s.stripe(c.id), c.id, &c.record, g)
	}
	op.tell()
	return kept{s: s, group: g}
}

// hasRead says when everything is kept that the operation may have read.
func (op *operation) hasRead() kept {
	k := kept{s: op.s}
	for _, st := range op.locked {
		if st.last == nil || st.last.isDone() {
			continue
		}
		if k.group == nil {
			k.group = st.last
		} else {
			k.others = append(k.others, st.last)
		}
	}
	return k
}

// kept says when groups are kept.
type kept struct {
	s      *Store
	group  *group
	others []*group
}

// wait returns nil when the groups are kept.
func (k kept) wait() error {
	err := k.s.wait(k.group)
	for _, g := range k.others {
		if err == nil {
			err = k.s.wait(g)
		}
	}
	if err == nil {
		err = k.s.failure()
	}
	return err
}

// tell tells the watcher what the operation has decided.
func (op *operation) tell() {
	for _, w := range op.wakes {
		op.s.tell(func(watcher durable.Watcher) { watcher.Wake(w) })
	}
	for _, id := range op.gone {
		op.s.tell(func(watcher durable.Watcher) { watcher.Gone(id) })
	}
}

// wake tells the watcher when to look at a timer, if it must.
func (op *operation) wake(id string, r *moves.Record) {
	if at, ok := r.WakeAt(); ok {
		op.wakes = append(op.wakes, durable.Wake{ID: id, At: at})
	}
}

// read returns the record of a timer. Its state is none if there is none.
func (op *operation) read(id string) (moves.Record, error) {
	s := op.s
	if c, ok := s.stripe(id).cache[id]; ok {
		return s.unpack(c), nil
	}
	if s.complete.Load() {
		return moves.Record{}, nil
	}
	b, err := s.engine.Get(key(recordPrefix, id))
	if err != nil || b == nil {
		return moves.Record{}, s.fail(err)
	}
	r, _, err := decodeRecord(b)
	if err != nil {
		return r, s.fail(fmt.Errorf("timer %q: %w", id, err))
	}
	return r, nil
}

// payload returns the payload of a timer. If the timer was scheduled just now, it waits until the engine
// has it.
func (op *operation) payload(id string, r *moves.Record) ([]byte, error) {
	if r.Payload == 0 {
		return nil, nil
	}
	s := op.s
	if err := s.wait(s.stripe(id).unkept[id]); err != nil {
		return nil, err
	}
	prefix := byte(payloadPrefix)
	if isInline(r) {
		prefix = recordPrefix
	}
	b, err := s.engine.Get(key(prefix, id))
	if err == nil && isInline(r) {
		_, b, err = decodeRecord(b)
	}
	if err == nil && len(b) != int(r.Payload) {
		err = fmt.Errorf("the payload has %d bytes, and the record says %d", len(b), r.Payload)
	}
	if err != nil {
		return nil, s.fail(fmt.Errorf("timer %q: %w", id, err))
	}
	return b, nil
}

// write changes the record of a timer from old to r. payload is the payload of r. It is not written again
// if it has its own key and isNew is false.
func (op *operation) write(id string, old, r *moves.Record, payload []byte, isNew bool) {
	b := &op.batch
	op.changes = append(op.changes, change{id, *r})
	if old.State != moves.None && (r.State == moves.None || r.At != old.At) {
		b.delete(b.timeKey(duePrefix, old.At, id))
	}
	if old.State != moves.None && !isInline(old) && (r.State == moves.None || isInline(r)) {
		b.delete(b.key(payloadPrefix, id))
	}
	if old.State == moves.ArmedHandling && r.State != moves.ArmedHandling {
		b.delete(b.key(bothPrefix, id))
	}
	sameRetry := old.State.IsRetrying() && r.State.IsRetrying() && old.Occurrence.RetryAt == r.Occurrence.RetryAt
	if old.State.IsRetrying() && !sameRetry {
		b.delete(b.timeKey(retryPrefix, old.Occurrence.RetryAt, id))
	}
	if r.State == moves.None {
		b.delete(b.key(recordPrefix, id))
		op.s.pending.Add(-1)
		return
	}
	b.set(b.key(recordPrefix, id), b.record(r, payload))
	if old.State == moves.None || r.At != old.At {
		b.set(b.timeKey(duePrefix, r.At, id), nil)
	}
	if isNew && !isInline(r) {
		b.set(b.key(payloadPrefix, id), payload)
	}
	if r.State == moves.ArmedHandling && old.State != moves.ArmedHandling {
		b.set(b.key(bothPrefix, id), nil)
	}
	if r.State.IsRetrying() && !sameRetry {
		b.set(b.timeKey(retryPrefix, r.Occurrence.RetryAt, id), nil)
	}
	if old.State == moves.None {
		op.s.pending.Add(1)
	}
}
