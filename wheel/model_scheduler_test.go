package wheel_test

import "github.com/foliot-go/foliot/wheel"

// This is the part of model about entries that rest, about the room that dead words take, and about Soonest.

// soonest checks that Soonest lies between Next and the earliest tick, and is exact if it may look at as many words as
// a bucket can have.
func (m *model[V]) soonest(where string, next, earliest wheel.Tick, armed bool) {
	for _, limit := range []int{-1, 0, 50, 1 << 30} {
		at, ok := m.w.Soonest(limit)
		if ok != armed || ok && (at < next || at > earliest || limit == 1<<30 && at != earliest) {
			m.failf("after %s: Soonest(%d) is %d, %t; Next is %d, and the earliest entry at %d", where, limit, at, ok, next, earliest)
		}
	}
}

func (m *model[V]) reserve() {
	if m.ref.Len() >= m.lim.live || m.work >= m.lim.work {
		return
	}
	v := m.wrap(len(m.pairs), 0)
	m.add(pair{m.w.Reserve(v), m.ref.Reserve(v)})
	m.lookup(m.pairs[len(m.pairs)-1].real)
}

func (m *model[V]) park(h wheel.Handle) {
	if got, want := m.w.Park(h), m.ref.Park(m.byReal[h]); got != want {
		m.failf("Park(%#x) is %t, want %t", h, got, want)
	}
}

// What becomes of the entries that popSome gets is in the first two bits of c; the third says that Pop is told the
// same tick over and over instead of one that is past, the fourth that Peek comes before it, and the last four how many
// entries are taken at most.
const (
	popLeave = iota // parked
	popCancel
	popReschedule // at the tick that Pop was told: those of this very moment come again
	popInTurn     // each of these in turn
)

func (m *model[V]) popSome(o op) {
	to := m.when(o)
	now, then := to, to
	if o.c&4 == 0 {
		then = to / 2
	}
	for n := range 1 << (o.c >> 4) {
		if o.c&8 != 0 {
			m.peek(now)
		}
		h, ok := m.pop(now)
		if !ok || m.err != nil {
			return
		}
		now = then
		what := int(o.c & 3)
		if what == popInTurn {
			what = n % 3
		}
		switch what {
		case popCancel:
			m.cancel(h)
		case popReschedule:
			m.reschedule(h, to)
		}
		if m.work++; m.work >= m.lim.work {
			return
		}
		m.compare("Pop", n < 8 || n%1024 == 0)
	}
}

func (m *model[V]) peek(now wheel.Tick) {
	h, at, ok := m.w.Peek(now)
	if ref, wantAt, want := m.ref.Peek(now); m.byReal[h] != ref || at != wantAt || ok != want {
		m.failf("Peek(%d) is entry %d of %#x at %d, %t, want entry %d at %d, %t", now, m.byReal[h], h, at, ok, ref, wantAt, want)
	}
}

// pop pops one entry from both and checks that it is parked.
func (m *model[V]) pop(now wheel.Tick) (wheel.Handle, bool) {
	h, at, ok := m.w.Pop(now)
	if ref, wantAt, want := m.ref.Pop(now); m.byReal[h] != ref || at != wantAt || ok != want {
		m.failf("Pop(%d) is entry %d of %#x at %d, %t, want entry %d at %d, %t", now, m.byReal[h], h, at, ok, ref, wantAt, want)
	}
	if ok {
		m.lookup(h)
	}
	return h, ok
}

// value reads the payload of an entry by Value, writes another, and finds it by Lookup.
func (m *model[V]) value(h wheel.Handle) {
	p := m.w.Value(h)
	ref := m.byReal[h]
	e, ok := m.ref.live[ref]
	switch {
	case ok != (p != nil):
		m.failf("Value(%#x) is %v, but that there is such an entry is %t", h, p, ok)
	case ok && any(*p) != any(e.v):
		m.failf("Value(%#x) points to %v, want %v", h, *p, e.v)
	case ok:
		m.writes++
		*p = m.wrap(m.index(e.v), m.writes)
		m.ref.Write(ref, *p)
		m.lookup(h)
	}
}

// compact checks that Compact does away with as many dead words as it says. That it changes nothing else is seen by
// what the program does next.
func (m *model[V]) compact(n int) {
	before := m.w.Stale()
	next, ok := m.w.Next()
	removed := m.w.Compact(n)
	if after := m.w.Stale(); removed < 0 || n <= 0 && removed > 0 || after != before-removed {
		m.failf("Compact(%d) is %d, and Stale went from %d to %d", n, removed, before, after)
	}
	if got, still := m.w.Next(); got != next || still != ok {
		m.failf("Compact(%d): Next went from %d, %t to %d, %t", n, next, ok, got, still)
	}
}
