package wheel_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime/debug"

	"github.com/foliot-go/foliot/internal/wheel"
)

// The model tests run random programs on a wheel and on an oracle, and compare every result:
//
//	model_program_test.go    a program: operations as bytes; random ones; shrinking
//	model_oracle_test.go     the oracle: a wheel in its simplest form
//	model_test.go            runs a program on both
//	model_range_test.go      the operations that range: Advance, Drain, All
//	model_scheduler_test.go  the operations for schedulers
//	model_random_test.go     tests with random programs
//	model_fuzz_test.go       the same as a fuzz target

// limits bounds what one program may do.
type limits struct {
	live int // entries at one time
	many int // entries of one bulk operation
	work int // entries armed, yielded and ranged over in total
}

// A model runs a program on a wheel and on an oracle and compares every result.
type model[V any] struct {
	w      *wheel.Wheel[V]
	oracle *oracle[V]
	// makeValue makes a value from an index in pairs and the number of a write.
	makeValue func(id, write int) V
	indexOf   func(v V) int // returns that index
	lim       limits

	pairs        []handlePair                  // all entries that were ever made, in that order
	oracleHandle map[wheel.Handle]wheel.Handle // the oracle's handle by the wheel's handle
	writes       int                           // values written through Value
	work         int
	err          error // the first difference
}

// A handlePair has the two handles of one entry: that of the wheel and that of the oracle.
type handlePair struct{ wheel, oracle wheel.Handle }

// errExit is the panic value of a body that must be left by a panic.
var errExit = errors.New("leave the body")

var programStarts = [16]wheel.Tick{
	0, 0, 0, 0, 1, 63, 64, 4095, 1<<18 + 5, 1_000_000, 1<<32 - 3, 1 << 40, 1<<48 - 1, 1<<60 + 1, 1<<63 - 40, math.MaxUint64 - 300,
}

// runProgram runs a program and returns the first difference, or nil.
func runProgram[V any](p program, lim limits, makeValue func(int, int) V, indexOf func(V) int) error {
	m := &model[V]{makeValue: makeValue, indexOf: indexOf, lim: lim, oracleHandle: make(map[wheel.Handle]wheel.Handle)}
	now := programStarts[p.start()%16]
	m.oracle = newOracle[V](now)
	if m.w = wheel.New[V](now, int(p.start()>>4)); p.start() == 0 {
		m.w = new(wheel.Wheel[V])
	}
	m.catch(func() { m.run(p.ops()) })
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
			m.err = wheel.CheckForTest(m.w)
		}
		if m.err != nil {
			return
		}
	}
	for _, p := range m.pairs {
		m.lookup(p.wheel)
	}
	m.advance(math.MaxUint64, op{}, nil)
	m.compare("the last Advance", true)
	for _, p := range m.pairs { // the entries that are left are parked
		m.cancel(p.wheel)
	}
	m.compare("the last Cancel", true)
	if m.err == nil {
		m.err = wheel.CheckForTest(m.w)
	}
}

// failf records a difference if it is the first. The program then stops.
func (m *model[V]) failf(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// catch calls f. It records a panic as a difference, unless the panic is errExit.
func (m *model[V]) catch(f func()) {
	defer func() {
		if p := recover(); p != nil && p != any(errExit) {
			m.failf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
}

// compare checks what must hold between any two operations. It compares Next only if next is true,
// because the oracle takes long to find its earliest tick.
func (m *model[V]) compare(where string, next bool) {
	if got, want := m.w.Len(), m.oracle.Len(); got != want {
		m.failf("after %s: Len is %d, want %d", where, got, want)
	}
	if got, want := m.w.Now(), m.oracle.Now(); got != want {
		m.failf("after %s: Now is %d, want %d", where, got, want)
	}
	if !next {
		return
	}
	got, ok := m.w.Next()
	earliest, armed := m.oracle.earliest()
	switch {
	case ok != armed:
		m.failf("after %s: Next returns %t with %d entries", where, ok, m.oracle.Len())
	case ok && got > earliest:
		m.failf("after %s: Next is %d, but an entry is due at %d", where, got, earliest)
	case ok && earliest <= m.oracle.Now() && got > m.oracle.Now():
		m.failf("after %s: Next is %d, but something is due and Now is %d", where, got, m.oracle.Now())
	}
	m.compareSoonest(where, got, earliest, armed)
	if stale := m.w.Stale(); stale < 0 || stale > 0 && !armed {
		m.failf("after %s: Stale is %d; entries armed: %t", where, stale, armed)
	}
}

// The kinds of ticks that an operation can use.
const (
	whenClose    = iota // up to 15 after Now
	whenNear            // up to 2^14 after Now
	whenFar             // b·2^a after Now
	whenBoundary        // next to a multiple of 2^a
	whenHuge            // one of the last 256 ticks
	whenPast            // b·2^a before Now
	whenSame            // next to the tick of an entry
	whenKinds
)

// when returns the tick that an operation uses.
func (m *model[V]) when(o op) wheel.Tick {
	now, a, b := m.oracle.Now(), wheel.Tick(o.a), wheel.Tick(o.b)
	switch o.kind % whenKinds {
	case whenClose:
		return addTick(now, b%16)
	case whenNear:
		return addTick(now, a%64<<8|b)
	case whenFar:
		return addTick(now, b<<(a%64))
	case whenBoundary:
		return (now>>(a%64)+1)<<(a%64) + b%3 - 1
	case whenHuge:
		return math.MaxUint64 - b
	case whenPast:
		return now - min(now, b<<(a%64))
	default:
		e, ok := m.oracle.live[m.pick(o.b).oracle]
		if !ok || e.parked {
			return now
		}
		return e.at + a%3 - 1
	}
}

// pick chooses an entry: a recent one if c is odd, otherwise any. If that one is gone, pick takes
// the next one that exists, unless c ends in the bits 111.
func (m *model[V]) pick(c byte) handlePair {
	if len(m.pairs) == 0 {
		return handlePair{}
	}
	i := int(c) * len(m.pairs) / 256
	if c&1 == 1 {
		i = len(m.pairs) - 1 - int(c/2)%len(m.pairs)
	}
	for n := 0; c&7 != 7 && n < 64 && i+1 < len(m.pairs); n++ {
		if _, _, ok := m.oracle.Lookup(m.pairs[i].oracle); ok {
			break
		}
		i++
	}
	return m.pairs[i]
}

// do performs one operation on the wheel and on the oracle.
func (m *model[V]) do(o op, body []op, inBody bool) {
	if inBody {
		switch o.code {
		case opAdvance, opAdvanceToNext, opDrain, opPop, opPeek, opRewind:
			m.wantNestedPanic(o)
			return
		}
	}
	many := 1 + m.lim.many*int(o.c)/256
	if inBody {
		many = min(many, 40)
	}
	rng := rand.New(rand.NewPCG(uint64(o.a), uint64(o.b)))
	spread := func() wheel.Tick { return addTick(m.when(o), wheel.Tick(rng.Uint64()>>(63-o.a%64))) }
	every := 1 + int(o.b)%7
	switch o.code {
	case opSchedule:
		m.schedule(m.when(o))
	case opReschedule:
		m.reschedule(m.pick(o.c).wheel, m.when(o))
	case opCancel:
		m.cancel(m.pick(o.c).wheel)
	case opLookup:
		m.lookup(m.pick(o.c).wheel)
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
			m.reschedule(m.pairs[i].wheel, spread())
			many--
		}
	case opCancelMany:
		for i := len(m.pairs) - 1; i >= 0 && many > 0; i -= every {
			m.cancel(m.pairs[i].wheel)
			many--
		}
	case opTrim:
		m.w.Trim(int(o.c)) // releases memory and has no other visible effect
	case opPark:
		m.park(m.pick(o.c).wheel)
	case opParkMany:
		for i := len(m.pairs) - 1; i >= 0 && many > 0; i -= every {
			m.park(m.pairs[i].wheel)
			many--
		}
	case opPop:
		m.popSome(o)
	case opPeek:
		m.peek(m.when(o))
	case opValue:
		m.value(m.pick(o.c).wheel)
	case opCompact:
		m.compact(int(o.b)<<8 | int(o.c) - 8)
	case opReserve:
		m.reserve()
	case opRewind:
		m.rewind(m.when(o))
	case opCancelNumbered:
		m.cancelNumbered(many, every)
	case opSpans:
		m.spans(m.when(o), inBody)
	}
}

func (m *model[V]) schedule(at wheel.Tick) {
	if m.oracle.Len() >= m.lim.live || m.work >= m.lim.work {
		return
	}
	v := m.makeValue(len(m.pairs), 0)
	m.add(handlePair{m.w.Schedule(at, v), m.oracle.Schedule(at, v)})
}

// add records an entry that the wheel and the oracle have just made.
func (m *model[V]) add(p handlePair) {
	m.work++
	if _, again := m.oracleHandle[p.wheel]; again || p.wheel == 0 {
		m.failf("the handle %#x was returned before, or is zero", p.wheel)
	}
	m.oracleHandle[p.wheel] = p.oracle
	m.pairs = append(m.pairs, p)
}

func (m *model[V]) reschedule(h wheel.Handle, at wheel.Tick) {
	if got, want := m.w.Reschedule(h, at), m.oracle.Reschedule(m.oracleHandle[h], at); got != want {
		m.failf("Reschedule(%#x, %d) is %t, want %t", h, at, got, want)
	}
}

func (m *model[V]) cancel(h wheel.Handle) {
	v, ok := m.w.Cancel(h)
	if wantV, want := m.oracle.Cancel(m.oracleHandle[h]); ok != want || any(v) != any(wantV) {
		m.failf("Cancel(%#x) is %v, %t, want %v, %t", h, v, ok, wantV, want)
	}
}

func (m *model[V]) lookup(h wheel.Handle) {
	at, v, ok := m.w.Lookup(h)
	if wantAt, wantV, want := m.oracle.Lookup(m.oracleHandle[h]); at != wantAt || any(v) != any(wantV) || ok != want {
		m.failf("Lookup(%#x) is %d, %v, %t, want %d, %v, %t", h, at, v, ok, wantAt, wantV, want)
	}
}

// forge tries a handle that the wheel may never have returned: a valid one with one bit changed, or
// any number. If it happens to be the handle of an entry, oracleHandle has it.
func (m *model[V]) forge(o op) {
	h := m.pick(o.c).wheel ^ 1<<(o.a%64)
	if o.b%4 == 0 {
		h = wheel.Handle(o.a) << (o.b % 64)
	}
	m.lookup(h)
	m.value(h)
	m.park(h)
	m.reschedule(h, m.when(o))
	m.cancel(h)
}
