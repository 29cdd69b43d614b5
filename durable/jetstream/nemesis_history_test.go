//go:build unix

package jetstream_test

import (
	"math"
	"time"

	"github.com/foliot-go/foliot/durable/internal/linear"
)

// checkLinear checks that the history of each ID is linearizable. It returns how many it has checked, and
// of how many it has found out nothing.
func (l *ledger) checkLinear(limit time.Duration) (checked, open int) {
	for id, a := range l.ids {
		if a.isBuried() {
			continue
		}
		h := l.history(a)
		known, err := h.Check(limit)
		switch {
		case err != nil:
			l.problem("%s: %v", id, err)
		case !known:
			open++
		}
		checked++
	}
	return checked, open
}

// history returns the operations on an ID.
func (l *ledger) history(a *account) (h linear.History) {
	begin, end := int64(math.MaxInt64), int64(0)
	for _, c := range a.calls {
		begin, end = min(begin, c.from), max(end, c.from, c.to)
		call := linear.Call{
			Op:     map[string]linear.Op{"cancel": linear.Cancel, "cancelrev": linear.Cancel, "get": linear.Get}[c.op],
			Every:  c.op == "series",
			Absent: c.op == "absent", IfRev: c.op == "rev" || c.op == "cancelrev", Rev: c.rev, Lost: !c.isKnown(),
		}
		if call.Op == "" {
			call.Op = linear.Schedule
		}
		to := c.to
		if call.Lost {
			if call.Op == linear.Get {
				continue
			}
			to = linear.Later
		}
		h.Add(call, c.from, linear.Result{OK: c.result == "true", Rev: c.got, Exists: c.result == "exists", BadRev: c.result == "badrev"}, to)
	}
	for i, t := range a.attempts {
		end = max(end, t.start, t.kept)
		l.addAttempt(&h, a, i, begin)
	}
	for _, f := range l.lives { // it may have fired the timer, and not have reported it
		if f.killed > begin && f.killed-unreported < end {
			h.Add(linear.Call{Op: linear.Hidden}, begin, linear.Result{}, linear.Later)
		}
	}
	l.addMaybes(&h, a)
	if l.left >= 0 {
		h.Add(linear.Call{Op: linear.Get}, l.finish, linear.Result{OK: a.has != 0, Rev: a.has}, l.finish)
	}
	return h
}

// unreported is how long before it was killed a process may have fired a timer without a report: it waits
// for the acknowledgement, for as long as there is no leader.
const unreported = int64(30 * time.Second)

// addMaybes adds the firings of an ID that the servers may not have acknowledged: at most one for each that was asked
// for, and for each process and trouble, because a process that asks again has not heard of the first.
func (l *ledger) addMaybes(h *linear.History, a *account) {
	type cause struct{ life, trouble int }
	seen := make(map[cause]bool)
	for _, m := range a.maybes {
		isNew, until := false, int64(0)
		for i, t := range l.troubles {
			if !l.affects(t, m.life, m.from, m.to) {
				continue
			}
			until = max(until, t.to+settleTime)
			if c := (cause{m.life, i}); !isNew && !seen[c] {
				isNew, seen[c] = true, true
			}
		}
		if isNew {
			h.Add(linear.Call{Op: linear.Hidden}, m.from, linear.Result{}, until)
		}
	}
}

// addAttempt adds an attempt of an ID to its history.
func (l *ledger) addAttempt(h *linear.History, a *account, i int, begin int64) {
	t := a.attempts[i]
	number, since := 0, begin
	if i > 0 && a.attempts[i-1].rev == t.rev {
		last := a.attempts[i-1]
		number, since = last.number, last.from
		if last.how == "postponed" && (last.kept != 0 && last.ok || last.number == t.number) {
			number-- // it was given back
		}
		if !(last.kept != 0 && last.isRepeated() && last.ok) {
			h.Add(linear.Call{Op: linear.Crash}, since, linear.Result{}, max(since, t.start))
		}
	}
	for range t.number - number - 1 { // attempts that were not reported
		h.Add(linear.Call{Op: linear.Hidden}, since, linear.Result{}, max(since, t.start))
		h.Add(linear.Call{Op: linear.Crash}, since, linear.Result{}, max(since, t.start))
	}
	h.Add(linear.Call{Op: linear.Fire, Rev: t.rev, Attempt: t.number}, t.from, linear.Result{}, t.start)
	op := linear.Done
	switch t.how {
	case "again":
		op = linear.Fail
	case "postponed":
		op = linear.Postpone
	}
	switch {
	case t.end == 0: // it was killed
	case t.kept != 0 && t.ok:
		h.Add(linear.Call{Op: op, Rev: t.rev}, t.end, linear.Result{}, t.kept)
	case t.kept == 0:
		h.Add(linear.Call{Op: op, Rev: t.rev, Lost: true}, t.end, linear.Result{}, linear.Later)
	}
}
