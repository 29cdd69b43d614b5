package wheel_test

import (
	"cmp"
	"iter"
	"slices"

	"github.com/foliot-go/foliot/wheel"
)

// reference is the contract of a wheel in its plainest form: a map of what is armed, sorted when time moves.
// The model tests compare every answer of a real wheel with it.
type reference[V any] struct {
	now    wheel.Tick
	issued wheel.Handle // handles are 1, 2, 3, …
	seq    uint64       // armings so far: Schedule and Reschedule
	live   map[wheel.Handle]refEntry[V]
}

type refEntry[V any] struct {
	h   wheel.Handle
	at  wheel.Tick
	seq uint64
	v   V
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

func (r *reference[V]) Lookup(h wheel.Handle) (wheel.Tick, V, bool) {
	e, ok := r.live[h]
	return e.at, e.v, ok
}

// Advance decides at its start what it may yield: what its body arms is not among it.
func (r *reference[V]) Advance(now wheel.Tick) iter.Seq2[wheel.Tick, V] {
	return func(yield func(wheel.Tick, V) bool) {
		r.now = max(r.now, now)
		for _, due := range r.due() {
			e, ok := r.live[due.h]
			if !ok || e.seq != due.seq {
				continue // the body cancelled it or armed it anew
			}
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
		if e.at <= r.now {
			due = append(due, e)
		}
	}
	slices.SortFunc(due, func(a, b refEntry[V]) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
	return due
}

// earliest is the tick that Next must not exceed.
func (r *reference[V]) earliest() (at wheel.Tick, ok bool) {
	for _, e := range r.live {
		if !ok || e.at < at {
			at, ok = e.at, true
		}
	}
	return at, ok
}

func (r *reference[V]) Now() wheel.Tick { return r.now }

func (r *reference[V]) Len() int { return len(r.live) }
