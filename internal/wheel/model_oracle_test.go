package wheel_test

import (
	"cmp"
	"iter"
	"slices"

	"github.com/foliot-go/foliot/internal/wheel"
)

// An oracle is a wheel in its simplest form: a map of entries, which is sorted to find the due
// entries. The model tests compare every result of a real wheel with it.
type oracle[V any] struct {
	now    wheel.Tick
	issued wheel.Handle // the last handle; handles are 1, 2, 3, …
	seq    uint64       // how often an entry was armed, by Schedule or Reschedule
	live   map[wheel.Handle]oracleEntry[V]

	// dueCache has the entries that were due, in order, when Peek last sorted them, at the tick
	// dueAt. Entries that were armed for that tick later come after them. So Peek need not sort
	// again before it has used them up.
	dueCache []oracleEntry[V]
	dueAt    wheel.Tick
}

type oracleEntry[V any] struct {
	h      wheel.Handle
	at     wheel.Tick // Never if parked
	seq    uint64     // the oracle's seq when the entry was armed
	parked bool
	v      V
}

func newOracle[V any](now wheel.Tick) *oracle[V] {
	return &oracle[V]{now: now, live: make(map[wheel.Handle]oracleEntry[V])}
}

func (o *oracle[V]) arm(h wheel.Handle, at wheel.Tick, v V) {
	o.seq++
	o.live[h] = oracleEntry[V]{h: h, at: max(at, o.now), seq: o.seq, v: v}
}

func (o *oracle[V]) Schedule(at wheel.Tick, v V) wheel.Handle {
	o.issued++
	o.arm(o.issued, at, v)
	return o.issued
}

func (o *oracle[V]) Reschedule(h wheel.Handle, at wheel.Tick) bool {
	e, ok := o.live[h]
	if ok {
		o.arm(h, at, e.v)
	}
	return ok
}

func (o *oracle[V]) Cancel(h wheel.Handle) (V, bool) {
	e, ok := o.live[h]
	delete(o.live, h)
	return e.v, ok
}

func (o *oracle[V]) Reserve(v V) wheel.Handle {
	h := o.Schedule(wheel.Never, v)
	o.Park(h)
	return h
}

func (o *oracle[V]) Park(h wheel.Handle) bool {
	e, ok := o.live[h]
	if !ok || e.parked {
		return false
	}
	e.at, e.parked = wheel.Never, true
	o.live[h] = e
	return true
}

func (o *oracle[V]) Pop(now wheel.Tick) (h wheel.Handle, at wheel.Tick, ok bool) {
	h, at, ok = o.Peek(now)
	o.Park(h)
	return h, at, ok
}

func (o *oracle[V]) Peek(now wheel.Tick) (h wheel.Handle, at wheel.Tick, ok bool) {
	o.now = max(o.now, now)
	for again := o.dueAt == o.now; ; again = false {
		if !again {
			o.dueCache, o.dueAt = o.due(), o.now
		}
		for ; len(o.dueCache) > 0; o.dueCache = o.dueCache[1:] {
			if e := o.dueCache[0]; o.stillDue(e) {
				return e.h, e.at, true
			}
		}
		if !again {
			return 0, 0, false
		}
	}
}

// stillDue reports whether an entry that was due has not been changed since.
func (o *oracle[V]) stillDue(due oracleEntry[V]) bool {
	e, ok := o.live[due.h]
	return ok && e.seq == due.seq && !e.parked
}

// Write sets the value of an entry, like a write through the pointer that Value returns.
func (o *oracle[V]) Write(h wheel.Handle, v V) {
	e := o.live[h]
	e.v = v
	o.live[h] = e
}

func (o *oracle[V]) Lookup(h wheel.Handle) (wheel.Tick, V, bool) {
	e, ok := o.live[h]
	return e.at, e.v, ok
}

// Advance determines at the start which entries it may yield. Entries that the body arms are not
// among them.
func (o *oracle[V]) Advance(now wheel.Tick) iter.Seq2[wheel.Tick, V] {
	return func(yield func(wheel.Tick, V) bool) {
		o.now = max(o.now, now)
		for _, due := range o.due() {
			if !o.stillDue(due) {
				continue // the body has cancelled it, parked it or armed it again
			}
			e := o.live[due.h] // with its current value
			delete(o.live, e.h)
			if !yield(e.at, e.v) {
				return
			}
		}
	}
}

// due returns the entries that are due, in order.
func (o *oracle[V]) due() []oracleEntry[V] {
	var due []oracleEntry[V]
	for _, e := range o.live {
		if e.at <= o.now && !e.parked {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b oracleEntry[V]) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
	return due
}

// Rewind also forgets dueCache: entries that are armed now may come before those in it.
func (o *oracle[V]) Rewind(now wheel.Tick) {
	o.now = min(o.now, now)
	o.dueCache = nil
}

// earliest returns the tick of the earliest armed entry, and false if nothing is armed.
func (o *oracle[V]) earliest() (at wheel.Tick, ok bool) {
	for _, e := range o.live {
		if !e.parked && (!ok || e.at < at) {
			at, ok = e.at, true
		}
	}
	return at, ok
}

func (o *oracle[V]) Now() wheel.Tick { return o.now }

func (o *oracle[V]) Len() int { return len(o.live) }
