package kvstore

import (
	"bytes"
	"fmt"

	"github.com/foliot-go/foliot/durable"
)

// An operation decides about some timers. From begin to commit it holds the locks of their stripes.
type operation struct {
	s       *Store
	locked  []*stripe
	batch   Batch
	changes []change
	wakes   []durable.Wake // what the watcher is told
	gone    []string

	// The first elements of the slices, so that an operation on one timer is one allocation.
	one struct {
		locked [1]*stripe
		ops    [4]Op
		change [1]change
		wake   [1]durable.Wake
	}
}

// A change is the new record of a timer.
type change struct {
	id     string
	record record
}

// begin locks the stripes of some IDs, in the order of their numbers.
func (s *Store) begin(ids ...string) *operation {
	op := &operation{s: s}
	op.batch.Ops, op.changes, op.wakes = op.one.ops[:0], op.one.change[:0], op.one.wake[:0]
	if len(ids) == 1 {
		op.locked = append(op.one.locked[:0], s.stripe(ids[0]))
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

// unlock ends an operation that has decided nothing.
func (op *operation) unlock() {
	for _, st := range op.locked {
		st.Unlock()
	}
}

// commit ends an operation. wait returns nil when its changes are kept. If there are none, it returns
// nil when everything is kept that the operation may have read.
func (op *operation) commit() (wait func() error) {
	defer op.unlock()
	s := op.s
	if len(op.batch.Ops) == 0 {
		op.tell()
		var last []*group
		for _, st := range op.locked {
			if st.last != nil && !st.last.isDone() {
				last = append(last, st.last)
			}
		}
		return func() error {
			for _, g := range last {
				if err := s.wait(g); err != nil {
					return err
				}
			}
			return s.failure()
		}
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
	return func() error { return s.wait(g) }
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
func (op *operation) wake(id string, r *record) {
	if at, ok := r.wakeAt(); ok {
		op.wakes = append(op.wakes, durable.Wake{ID: id, At: at})
	}
}

// read returns the record of a timer. Its state is none if there is none.
func (op *operation) read(id string) (record, error) {
	s := op.s
	if c, ok := s.stripe(id).cache[id]; ok {
		return s.unpack(c), nil
	}
	if s.complete.Load() {
		return record{}, nil
	}
	b, err := s.engine.Get(key(recordPrefix, id))
	if err != nil || b == nil {
		return record{}, s.fail(err)
	}
	r, _, err := decodeRecord(b)
	if err != nil {
		return r, s.fail(fmt.Errorf("timer %q: %w", id, err))
	}
	return r, nil
}

// payload returns the payload of a timer. If the timer was scheduled just now, it waits until the engine
// has it.
func (op *operation) payload(id string, r *record) ([]byte, error) {
	if r.payload == 0 {
		return nil, nil
	}
	s := op.s
	if err := s.wait(s.stripe(id).unkept[id]); err != nil {
		return nil, err
	}
	prefix := byte(payloadPrefix)
	if r.isInline() {
		prefix = recordPrefix
	}
	b, err := s.engine.Get(key(prefix, id))
	if err == nil && r.isInline() {
		_, b, err = decodeRecord(b)
	}
	if err == nil && len(b) != int(r.payload) {
		err = fmt.Errorf("the payload has %d bytes, and the record says %d", len(b), r.payload)
	}
	if err != nil {
		return nil, s.fail(fmt.Errorf("timer %q: %w", id, err))
	}
	return b, nil
}

// write changes the record of a timer from old to r. payload is the payload of r. It is not written again
// if it has its own key and isNew is false.
func (op *operation) write(id string, old, r *record, payload []byte, isNew bool) {
	b := &op.batch
	b.grow(4*(len(id)+9) + 64 + len(r.kind) + len(payload))
	op.changes = append(op.changes, change{id, *r})
	if old.state != none && (r.state == none || r.at != old.at) {
		b.delete(b.dueKey(old.at, id))
	}
	if old.state != none && !old.isInline() && (r.state == none || r.isInline()) {
		b.delete(b.key(payloadPrefix, id))
	}
	if old.state.hasBoth() && !r.state.hasBoth() {
		b.delete(b.key(bothPrefix, id))
	}
	if r.state == none {
		b.delete(b.key(recordPrefix, id))
		op.s.pending.Add(-1)
		return
	}
	b.set(b.key(recordPrefix, id), b.bytes(r.encode(b.space(), payload)))
	if old.state == none || r.at != old.at {
		b.set(b.dueKey(r.at, id), nil)
	}
	if isNew && !r.isInline() {
		b.set(b.key(payloadPrefix, id), bytes.Clone(payload))
	}
	if r.state.hasBoth() && !old.state.hasBoth() {
		b.set(b.key(bothPrefix, id), nil)
	}
	if old.state == none {
		op.s.pending.Add(1)
	}
}
