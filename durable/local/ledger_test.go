package local

import (
	"fmt"
	"strconv"
	"strings"
)

// A ledger checks what a process that is killed again and again reports about a store. Each line is
// one event:
//
//	boot                      a process has opened the store
//	has ID REV                the store has this timer; after boot, before anything else
//	dead ID REV               the timer is dead; after boot and at the end
//	ready                     no more timers; Run begins
//	call N OP ID              OP is schedule, absent (IfAbsent), cancel or get
//	call N OP ID REV          OP is series (a periodic timer; REV is 0), cancelrev (IfRev)
//	ack N OK REV              the call returned; OK is true or false
//	start ID REV ATTEMPT      a handler begins
//	end ID REV ATTEMPT HOW    it returns; HOW is done, failed or postponed
//	left N                    at the end: the number of timers in the store
//
// The calls on one ID come one after the other. A process that is killed reports nothing more, and
// what it has reported is not lost. So a call without an ack may have happened or not.
type ledger struct {
	ids      map[string]*account
	calls    map[int]*call // of this process, without an ack
	process  int
	ready    bool
	attempts int // after that many attempts, a timer is dead
	problems []string
	count    map[string]int // of the events
}

// A call is a call of the Scheduler that has begun.
type call struct {
	op     string
	id     string
	rev    uint64
	before uint64 // the highest revision when the call began
}

// An account is what is known of an ID.
type account struct {
	certain bool   // the last call was acknowledged, or the process that came after has listed the timer
	present bool   // certain: the store has a timer, or an occurrence of it is handled or done
	rev     uint64 // certain and present: its revision, or the first one of a series
	series  bool   // certain and present: it is periodic
	listed  uint64 // the revision after boot, 0: not listed

	highest    uint64          // the highest revision that was seen
	closed     uint64          // no attempt of this revision or a lower one may start any more
	replacedBy uint64          // an attempt of each lower revision may start once, in process replacedIn: it was decided before
	replacedIn int             // the process that has replaced the timer
	cancelled  map[uint64]bool // cancelled revisions
	cut        uint64          // nothing of this revision or a higher one may start until the next schedule; 0: no limit

	attempts map[uint64]*attempts
}

// attempts are the attempts of a revision.
type attempts struct {
	last    int // the last one that was started
	process int // in which process
	ended   string
	done    int  // how many have ended as done
	late    bool // one was started after the timer was replaced
	dead    bool
}

func newLedger(attempts int) *ledger {
	return &ledger{ids: make(map[string]*account), calls: make(map[int]*call), attempts: attempts, count: make(map[string]int)}
}

func (l *ledger) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf("process %d: ", l.process)+fmt.Sprintf(format, args...))
}

func (l *ledger) account(id string) *account {
	a := l.ids[id]
	if a == nil {
		a = &account{certain: true, cancelled: make(map[uint64]bool), attempts: make(map[uint64]*attempts)}
		l.ids[id] = a
	}
	return a
}

func (a *account) of(rev uint64) *attempts {
	t := a.attempts[rev]
	if t == nil {
		t = &attempts{}
		a.attempts[rev] = t
	}
	return t
}

// see notes that a revision exists.
func (a *account) see(rev uint64) { a.highest = max(a.highest, rev) }

// line enters an event.
func (l *ledger) line(text string) {
	f := strings.Fields(text)
	if len(f) == 0 {
		return
	}
	number := func(i int) uint64 {
		if i >= len(f) {
			return 0
		}
		n, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			l.problem("line %q: %v", text, err)
		}
		return n
	}
	l.count[f[0]]++
	switch f[0] {
	case "boot":
		l.boot()
	case "has":
		l.account(f[1]).listed = number(2)
	case "ready":
		l.listed()
	case "call":
		l.call(int(number(1)), f[2], f[3], number(4))
	case "ack":
		l.ack(int(number(1)), f[2] == "true", number(3))
	case "start":
		l.start(f[1], number(2), int(number(3)))
	case "end":
		l.end(f[1], number(2), int(number(3)), f[4])
	case "dead":
		l.account(f[1]).of(number(2)).dead = true
	case "left":
		l.left(number(1))
	default:
		l.problem("%s", text)
	}
}

func (l *ledger) boot() {
	l.process++
	l.ready = false
	clear(l.calls)
	for _, a := range l.ids {
		a.listed = 0
	}
}

// listed compares the timers of the store with the accounts.
func (l *ledger) listed() {
	l.ready = true
	for id, a := range l.ids {
		if a.certain {
			l.compare(id, a)
		}
		a.see(a.listed)
		if a.listed == 0 {
			a.closed = max(a.closed, a.highest)
		}
		if !a.certain {
			a.present, a.rev = a.listed != 0, a.listed
			a.series = strings.HasPrefix(id, "s")
			a.certain = true
		}
		if !a.present || a.listed == 0 {
			a.present = false
		} else if !a.series {
			a.closed = max(a.closed, a.listed-1)
		}
	}
}

// compare compares a timer of the store with what must be there.
func (l *ledger) compare(id string, a *account) {
	switch {
	case !a.present && a.listed != 0:
		l.problem("%s: revision %d is there, and was cancelled or done before", id, a.listed)
	case a.present && a.series && a.listed == 0:
		l.problem("%s: the series of revision %d is lost", id, a.rev)
	case a.present && a.series && a.listed < a.rev:
		l.problem("%s: revision %d is there, and %d was acknowledged", id, a.listed, a.rev)
	case a.present && !a.series && a.listed == 0 && !l.over(a.attempts[a.rev]):
		l.problem("%s: revision %d is lost", id, a.rev)
	case a.present && !a.series && a.listed != 0 && a.listed != a.rev:
		l.problem("%s: revision %d is there, and %d was acknowledged", id, a.listed, a.rev)
	}
}

// over reports whether an occurrence with these attempts can have an outcome.
func (l *ledger) over(t *attempts) bool {
	return t != nil && (t.done > 0 || t.dead || l.exhausted(t))
}

// exhausted reports whether the attempts can be used up. Each process may have been killed after it had
// counted an attempt and before the handler began.
func (l *ledger) exhausted(t *attempts) bool { return t.last+l.process-t.process >= l.attempts }

func (l *ledger) call(n int, op, id string, rev uint64) {
	a := l.account(id)
	l.calls[n] = &call{op, id, rev, a.highest}
	switch op {
	case "schedule", "series", "absent":
		a.certain, a.cut = false, 0
	case "cancel", "cancelrev":
		a.certain = false
	}
}

func (l *ledger) ack(n int, ok bool, rev uint64) {
	c := l.calls[n]
	if c == nil {
		l.problem("call %d is acknowledged and was not begun", n)
		return
	}
	delete(l.calls, n)
	a := l.account(c.id)
	before := *a
	a.certain = true
	switch {
	case c.op == "get":
		a.certain = before.certain
		l.got(c.id, a, ok, rev)
	case strings.HasPrefix(c.op, "cancel") && ok:
		l.cancelled(c.id, a, c.rev)
	case c.op == "absent" && !ok: // nothing has changed
	case ok:
		if rev <= c.before {
			l.problem("%s: revision %d follows %d", c.id, rev, c.before)
		}
		a.see(rev)
		a.present, a.rev, a.series = true, rev, c.op == "series"
		if c.op == "absent" {
			a.closed = rev - 1
		} else {
			a.replacedBy, a.replacedIn = rev, l.process
		}
	}
}

// got checks what Get has returned.
func (l *ledger) got(id string, a *account, ok bool, rev uint64) {
	switch {
	case !ok && a.certain && a.present && a.series:
		l.problem("%s: Get does not find the series of revision %d", id, a.rev)
	case !ok && a.certain && a.present && !l.over(a.attempts[a.rev]):
		l.problem("%s: Get does not find revision %d", id, a.rev)
	case ok && a.certain && !a.present:
		l.problem("%s: Get finds revision %d, which was cancelled or is done", id, rev)
	case ok && rev < a.rev:
		l.problem("%s: Get finds revision %d, and %d was acknowledged", id, rev, a.rev)
	}
	if !ok && !strings.HasPrefix(id, "s") { // an occurrence of a cancelled series may be handled still
		a.closed = max(a.closed, a.highest)
	}
}

// cancelled enters a Cancel that has returned true. rev is the revision that it has demanded, or 0.
func (l *ledger) cancelled(id string, a *account, rev uint64) {
	if !a.present {
		l.problem("%s: Cancel returned true, and nothing was armed", id)
	}
	if rev == 0 && !a.series {
		rev = a.rev
	}
	a.present = false
	if rev == 0 {
		return
	}
	if t := a.attempts[rev]; t != nil && t.last > 0 && t.ended != "failed" && t.ended != "postponed" {
		l.problem("%s: Cancel returned true while attempt %d of revision %d was handled or after it was done", id, t.last, rev)
	}
	a.cancelled[rev] = true
	a.cut = rev
}

func (l *ledger) start(id string, rev uint64, attempt int) {
	a := l.account(id)
	t := a.of(rev)
	key := fmt.Sprintf("%s@%d", id, rev)
	switch {
	case a.cancelled[rev] || a.cut != 0 && rev >= a.cut:
		l.problem("%s: attempt %d started, and it was cancelled", key, attempt)
	case rev <= a.closed && (rev >= a.replacedBy || a.replacedIn != l.process):
		l.problem("%s: attempt %d started after it had an outcome", key, attempt)
	case rev < a.replacedBy && (t.late || a.replacedIn != l.process):
		l.problem("%s: attempt %d started after it was replaced by %d", key, attempt, a.replacedBy)
	case attempt < t.last || attempt == t.last && t.ended != "postponed":
		l.problem("%s: attempt %d started after attempt %d", key, attempt, t.last)
	case t.process == l.process && t.ended == "":
		l.problem("%s: attempt %d started while attempt %d was handled", key, attempt, t.last)
	case t.process == l.process && t.ended == "done":
		l.problem("%s: attempt %d started after attempt %d was done", key, attempt, t.last)
	}
	a.see(rev)
	t.late = rev < a.replacedBy
	t.last, t.process, t.ended = max(t.last, attempt), l.process, ""
}

func (l *ledger) end(id string, rev uint64, attempt int, how string) {
	t := l.account(id).of(rev)
	if t.last != attempt || t.process != l.process || t.ended != "" {
		l.problem("%s@%d: attempt %d ended and was not running", id, rev, attempt)
	}
	t.ended = how
	if how == "done" {
		t.done++
	}
}

// left checks the end: the last process has cancelled the series and has waited for all timers.
func (l *ledger) left(n uint64) {
	if n != 0 {
		l.problem("%d timers are left", n)
	}
	for id, a := range l.ids {
		if t := a.attempts[a.rev]; a.certain && a.present && (a.series || !l.over(t)) {
			l.problem("%s: revision %d has no outcome", id, a.rev)
		}
		for rev, t := range a.attempts {
			if t.dead && t.ended == "done" && !l.exhausted(t) {
				l.problem("%s@%d is dead and done", id, rev)
			}
		}
	}
}
