package wheel_test

import (
	"slices"

	"github.com/foliot-go/foliot/internal/wheel"
)

// This file has the operations for schedulers: parked entries, Value, CancelNumbered, Compact, Soonest,
// Spans and Rewind.

// compareSoonest checks that Soonest lies between Next and the earliest tick. With a limit that no
// bucket reaches it must be the earliest tick.
func (m *model[V]) compareSoonest(where string, next, earliest wheel.Tick, armed bool) {
	for _, limit := range []int{-1, 0, 50, 1 << 30} {
		at, ok := m.w.Soonest(limit)
		if ok != armed || ok && (at < next || at > earliest || limit == 1<<30 && at != earliest) {
			m.failf("after %s: Soonest(%d) is %d, %t; Next is %d, and the earliest entry at %d", where, limit, at, ok, next, earliest)
		}
	}
}

func (m *model[V]) reserve() {
	if m.oracle.Len() >= m.lim.live || m.work >= m.lim.work {
		return
	}
	v := m.makeValue(len(m.pairs), 0)
	m.add(handlePair{m.w.Reserve(v), m.oracle.Reserve(v)})
	m.lookup(m.pairs[len(m.pairs)-1].wheel)
}

func (m *model[V]) park(h wheel.Handle) {
	if got, want := m.w.Park(h), m.oracle.Park(m.oracleHandle[h]); got != want {
		m.failf("Park(%#x) is %t, want %t", h, got, want)
	}
}

// The argument c of opPop has four parts. Bits 0 and 1 say what popSome does with the entries it
// gets. Bit 2 says that every Pop gets the same tick; otherwise those after the first get one in
// the past. Bit 3 says that a Peek comes before each Pop. The other bits say how many entries are
// popped at most.
const (
	popKeep = iota // leave them parked
	popCancel
	popReschedule // arm them for the tick given to Pop, so that they are popped again
	popInTurn     // each of the three in turn
)

func (m *model[V]) popSome(o op) {
	to := m.when(o)
	now, rest := to, to
	if o.c&4 == 0 {
		rest = to / 2
	}
	for n := range 1 << (o.c >> 4) {
		if o.c&8 != 0 {
			m.peek(now)
		}
		h, ok := m.pop(now)
		if !ok || m.err != nil {
			return
		}
		now = rest
		action := int(o.c & 3)
		if action == popInTurn {
			action = n % 3
		}
		switch action {
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
	if oh, wantAt, want := m.oracle.Peek(now); m.oracleHandle[h] != oh || at != wantAt || ok != want {
		m.failf("Peek(%d) is entry %d of %#x at %d, %t, want entry %d at %d, %t", now, m.oracleHandle[h], h, at, ok, oh, wantAt, want)
	}
}

// pop pops one entry from the wheel and the oracle, and checks that it is then parked.
func (m *model[V]) pop(now wheel.Tick) (wheel.Handle, bool) {
	h, at, ok := m.w.Pop(now)
	if oh, wantAt, want := m.oracle.Pop(now); m.oracleHandle[h] != oh || at != wantAt || ok != want {
		m.failf("Pop(%d) is entry %d of %#x at %d, %t, want entry %d at %d, %t", now, m.oracleHandle[h], h, at, ok, oh, wantAt, want)
	}
	if ok {
		m.lookup(h)
	}
	return h, ok
}

// value reads the value of an entry through Value, writes another one, and reads it with Lookup.
func (m *model[V]) value(h wheel.Handle) {
	p := m.w.Value(h)
	oh := m.oracleHandle[h]
	e, ok := m.oracle.live[oh]
	switch {
	case ok != (p != nil):
		m.failf("Value(%#x) is %v, but the entry exists: %t", h, p, ok)
	case ok && any(*p) != any(e.v):
		m.failf("Value(%#x) points to %v, want %v", h, *p, e.v)
	case ok:
		m.writes++
		*p = m.makeValue(m.indexOf(e.v), m.writes)
		m.oracle.Write(oh, *p)
		m.lookup(h)
	}
}

// cancelNumbered cancels entries by their numbers: those of every few of the latest handles, which may
// be stale, the last number twice, and one number that no entry has.
func (m *model[V]) cancelNumbered(many, every int) {
	numbers := []uint32{1 << 31}
	gone := map[wheel.Handle]bool{}
	for i := len(m.pairs) - 1; i >= 0 && many > 0; i -= every {
		n := wheel.Number(m.pairs[i].wheel)
		numbers = append(numbers, n)
		if h, _, v := m.w.Numbered(n); v != nil {
			gone[h] = true
		}
		many--
	}
	numbers = append(numbers, numbers[len(numbers)-1])
	if got, want := m.w.CancelNumbered(numbers), len(gone); got != want {
		m.failf("CancelNumbered removes %d entries, want %d", got, want)
	}
	for h := range gone {
		m.oracle.Cancel(m.oracleHandle[h])
		m.lookup(h)
	}
}

func (m *model[V]) rewind(now wheel.Tick) {
	m.w.Rewind(now)
	m.oracle.Rewind(now)
}

// compact checks that Compact removes as many dead refs as it returns. The rest of the program
// shows that it changes nothing else.
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

// spans checks that the spans of the wheel have the entries of the oracle. In the body of Advance and
// Drain some may be missing: there spans only checks that Spans changes nothing.
func (m *model[V]) spans(at wheel.Tick, inBody bool) {
	spans := m.w.Spans(nil, at)
	if inBody {
		return
	}
	counts := make([]int, len(spans))
	for _, e := range m.oracle.live {
		if e.parked {
			continue
		}
		i, found := slices.BinarySearchFunc(spans, e.at, func(s wheel.Span, at wheel.Tick) int {
			switch {
			case s.Last < at:
				return -1
			case s.First > at:
				return 1
			}
			return 0
		})
		if !found {
			m.failf("the entry for tick %d is in no span of %v", e.at, spans)
			return
		}
		counts[i]++
	}
	for i, s := range spans {
		if s.Count != counts[i] || s.First <= at && at < s.Last {
			m.failf("Spans(%d) returns %v with %d entries, want %d", at, s, s.Count, counts[i])
		}
	}
}
