package wheel_test

import (
	"fmt"
	"iter"
	"runtime"
	"strings"

	"github.com/foliot-go/foliot/internal/wheel"
)

// This file has the operations that range: over Advance, Drain and All. The loop body may perform
// operations too.

// The argument c of opAdvance and opDrain has three parts. Bits 0 and 1 say how many of the
// operations that follow are performed in the body, one per entry in turn. Bits 2 and 3 say how
// the loop is left, and the other bits after how many entries.
const (
	exitNone = iota // not early
	exitBreak
	exitPanic
	exitGoexit
)

func (o op) bodyLen() int {
	if o.code != opAdvance && o.code != opDrain {
		return 0
	}
	return int(o.c & 3)
}

func (o op) exit() int { return int(o.c >> 2 & 3) }

func (o op) exitAfter() int { return 1 << (o.c >> 4) >> 1 }

// wantNestedPanic checks that an operation panics in the body of Advance or Drain.
func (m *model[V]) wantNestedPanic(o op) {
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
	case opRewind:
		m.w.Rewind(m.when(o))
		m.failf("nested Rewind returns")
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

// withExit runs loop, which may be left by a panic or Goexit if o says so.
func (m *model[V]) withExit(o op, loop func()) {
	if o.exit() != exitGoexit {
		m.catch(loop)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.catch(loop)
	}()
	<-done
}

// inBody is the loop body for entry n of a pass, which has the value v. It reports whether the
// caller must break.
func (m *model[V]) inBody(o op, body []op, n int, v V) bool {
	m.work++
	m.lookup(m.pairs[m.indexOf(v)].wheel)
	if len(body) > 0 {
		m.do(body[n%len(body)], nil, true)
	}
	m.compare("the body for "+fmt.Sprint(m.indexOf(v)), n < 8 || n%1024 == 0)
	if m.err != nil {
		return true
	}
	if o.exit() != exitNone && n >= o.exitAfter() {
		switch o.exit() {
		case exitPanic:
			panic(errExit)
		case exitGoexit:
			runtime.Goexit()
		}
		return true
	}
	return false
}

// advance ranges over both Advance iterators in lockstep, and returns the number of entries.
func (m *model[V]) advance(to wheel.Tick, o op, body []op) (n int) {
	next, stop := iter.Pull2(m.oracle.Advance(to))
	defer stop()
	m.withExit(o, func() {
		for at, v := range m.w.Advance(to) {
			wantAt, wantV, ok := next()
			if !ok || at != wantAt || any(v) != any(wantV) {
				m.failf("Advance(%d) yields %d, entry %d as item %d, want %d, %v (%t)", to, at, m.indexOf(v), n, wantAt, wantV, ok)
				return
			}
			if m.inBody(o, body, n, v) {
				return
			}
			n++
		}
		if at, v, ok := next(); ok {
			m.failf("Advance(%d) ends after %d entries, want %d, entry %d", to, n, at, m.indexOf(v))
		}
	})
	return n
}

// advanceToNext checks that Advance(Next()) yields something or raises Next.
func (m *model[V]) advanceToNext() {
	before, ok := m.w.Next()
	if !ok || m.err != nil {
		return
	}
	n := m.advance(before, op{}, nil)
	if after, ok := m.w.Next(); ok && n == 0 && after <= before {
		m.failf("Advance(Next()) yields nothing and Next went from %d to %d", before, after)
	}
}

// drain checks that Drain yields each entry once, and those of one tick in arming order. Entries
// that the body arms may be yielded or stay.
func (m *model[V]) drain(o op, body []op) {
	armings, n, whole := m.oracle.seq, 0, false
	last := make(map[wheel.Tick]uint64) // by tick: the seq of the entry that was yielded last
	m.withExit(o, func() {
		for at, v := range m.w.Drain() {
			e, ok := m.oracle.live[m.pairs[m.indexOf(v)].oracle]
			m.oracle.Cancel(e.h)
			if !ok || e.parked || e.at != at || any(e.v) != any(v) || e.seq <= last[at] {
				m.failf("Drain yields %d, entry %d (armed: %t, at %d) with seq %d after seq %d", at, m.indexOf(v), ok, e.at, e.seq, last[at])
			}
			last[at] = e.seq
			if m.inBody(o, body, n, v) {
				return
			}
			n++
		}
		whole = true
	})
	for _, e := range m.oracle.live {
		if !e.parked && (e.seq < last[e.at] || whole && e.seq <= armings) {
			m.failf("Drain did not yield entry %d at %d", m.indexOf(e.v), e.at)
		}
	}
}

// all checks that All yields each entry once, armed or parked, except those that the body has
// cancelled before.
func (m *model[V]) all(o op) {
	if m.work += m.oracle.Len(); m.work >= m.lim.work {
		return
	}
	waiting := make(map[wheel.Handle]bool)
	for h := range m.oracle.live {
		waiting[h] = true
	}
	n, whole := 0, true
	for h, v := range m.w.All() {
		oh := m.oracleHandle[h]
		if !waiting[oh] || m.pairs[m.indexOf(v)].wheel != h {
			m.failf("All yields %#x, entry %d, which is gone or was yielded before", h, m.indexOf(v))
		}
		delete(waiting, oh)
		if o.b&1 == 1 && n%(1+int(o.a)%5) == 0 {
			m.cancel(h)
		}
		if o.b&32 == 32 && n%2 == 0 {
			m.park(h)
		}
		if other := m.pick(o.c + byte(n)); o.b&2 == 2 {
			m.cancel(other.wheel)
			delete(waiting, other.oracle)
		}
		if n++; m.err != nil || o.b&28 == 28 && n > int(o.c) {
			whole = false
			break
		}
	}
	if whole && len(waiting) > 0 {
		m.failf("All did not yield %d of %d entries", len(waiting), len(waiting)+n)
	}
}
