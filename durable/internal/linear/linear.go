// Package linear checks that a history of operations on a timer is linearizable: that all of them could
// have happened one after the other, each between its begin and its end. The timer is due once.
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
	Fire     Op = "fire"   // a handler is called
	Done     Op = "done"   // it has returned nil
	Fail     Op = "fail"   // it has failed, and is called again
	Crash    Op = "crash"  // the process has ended, and another one goes on
	Hidden   Op = "hidden" // the process may have decided to call a handler, and has not called it
)

// A Call is an operation.
type Call struct {
	Op      Op
	Absent  bool   // Schedule: with IfAbsent
	IfRev   bool   // Schedule, Cancel: with IfRev(Rev)
	Rev     uint64 // of IfRev, and of the occurrence of Fire, Done and Fail
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

// A state is what there is of a timer.
type state struct {
	has     bool
	busy    bool   // its handler is running, and nothing is armed
	cut     bool   // busy: the process that was handling has ended
	rev     uint64 // 0: not known, because a Schedule was lost
	last    uint64 // the greatest revision so far
	attempt int    // how many have begun
}

func (s state) armed() bool { return s.has && !s.busy }

// gone returns the state without the timer.
func (s state) gone() state { return state{last: s.last} }

// known returns the state if the timer has a revision, and whether it can have it.
func (s state) known(rev uint64) (state, bool) {
	if s.has && s.rev == 0 && rev > s.last {
		s.rev, s.last = rev, rev
	}
	return s, s.has && rev != 0 && s.rev == rev
}

// step returns the states that are possible after a call with a result. There are none if the result is
// not possible.
func (s state) step(c Call, r Result) []state {
	only := func(possible bool, to state) []state {
		if possible {
			return []state{to}
		}
		return nil
	}
	switch c.Op {
	case Schedule:
		return s.schedule(c, r)
	case Cancel:
		return s.cancel(c, r)
	case Get:
		if c.Lost {
			return []state{s}
		}
		if to, ok := s.known(r.Rev); r.OK {
			return only(ok, to)
		}
		return only(!s.has, s)
	case Fire:
		to, ok := s.known(c.Rev)
		to.busy, to.cut, to.attempt = true, false, c.Attempt
		return only(ok && (s.armed() || s.cut) && c.Attempt == s.attempt+1, to)
	case Crash:
		s.cut = s.busy
		return []state{s}
	case Hidden:
		to := s
		to.busy, to.cut, to.attempt = true, false, s.attempt+1
		return append(only(s.armed() || s.cut, to), s)
	}
	return s.end(c)
}

func (s state) schedule(c Call, r Result) []state {
	to, ok := s.known(c.Rev)
	fits := (!c.Absent || !s.has) && (!c.IfRev || ok && s.armed())
	if c.Lost {
		if fits {
			return []state{s, {has: true, last: s.last}}
		}
		return []state{s}
	}
	switch {
	case r.Exists && c.Absent && s.has, r.BadRev && c.IfRev && (s.rev == 0 || !fits):
		return []state{s}
	case !r.Exists && !r.BadRev && fits && r.Rev > max(s.last, to.last):
		return []state{{has: true, rev: r.Rev, last: r.Rev}}
	}
	return nil
}

func (s state) cancel(c Call, r Result) []state {
	_, ok := s.known(c.Rev)
	fits := s.armed() && (!c.IfRev || ok)
	switch {
	case c.Lost && fits:
		return []state{s, s.gone()}
	case c.Lost:
		return []state{s}
	case r.OK && fits && !r.BadRev:
		return []state{s.gone()}
	case r.OK:
		return nil
	case r.BadRev && c.IfRev && s.has && (s.rev == 0 || s.rev != c.Rev || s.busy):
		return []state{s}
	case !r.BadRev && (!s.has || s.busy && (!c.IfRev || ok)):
		return []state{s}
	}
	return nil
}

// end returns the states after the end of an attempt.
func (s state) end(c Call) []state {
	if !s.busy || s.rev != c.Rev {
		return []state{s} // it was replaced
	}
	to := s.gone()
	if c.Op == Fail {
		to = s
		to.busy, to.cut = false, false
	}
	if c.Lost {
		return []state{s, to}
	}
	return []state{to}
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
