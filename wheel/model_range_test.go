package wheel_test

import (
	"fmt"
	"iter"
	"runtime"
	"strings"

	"github.com/foliot-go/foliot/wheel"
)

// This is the part of model that ranges: over Advance, Drain and All, with bodies that do operations of their own.

// How a body is left, and after how many entries, is in c of opAdvance and opDrain; its first two bits say how many of
// the operations that follow are done in the body, one per entry in turn.
const (
	runOn = iota
	byBreak
	byPanic
	byGoexit
)

func (o op) bodyLen() int {
	if o.code != opAdvance && o.code != opDrain {
		return 0
	}
	return int(o.c & 3)
}

func (o op) leave() int { return int(o.c >> 2 & 3) }

func (o op) leaveAfter() int { return 1 << (o.c >> 4) >> 1 }

// nested checks that the body of Advance and Drain can have no other.
func (m *model[V]) nested(o op) {
	defer func() {
		if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "wheel:") {
			m.failf("nested %s: panic %v, want one that begins with wheel:", opNames[o.code], p)
		}
	}()
	switch o.code {
	case opPop:
		h, at, ok := m.w.Pop(m.when(o))
		m.failf("nested Pop is %#x, %d, %t", h, at, ok)
		return
	case opPeek:
		h, at, ok := m.w.Peek(m.when(o))
		m.failf("nested Peek is %#x, %d, %t", h, at, ok)
		return
	}
	inner := m.w.Advance(m.when(o))
	if o.code == opDrain {
		inner = m.w.Drain()
	}
	for at, v := range inner {
		m.failf("nested %s yields %d, %v", opNames[o.code], at, v)
		return
	}
}

// leaving runs loop, which may end with a panic or Goexit if o says so.
func (m *model[V]) leaving(o op, loop func()) {
	if o.leave() != byGoexit {
		m.guard(loop)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.guard(loop)
	}()
	<-done
}

// inBody does the body's part for the n-th entry of a pass: true means break.
func (m *model[V]) inBody(o op, body []op, n int, v V) bool {
	m.work++
	m.lookup(m.pairs[m.index(v)].real)
	if len(body) > 0 {
		m.do(body[n%len(body)], nil, true)
	}
	m.compare("the body for "+fmt.Sprint(m.index(v)), n < 8 || n%1024 == 0)
	if m.err != nil {
		return true
	}
	if o.leave() != runOn && n >= o.leaveAfter() {
		switch o.leave() {
		case byPanic:
			panic(errLeave)
		case byGoexit:
			runtime.Goexit()
		}
		return true
	}
	return false
}

// advance ranges over both in lockstep and reports how many entries came.
func (m *model[V]) advance(to wheel.Tick, o op, body []op) (fired int) {
	next, stop := iter.Pull2(m.ref.Advance(to))
	defer stop()
	m.leaving(o, func() {
		for at, v := range m.w.Advance(to) {
			wantAt, wantV, ok := next()
			if !ok || at != wantAt || any(v) != any(wantV) {
				m.failf("Advance(%d) yields %d, entry %d as number %d, want %d, %v (%t)", to, at, m.index(v), fired, wantAt, wantV, ok)
				return
			}
			if m.inBody(o, body, fired, v) {
				return
			}
			fired++
		}
		if at, v, ok := next(); ok {
			m.failf("Advance(%d) ends after %d entries, want %d, entry %d", to, fired, at, m.index(v))
		}
	})
	return fired
}

// advanceToNext checks that a step to Next makes headway.
func (m *model[V]) advanceToNext() {
	before, ok := m.w.Next()
	if !ok || m.err != nil {
		return
	}
	fired := m.advance(before, op{}, nil)
	if after, ok := m.w.Next(); ok && fired == 0 && after <= before {
		m.failf("Advance(Next()) fired nothing and Next went from %d to %d", before, after)
	}
}

// drain checks that each entry comes once, those of one tick in arming order. What the body arms may come or stay.
func (m *model[V]) drain(o op, body []op) {
	armings, n, whole := m.ref.seq, 0, false
	last := make(map[wheel.Tick]uint64) // the arming last yielded per tick
	m.leaving(o, func() {
		for at, v := range m.w.Drain() {
			e, ok := m.ref.live[m.pairs[m.index(v)].ref]
			m.ref.Cancel(e.h)
			if !ok || e.parked || e.at != at || any(e.v) != any(v) || e.seq <= last[at] {
				m.failf("Drain yields %d, entry %d (armed: %t, at %d), its arming is %d, the one before was %d", at, m.index(v), ok, e.at, e.seq, last[at])
			}
			last[at] = e.seq
			if m.inBody(o, body, n, v) {
				return
			}
			n++
		}
		whole = true
	})
	for _, e := range m.ref.live {
		if !e.parked && (e.seq < last[e.at] || whole && e.seq <= armings) {
			m.failf("Drain left entry %d at %d behind", m.index(e.v), e.at)
		}
	}
}

// all checks that All yields each entry once, parked ones too, but those not that were cancelled before their turn.
func (m *model[V]) all(o op) {
	if m.work += m.ref.Len(); m.work >= m.lim.work {
		return
	}
	waiting := make(map[wheel.Handle]bool)
	for h := range m.ref.live {
		waiting[h] = true
	}
	n, whole := 0, true
	for h, v := range m.w.All() {
		ref := m.byReal[h]
		if !waiting[ref] || m.pairs[m.index(v)].real != h {
			m.failf("All yields %#x, entry %d a second time, or it is not armed", h, m.index(v))
		}
		delete(waiting, ref)
		if o.b&1 == 1 && n%(1+int(o.a)%5) == 0 {
			m.cancel(h)
		}
		if o.b&32 == 32 && n%2 == 0 {
			m.park(h)
		}
		if other := m.pick(o.c + byte(n)); o.b&2 == 2 {
			m.cancel(other.real)
			delete(waiting, other.ref)
		}
		if n++; m.err != nil || o.b&28 == 28 && n > int(o.c) {
			whole = false
			break
		}
	}
	if whole && len(waiting) > 0 {
		m.failf("All left out %d of %d entries", len(waiting), len(waiting)+n)
	}
}
