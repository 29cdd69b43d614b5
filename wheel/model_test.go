package wheel_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"

	"github.com/foliot-go/foliot/wheel"
)

// limits bound what one program may do.
type limits struct {
	live int // entries at one time
	many int // entries of one of the bulk operations
	work int // entries armed, fired and ranged over in all
}

// A model runs a program on a wheel and on the reference at once and compares every answer.
type model[V any] struct {
	w     *wheel.Wheel[V]
	ref   *reference[V]
	wrap  func(id, write int) V // a payload made of an entry's index in pairs; differs from one write to the next
	index func(v V) int
	lim   limits

	pairs  []pair                        // all entries ever, in the order of their Schedule
	byReal map[wheel.Handle]wheel.Handle // the wheel's handle of every entry ever to the reference's
	writes int                           // payloads written through Value
	work   int
	err    error // the first difference
}

// A pair is what the wheel and the reference call the same entry.
type pair struct{ real, ref wheel.Handle }

// errLeave is the panic of bodies that are to be left by one.
var errLeave = errors.New("leave the body")

var programStarts = [16]wheel.Tick{
	0, 0, 0, 0, 1, 63, 64, 4095, 1<<18 + 5, 1_000_000, 1<<32 - 3, 1 << 40, 1<<48 - 1, 1<<60 + 1, 1<<63 - 40, math.MaxUint64 - 300,
}

func runProgram[V any](p program, lim limits, wrap func(int, int) V, index func(V) int) error {
	m := &model[V]{wrap: wrap, index: index, lim: lim, byReal: make(map[wheel.Handle]wheel.Handle)}
	now := programStarts[p.start()%16]
	m.ref = newReference[V](now)
	if m.w = wheel.New[V](now, int(p.start()>>4)); p.start() == 0 {
		m.w = new(wheel.Wheel[V])
	}
	m.guard(func() { m.run(p.ops()) })
	return m.err
}

func (m *model[V]) run(ops []op) {
	for i := 0; i < len(ops) && m.work < m.lim.work; {
		o := ops[i]
		body := ops[i+1:][:min(o.bodyLen(), len(ops)-i-1)]
		i += 1 + len(body)
		m.do(o, body, false)
		m.compare(fmt.Sprintf("operation %d, %s", i-1-len(body), opNames[o.code]), true)
		if m.err == nil && (m.w.Len() < 500 || i%16 == 0) {
			m.err = invariants(m.w)
		}
		if m.err != nil {
			return
		}
	}
	for _, p := range m.pairs {
		m.lookup(p.real)
	}
	m.advance(math.MaxUint64, op{}, nil)
	m.compare("the last Advance", true)
	for _, p := range m.pairs { // what is left is parked
		m.cancel(p.real)
	}
	m.compare("the last Cancel", true)
	if m.err == nil {
		m.err = invariants(m.w)
	}
}

// failf keeps the first difference; the program stops there.
func (m *model[V]) failf(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// guard calls f; a panic other than errLeave is a difference.
func (m *model[V]) guard(f func()) {
	defer func() {
		if p := recover(); p != nil && p != any(errLeave) {
			m.failf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
}

// compare checks what must hold between any two operations. The reference takes long to find its earliest tick.
func (m *model[V]) compare(where string, next bool) {
	if got, want := m.w.Len(), m.ref.Len(); got != want {
		m.failf("after %s: Len is %d, want %d", where, got, want)
	}
	if got, want := m.w.Now(), m.ref.Now(); got != want {
		m.failf("after %s: Now is %d, want %d", where, got, want)
	}
	if !next {
		return
	}
	got, ok := m.w.Next()
	earliest, armed := m.ref.earliest()
	switch {
	case ok != armed:
		m.failf("after %s: Next says %t with %d entries", where, ok, m.ref.Len())
	case ok && got > earliest:
		m.failf("after %s: Next is %d, but an entry is due at %d", where, got, earliest)
	case ok && earliest <= m.ref.Now() && got > m.ref.Now():
		m.failf("after %s: Next is %d, but something is due at Now, %d", where, got, m.ref.Now())
	}
	m.soonest(where, got, earliest, armed)
	if stale := m.w.Stale(); stale < 0 || stale > 0 && !armed {
		m.failf("after %s: Stale is %d; entries armed: %t", where, stale, armed)
	}
}

// The kinds of ticks that operations name.
const (
	whenClose    = iota // up to 15 after Now
	whenNear            // up to 2^14 after Now
	whenFar             // b·2^a after Now
	whenBoundary        // next to a multiple of 2^a
	whenHuge            // the last 256 ticks of time
	whenPast            // b·2^a before Now
	whenSame            // next to the tick of an entry
	whenKinds
)

func (m *model[V]) when(o op) wheel.Tick {
	now, a, b := m.ref.Now(), wheel.Tick(o.a), wheel.Tick(o.b)
	switch o.kind % whenKinds {
	case whenClose:
		return later(now, b%16)
	case whenNear:
		return later(now, a%64<<8|b)
	case whenFar:
		return later(now, b<<(a%64))
	case whenBoundary:
		return (now>>(a%64)+1)<<(a%64) + b%3 - 1
	case whenHuge:
		return math.MaxUint64 - b
	case whenPast:
		return now - min(now, b<<(a%64))
	default:
		e, ok := m.ref.live[m.pick(o.b).ref]
		if !ok || e.parked {
			return now
		}
		return e.at + a%3 - 1
	}
}

func later(t, d wheel.Tick) wheel.Tick { return t + min(d, math.MaxUint64-t) }

// pick chooses an entry: a recent or any one, and the next live one from there unless c ends in 111.
func (m *model[V]) pick(c byte) pair {
	if len(m.pairs) == 0 {
		return pair{}
	}
	i := int(c) * len(m.pairs) / 256
	if c&1 == 1 {
		i = len(m.pairs) - 1 - int(c/2)%len(m.pairs)
	}
	for n := 0; c&7 != 7 && n < 64 && i+1 < len(m.pairs); n++ {
		if _, _, ok := m.ref.Lookup(m.pairs[i].ref); ok {
			break
		}
		i++
	}
	return m.pairs[i]
}

// do performs one operation on both sides.
func (m *model[V]) do(o op, body []op, inBody bool) {
	if inBody {
		switch o.code {
		case opAdvance, opAdvanceToNext, opDrain, opPop, opPeek:
			m.nested(o)
			return
		}
	}
	many := 1 + m.lim.many*int(o.c)/256
	if inBody {
		many = min(many, 40)
	}
	rng := rand.New(rand.NewPCG(uint64(o.a), uint64(o.b)))
	spread := func() wheel.Tick { return later(m.when(o), wheel.Tick(rng.Uint64()>>(63-o.a%64))) }
	every := 1 + int(o.b)%7
	switch o.code {
	case opSchedule:
		m.schedule(m.when(o))
	case opReschedule:
		m.reschedule(m.pick(o.c).real, m.when(o))
	case opCancel:
		m.cancel(m.pick(o.c).real)
	case opLookup:
		m.lookup(m.pick(o.c).real)
	case opForge:
		m.forge(o)
	case opAdvance:
		m.advance(m.when(o), o, body)
	case opAdvanceToNext:
		for range 1 + o.c%4 {
			m.advanceToNext()
		}
	case opDrain:
		m.drain(o, body)
	case opAll:
		m.all(o)
	case opUnranged:
		m.w.Advance(m.when(o))
		m.w.Drain()
		m.w.All()
	case opScheduleMany:
		for range many {
			m.schedule(spread())
		}
	case opScheduleManyOnOneTick:
		at := m.when(o)
		for range many {
			m.schedule(at)
		}
	case opRescheduleMany:
		for i := len(m.pairs) - 1; i >= 0 && many > 0; i -= every {
			m.reschedule(m.pairs[i].real, spread())
			many--
		}
	case opCancelMany:
		for i := len(m.pairs) - 1; i >= 0 && many > 0; i -= every {
			m.cancel(m.pairs[i].real)
			many--
		}
	case opTrim:
		m.w.Trim(int(o.c)) // gives memory back, and changes nothing that can be seen here
	case opPark:
		m.park(m.pick(o.c).real)
	case opParkMany:
		for i := len(m.pairs) - 1; i >= 0 && many > 0; i -= every {
			m.park(m.pairs[i].real)
			many--
		}
	case opPop:
		m.popSome(o)
	case opPeek:
		m.peek(m.when(o))
	case opValue:
		m.value(m.pick(o.c).real)
	case opCompact:
		m.compact(int(o.b)<<8 | int(o.c) - 8)
	case opReserve:
		m.reserve()
	}
}

func (m *model[V]) schedule(at wheel.Tick) {
	if m.ref.Len() >= m.lim.live || m.work >= m.lim.work {
		return
	}
	v := m.wrap(len(m.pairs), 0)
	m.add(pair{m.w.Schedule(at, v), m.ref.Schedule(at, v)})
}

// add takes note of an entry that both sides have just made.
func (m *model[V]) add(p pair) {
	m.work++
	if _, again := m.byReal[p.real]; again || p.real == 0 {
		m.failf("the handle %#x was issued a second time, or is zero", p.real)
	}
	m.byReal[p.real] = p.ref
	m.pairs = append(m.pairs, p)
}

func (m *model[V]) reschedule(h wheel.Handle, at wheel.Tick) {
	if got, want := m.w.Reschedule(h, at), m.ref.Reschedule(m.byReal[h], at); got != want {
		m.failf("Reschedule(%#x, %d) is %t, want %t", h, at, got, want)
	}
}

func (m *model[V]) cancel(h wheel.Handle) {
	v, ok := m.w.Cancel(h)
	if wantV, want := m.ref.Cancel(m.byReal[h]); ok != want || any(v) != any(wantV) {
		m.failf("Cancel(%#x) is %v, %t, want %v, %t", h, v, ok, wantV, want)
	}
}

func (m *model[V]) lookup(h wheel.Handle) {
	at, v, ok := m.w.Lookup(h)
	if wantAt, wantV, want := m.ref.Lookup(m.byReal[h]); at != wantAt || any(v) != any(wantV) || ok != want {
		m.failf("Lookup(%#x) is %d, %v, %t, want %d, %v, %t", h, at, v, ok, wantAt, wantV, want)
	}
}

// forge tries a handle that differs from an issued one, in one bit or altogether. Should it happen to name another
// entry, byReal knows.
func (m *model[V]) forge(o op) {
	h := m.pick(o.c).real ^ 1<<(o.a%64)
	if o.b%4 == 0 {
		h = wheel.Handle(o.a) << (o.b % 64)
	}
	m.lookup(h)
	m.value(h)
	m.park(h)
	m.reschedule(h, m.when(o))
	m.cancel(h)
}
