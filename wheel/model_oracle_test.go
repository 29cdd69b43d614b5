package wheel_test

import (
	"cmp"
	"iter"
	"slices"

	"github.com/foliot-go/foliot/wheel"
)

// reference is the contract of a wheel in its plainest form: a map of its entries, sorted when time moves.
// The model tests compare every answer of a real wheel with it.
type reference[V any] struct {
	now    wheel.Tick
	issued wheel.Handle // handles are 1, 2, 3, …
	seq    uint64       // armings so far: Schedule and Reschedule
	live   map[wheel.Handle]refEntry[V]

	// line is what was due when Peek last looked, at the tick lineAt. What is armed for that tick since then comes
	// behind it, so Peek need not sort again before it is used up.
	line   []refEntry[V]
	lineAt wheel.Tick
}

type refEntry[V any] struct {
	h      wheel.Handle
	at     wheel.Tick // Never if parked
	seq    uint64
	parked bool
	v      V
}

func newReference[V any](now wheel.Tick) *reference[V] {
	return &reference[V]{now: now, live: make(map[wheel.Handle]refEntry[V])}
}

func (r *reference[V]) arm(h wheel.Handle, at wheel.Tick, v V) {
	r.seq++
	r.live[h] = refEntry[V]{h: h, at: max(at, r.now), seq: r.seq, v: v}
}

func (r *reference[V]) Schedule(at wheel.Tick, v V) wheel.Handle {
	r.issued++
	r.arm(r.issued, at, v)
	return r.issued
}

func (r *reference[V]) Reschedule(h wheel.Handle, at wheel.Tick) bool {
	e, ok := r.live[h]
	if ok {
		r.arm(h, at, e.v)
	}
	return ok
}

func (r *reference[V]) Cancel(h wheel.Handle) (V, bool) {
	e, ok := r.live[h]
	delete(r.live, h)
	return e.v, ok
}

func (r *reference[V]) Reserve(v V) wheel.Handle {
	h := r.Schedule(wheel.Never, v)
	r.Park(h)
	return h
}

func (r *reference[V]) Park(h wheel.Handle) bool {
	e, ok := r.live[h]
	if !ok || e.parked {
		return false
	}
	e.at, e.parked = wheel.Never, true
	r.live[h] = e
	return true
}

func (r *reference[V]) Pop(now wheel.Tick) (h wheel.Handle, at wheel.Tick, ok bool) {
	h, at, ok = r.Peek(now)
	r.Park(h)
	return h, at, ok
}

func (r *reference[V]) Peek(now wheel.Tick) (h wheel.Handle, at wheel.Tick, ok bool) {
	r.now = max(r.now, now)
	for again := r.lineAt == r.now; ; again = false {
		if !again {
			r.line, r.lineAt = r.due(), r.now
		}
		for ; len(r.line) > 0; r.line = r.line[1:] {
			if e := r.line[0]; r.stillDue(e) {
				return e.h, e.at, true
			}
		}
		if !again {
			return 0, 0, false
		}
	}
}

// stillDue tells whether nothing has happened to an entry since it was found to be due.
func (r *reference[V]) stillDue(due refEntry[V]) bool {
	e, ok := r.live[due.h]
	return ok && e.seq == due.seq && !e.parked
}

// Write is what is done through the pointer that Value returns.
func (r *reference[V]) Write(h wheel.Handle, v V) {
	e := r.live[h]
	e.v = v
	r.live[h] = e
}

func (r *reference[V]) Lookup(h wheel.Handle) (wheel.Tick, V, bool) {
	e, ok := r.live[h]
	return e.at, e.v, ok
}

// Advance decides at its start what it may yield: what its body arms is not among it.
func (r *reference[V]) Advance(now wheel.Tick) iter.Seq2[wheel.Tick, V] {
	return func(yield func(wheel.Tick, V) bool) {
		r.now = max(r.now, now)
		for _, due := range r.due() {
			if !r.stillDue(due) {
				continue // the body cancelled it, parked it or armed it anew
			}
			e := r.live[due.h] // the payload is that of now
			delete(r.live, e.h)
			if !yield(e.at, e.v) {
				return
			}
		}
	}
}

func (r *reference[V]) due() []refEntry[V] {
	var due []refEntry[V]
	for _, e := range r.live {
		if e.at <= r.now && !e.parked {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b refEntry[V]) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
	return due
}

// earliest is the tick that Next must not exceed. There is none if nothing is armed.
func (r *reference[V]) earliest() (at wheel.Tick, ok bool) {
	for _, e := range r.live {
		if !e.parked && (!ok || e.at < at) {
			at, ok = e.at, true
		}
	}
	return at, ok
}

func (r *reference[V]) Now() wheel.Tick { return r.now }

func (r *reference[V]) Len() int { return len(r.live) }
