// Package linear checks that a history of operations on a timer is linearizable: that all of them could
// have happened one after the other, each between its begin and its end.
package linear

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// An Op is what happens to a timer.
type Op string

const (
	Schedule Op = "schedule"
	Cancel   Op = "cancel"
	Get      Op = "get"
	Fire     Op = "fire"     // a handler is called
	Done     Op = "done"     // it has returned nil
	End      Op = "end"      // it has returned nil, and ends the series
	Fail     Op = "fail"     // it has failed, and is called again
	Postpone Op = "postpone" // it has not begun, and is called again with the same number
	Crash    Op = "crash"    // the process has ended, and another one goes on
	Hidden   Op = "hidden"   // the process may have decided to call a handler, and has not called it
)

// A Call is an operation.
type Call struct {
	Op      Op
	Every   bool   // Schedule: a periodic timer
	Absent  bool   // Schedule: with IfAbsent
	IfRev   bool   // Schedule, Cancel: with IfRev(Rev)
	Rev     uint64 // of IfRev, and of the occurrence of Fire, Done, End, Fail and Postpone
	Attempt int    // Fire: the number of the attempt
	Lost    bool   // the process ended meanwhile: it may or may not have happened
}

// A Result is what an operation has returned.
type Result struct {
	OK     bool
	Rev    uint64 // of Schedule and Get
	Exists bool   // ErrExists
	BadRev bool   // ErrRev
}

// A phase is what there is of the occurrence that has fired last.
type phase uint8

const (
	over    phase = iota // it has an outcome
	busy                 // its handler is running
	cut                  // it was running when the process ended
	waiting              // it has failed or was postponed, and waits for another attempt
)

// A state is what there is of a timer.
type state struct {
	has   bool
	every bool
	armed bool   // a deadline comes next
	rev   uint64 // what Get returns; 0: not known
	first uint64 // the revision of its first occurrence; 0: not known
	last  uint64 // the greatest revision so far

	phase   phase
	fired   uint64 // the revision of the occurrence; 0: not known
	attempt int    // how many have begun, without those that were postponed
}

// found reports whether Cancel finds something.
func (s state) found() bool { return s.armed || s.phase == waiting }

// gone returns the state without the timer.
func (s state) gone() state { return state{last: s.last} }

// known returns the state if the timer has a revision, and whether it can have it.
func (s state) known(rev uint64) (state, bool) {
	if s.has && s.rev == 0 && rev > s.last {
		s.rev, s.last = rev, rev
	}
	return s, s.has && rev != 0 && s.rev == rev
}

// begin returns the state after the deadline has come.
func (s state) begin() state {
	s.phase, s.fired, s.attempt = busy, s.rev, 1
	s.armed = s.every
	if s.every {
		s.rev = 0
	}
	return s
}

// again returns the state after another attempt has begun.
func (s state) again() state {
	s.phase = busy
	s.attempt++
	return s
}

// step returns the states that are possible after a call with a result. There are none if the result is
// not possible.
func (s state) step(c Call, r Result) []state {
	switch c.Op {
	case Schedule:
		return s.schedule(c, r)
	case Cancel:
		return s.cancel(c, r)
	case Get:
		to, ok := s.known(r.Rev)
		switch {
		case c.Lost, !r.OK && !s.has:
			return []state{s}
		case r.OK && ok:
			return []state{to}
		}
		return nil
	case Fire:
		return s.fire(c)
	case Crash:
		if s.phase == busy {
			s.phase = cut
		}
		return []state{s}
	case Hidden:
		all := []state{s}
		if s.armed {
			all = append(all, s.begin())
		}
		if s.phase == cut || s.phase == waiting {
			all = append(all, s.again())
		}
		return all
	}
	return s.end(c)
}

func (s state) fire(c Call) (all []state) {
	if to, ok := s.known(c.Rev); ok && s.armed && c.Attempt == 1 {
		all = append(all, to.begin())
	}
	same := s.fired == c.Rev || s.fired == 0
	if (s.phase == cut || s.phase == waiting) && same && c.Attempt == s.attempt+1 {
		to := s.again()
		to.fired = c.Rev
		if !s.every {
			to.rev, to.last = c.Rev, max(to.last, c.Rev)
		}
		all = append(all, to)
	}
	return all
}

func (s state) schedule(c Call, r Result) []state {
	to, ok := s.known(c.Rev)
	fits := (!c.Absent || !s.has) && (!c.IfRev || ok && s.found())
	next := state{has: true, every: c.Every, armed: true, rev: r.Rev, first: r.Rev, last: r.Rev}
	switch {
	case c.Lost && fits:
		next.rev, next.first, next.last = 0, 0, s.last
		return []state{s, next}
	case c.Lost, r.Exists && c.Absent && s.has, r.BadRev && c.IfRev && (s.rev == 0 || !fits):
		return []state{s}
	case !r.Exists && !r.BadRev && fits && r.Rev > max(s.last, to.last):
		return []state{next}
	}
	return nil
}

func (s state) cancel(c Call, r Result) []state {
	_, ok := s.known(c.Rev)
	fits := s.found() && (!c.IfRev || ok)
	switch {
	case c.Lost && fits:
		return []state{s, s.gone()}
	case c.Lost:
		return []state{s}
	case r.OK && fits && !r.BadRev:
		return []state{s.gone()}
	case r.OK:
		return nil
	case r.BadRev && c.IfRev && s.has && (s.rev == 0 || s.rev != c.Rev || !s.found()):
		return []state{s}
	case !r.BadRev && (!s.has || !s.found() && (!c.IfRev || ok)):
		return []state{s}
	}
	return nil
}

// end returns the states after the end of an attempt.
func (s state) end(c Call) (all []state) {
	if s.phase != busy || s.fired != c.Rev { // it was replaced or cancelled, or the next occurrence has fired
		switch isEnd := c.Op == End && s.every && s.found() && s.first <= c.Rev; {
		case isEnd && s.first != 0 && !c.Lost:
			return []state{s.gone()}
		case isEnd:
			return []state{s, s.gone()}
		}
		return []state{s}
	}
	to := s
	to.phase, to.fired, to.attempt = over, 0, 0
	if !s.armed || c.Op == End {
		to = s.gone()
	}
	if c.Lost {
		all = append(all, s)
	}
	if c.Op == Fail || c.Op == Postpone {
		next := s
		next.phase = waiting
		if c.Op == Postpone {
			next.attempt--
		}
		all = append(all, next)
	}
	if c.Op == Done || c.Op == End || s.every { // it may give way to the next occurrence
		all = append(all, to)
	}
	return all
}

var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{state{}} },
	Step: func(s, input, output any) (all []any) {
		for _, to := range s.(state).step(input.(Call), output.(Result)) {
			all = append(all, to)
		}
		return all
	},
}).ToModel()

// A History is the operations on one timer.
type History []porcupine.Operation

// Add adds an operation that began and ended at some times.
func (h *History) Add(c Call, from int64, r Result, to int64) {
	*h = append(*h, porcupine.Operation{ClientId: len(*h), Input: c, Output: r, Call: from, Return: to})
}

// Check returns an error if the history is not linearizable. It returns false if it has found out nothing
// within a time.
func (h History) Check(limit time.Duration) (bool, error) {
	switch porcupine.CheckOperationsTimeout(model, h, limit) {
	case porcupine.Ok:
		return true, nil
	case porcupine.Unknown:
		return false, nil
	}
	return true, fmt.Errorf("the history is not linearizable:\n%s", h)
}

// String returns the operations in the order in which they began.
func (h History) String() string {
	ops := slices.Clone(h)
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, op := range ops {
		to := fmt.Sprint(op.Return)
		if op.Return >= Later {
			to = "later"
		}
		fmt.Fprintf(&b, "from %d to %s: %+v %+v\n", op.Call, to, op.Input, op.Output)
	}
	return b.String()
}

// Later is the end of an operation that happens some time after its begin.
const Later = int64(1) << 62
