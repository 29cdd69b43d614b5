//go:build unix

package jetstream_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A ledger has what some processes report about timers that they share, and what was done to these
// processes. It is checked at the end. Each line of a process is one event, with its time in nanoseconds
// before it:
//
//	call N OP ID REV             OP is schedule, series (a periodic timer), absent (IfAbsent), rev (IfRev), cancel,
//	                             cancelrev (IfRev) or get
//	ack N OK REV                 the call returned; OK is true, false, exists (ErrExists) or badrev (ErrRev)
//	fail N                       the call returned another error: it may have happened or not, also later
//	start ID REV ATTEMPT FROM    a handler begins; its firing was decided after the time FROM
//	end ID REV ATTEMPT HOW       the handler returns; HOW is done, again, postponed or dead
//	kept ID REV ATTEMPT OK       the end of the attempt is kept; OK is false if it has changed nothing. After trouble
//	                             that is not certain: another process may have changed the timer again
//	maybe ID FROM                a firing was asked for at the time FROM and is not known to be decided: another process
//	                             was faster, or the servers have not replied, and it may have happened
//	buried ID REV                the occurrence is dead: processes have ended during its attempts
//	has ID REV                   at the end: the store has this timer
//	dead ID REV ATTEMPT          at the end: this occurrence is dead
//	left N                       at the end: the number of timers in the store
//	error TEXT                   something is wrong
//
// IDs that begin with u are scheduled once and cancelled at most once. Others are shared. Those that begin with
// s are of periodic timers.
type ledger struct {
	lives    []life
	troubles []trouble
	ids      map[string]*account
	calls    map[lifeCall]*ledgerCall
	problems []string
	left     int // -1: not reported
	finish   int64
	count    map[string]int
}

// A life is a process from its start to its end.
type life struct {
	child  int
	killed int64 // the time; 0: it was not killed
}

// A trouble is what was done to a process, or to the servers.
type trouble struct {
	what     string
	child    int // -1: the servers
	from, to int64

	// silences says that other processes may have heard nothing of a process for so long that they take over
	// its attempts.
	silences bool
}

const (
	// settleTime is how long a trouble has consequences: a connection is found dead and made again, a
	// process that was silent is heard.
	settleTime = int64(6 * time.Second)

	// shortSilence is a time after which no process takes over the attempts of another one.
	shortSilence = 3 * time.Second
)

type lifeCall struct{ life, n int }

// An account is what is known of an ID.
type account struct {
	calls    []*ledgerCall
	attempts []*ledgerAttempt
	maybes   []ledgerMaybe
	has      uint64          // at the end: the revision of the timer
	dead     map[uint64]bool // at the end
	buried   bool
}

// isBuried reports whether an occurrence is dead because processes have ended during its attempts. The process that
// buried it may itself have ended before it reported that.
func (a *account) isBuried() bool {
	for rev := range a.dead {
		if !slices.ContainsFunc(a.attempts, func(t *ledgerAttempt) bool { return t.rev == rev && t.how == "dead" }) {
			return true
		}
	}
	return a.buried
}

// A ledgerCall is a call of the Scheduler.
type ledgerCall struct {
	op       string
	rev      uint64
	from, to int64 // to is 0 if the result is not known
	result   string
	got      uint64
}

// isKnown reports whether the call has returned, and the result is known.
func (c *ledgerCall) isKnown() bool { return c.to != 0 }

// schedules reports whether the call has armed a timer, or may have.
func (c *ledgerCall) schedules() bool {
	return (c.op == "schedule" || c.op == "series" || c.op == "absent" || c.op == "rev") && (!c.isKnown() || c.result == "true")
}

// cancels reports whether the call has removed a timer, or may have.
func (c *ledgerCall) cancels() bool {
	return strings.HasPrefix(c.op, "cancel") && (!c.isKnown() || c.result == "true")
}

// A ledgerAttempt is an attempt.
type ledgerAttempt struct {
	rev    uint64
	number int
	life   int
	from   int64 // it was decided after
	start  int64
	end    int64 // 0: the handler has not returned
	how    string
	kept   int64 // 0: it is not known whether the end is kept
	ok     bool
}

// A ledgerMaybe is a firing that may have happened without a report.
type ledgerMaybe struct {
	life     int
	from, to int64
}

// isRepeated reports whether the handler is called again after this attempt.
func (t *ledgerAttempt) isRepeated() bool { return t.how == "again" || t.how == "postponed" }

func newLedger() *ledger {
	return &ledger{ids: make(map[string]*account), calls: make(map[lifeCall]*ledgerCall), left: -1, count: make(map[string]int)}
}

func (l *ledger) problem(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

func (l *ledger) account(id string) *account {
	a := l.ids[id]
	if a == nil {
		a = &account{dead: make(map[uint64]bool)}
		l.ids[id] = a
	}
	return a
}

// born adds a process, and returns its number.
func (l *ledger) born(child int) int {
	l.lives = append(l.lives, life{child: child})
	return len(l.lives) - 1
}

// line enters an event of a process.
func (l *ledger) line(life int, text string) {
	f := strings.Fields(text)
	number := func(i int) int64 {
		if i >= len(f) {
			l.problem("line %q is too short", text)
			return 0
		}
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			l.problem("line %q: %v", text, err)
		}
		return n
	}
	word := func(i int) string {
		if i >= len(f) {
			l.problem("line %q is too short", text)
			return ""
		}
		return f[i]
	}
	at := number(0)
	l.count[word(1)]++
	switch word(1) {
	case "call":
		c := &ledgerCall{op: word(3), rev: uint64(number(5)), from: at}
		l.calls[lifeCall{life, int(number(2))}] = c
		a := l.account(word(4))
		a.calls = append(a.calls, c)
	case "ack":
		c := l.calls[lifeCall{life, int(number(2))}]
		if c == nil {
			l.problem("line %q is of no call", text)
			return
		}
		c.to, c.result, c.got = at, word(3), uint64(number(4))
	case "fail":
	case "start":
		a := l.account(word(2))
		a.attempts = append(a.attempts, &ledgerAttempt{
			rev: uint64(number(3)), number: int(number(4)), life: life, from: number(5), start: at,
		})
	case "end":
		isOpen := func(t *ledgerAttempt) bool { return t.end == 0 }
		if t := l.attempt(life, word(2), uint64(number(3)), int(number(4)), isOpen); t != nil {
			t.end, t.how = at, word(5)
		}
	case "kept":
		isOpen := func(t *ledgerAttempt) bool { return t.end != 0 && t.kept == 0 }
		if t := l.attempt(life, word(2), uint64(number(3)), int(number(4)), isOpen); t != nil {
			t.kept, t.ok = at, word(5) == "true"
		}
	case "maybe":
		a := l.account(word(2))
		if !strings.HasPrefix(word(2), "u") { // of these, the number of the next attempt says it
			a.maybes = append(a.maybes, ledgerMaybe{life, number(3), at})
		}
	case "buried":
		a := l.account(word(2))
		a.dead[uint64(number(3))], a.buried = true, true
	case "has":
		l.account(word(2)).has = uint64(number(3))
	case "dead":
		l.account(word(2)).dead[uint64(number(3))] = true
		if n := number(4); n < nemesisAttempts { // one more if the last process has ended during the last attempt
			l.problem("%s@%d is dead after %d attempts", word(2), number(3), n)
		}
	case "left":
		l.left, l.finish = int(number(2)), at
	default:
		l.problem("child %d: %s", l.lives[life].child, text)
	}
}

// attempt returns the attempt that a process has begun: the first one that is open, because a number may come
// again after it was postponed.
func (l *ledger) attempt(life int, id string, rev uint64, number int, isOpen func(t *ledgerAttempt) bool) *ledgerAttempt {
	for _, t := range l.account(id).attempts {
		if t.life == life && t.rev == rev && t.number == number && isOpen(t) {
			return t
		}
	}
	l.problem("%s@%d: attempt %d ends, and did not begin", id, rev, number)
	return nil
}

// troubled reports whether a process was killed or in trouble in a time, or the servers were. silent says
// that only troubles count in which a process may be taken for one that has ended.
func (l *ledger) troubled(life int, from, to int64, silent bool) bool {
	if k := l.lives[life].killed; k != 0 && k <= to {
		return true
	}
	for _, t := range l.troubles {
		if l.affects(t, life, from, to) && (t.silences || !silent) {
			return true
		}
	}
	return false
}

// affects reports whether a trouble has consequences for a process in a time.
func (l *ledger) affects(t trouble, life int, from, to int64) bool {
	return (t.child == l.lives[life].child || t.child < 0) && t.from <= to && t.to+settleTime >= from
}

// isStale reports whether an attempt began late, because its process was stopped or cut off between the
// decision and the begin.
func (l *ledger) isStale(t *ledgerAttempt) bool { return l.troubled(t.life, t.from, t.start, true) }

// settle forgets that the end of an attempt has changed nothing, if that is not certain.
func (l *ledger) settle() {
	for _, a := range l.ids {
		for _, t := range a.attempts {
			if t.kept != 0 && !t.ok && l.troubled(t.life, t.end, t.kept, false) {
				t.kept = 0
			}
		}
	}
}

// check checks all books, and adds what is wrong to problems.
func (l *ledger) check() {
	l.settle()
	if l.left != 0 {
		l.problem("%d timers are left", l.left)
	}
	for id, a := range l.ids {
		slices.SortFunc(a.attempts, func(s, t *ledgerAttempt) int {
			return cmp.Or(cmp.Compare(s.rev, t.rev), s.number-t.number, cmp.Compare(s.start, t.start))
		})
		l.checkKeys(id, a)
		l.checkAttempts(id, a)
		l.checkOutcomes(id, a)
		if strings.HasPrefix(id, "u") {
			l.checkOnce(id, a)
		}
	}
	slices.Sort(l.problems)
}

// checkKeys checks that each attempt is of a revision that a call has made.
func (l *ledger) checkKeys(id string, a *account) {
	if strings.HasPrefix(id, "s") {
		return // each occurrence makes the revision of the next one
	}
	made, unknown := make(map[uint64]bool), 0
	for _, c := range a.calls {
		switch {
		case c.schedules() && c.isKnown():
			if made[c.got] {
				l.problem("%s: two calls have made revision %d", id, c.got)
			}
			made[c.got] = true
		case c.schedules():
			unknown++
		}
	}
	for _, t := range a.attempts {
		if !made[t.rev] {
			if unknown == 0 {
				l.problem("%s@%d: an attempt started, and no call has made this revision", id, t.rev)
			}
			made[t.rev] = true
			unknown--
		}
	}
}

// checkAttempts checks the order of the attempts of each revision.
func (l *ledger) checkAttempts(id string, a *account) {
	for i, t := range a.attempts {
		if i == 0 || a.attempts[i-1].rev != t.rev {
			continue
		}
		last := a.attempts[i-1]
		key := fmt.Sprintf("%s@%d", id, t.rev)
		switch {
		case last.number == t.number && last.how != "postponed":
			l.problem("%s: attempt %d started twice", key, t.number)
		case t.start < last.start && !l.isStale(last):
			l.problem("%s: attempt %d started after attempt %d", key, last.number, t.number)
		case last.kept != 0 && last.ok && !last.isRepeated() && last.kept < t.from:
			l.problem("%s: attempt %d started after attempt %d was %s", key, t.number, last.number, last.how)
		case last.isRepeated() && last.end <= t.start && (last.kept == 0 || last.ok): // others may know it before it is reported
		case !l.troubled(last.life, last.from, t.start, true):
			l.problem("%s: attempt %d started while attempt %d was handled", key, t.number, last.number)
		}
	}
}

// checkOutcomes checks that no revision has two outcomes.
func (l *ledger) checkOutcomes(id string, a *account) {
	over := make(map[uint64]string)
	add := func(rev uint64, how string) {
		if old := over[rev]; old != "" {
			l.problem("%s@%d is %s and %s", id, rev, old, how)
		}
		over[rev] = how
	}
	for _, t := range a.attempts {
		if t.kept != 0 && t.ok && !t.isRepeated() {
			add(t.rev, t.how)
		}
	}
	for rev := range a.dead {
		if over[rev] != "dead" {
			add(rev, "dead")
		}
	}
	if !strings.HasPrefix(id, "u") || len(a.calls) == 0 {
		return
	}
	for _, c := range a.calls {
		if c.cancels() && c.isKnown() {
			add(a.calls[0].got, "cancelled")
		}
	}
}

// checkOnce checks a timer that was scheduled once and cancelled at most once.
func (l *ledger) checkOnce(id string, a *account) {
	if len(a.calls) == 0 {
		l.problem("%s was never scheduled", id)
		return
	}
	scheduled := a.calls[0]
	var cancel *ledgerCall
	if len(a.calls) > 1 {
		cancel = a.calls[1]
	}
	over, failed := false, false
	for _, t := range a.attempts {
		over = over || t.end != 0 && !t.isRepeated() && (t.kept == 0 || t.ok)
		failed = failed || t.isRepeated()
	}
	over = over || len(a.dead) > 0
	if scheduled.isKnown() && !over && (cancel == nil || !cancel.cancels()) {
		l.problem("%s@%d is lost: %d attempts", id, scheduled.got, len(a.attempts))
	}
	if cancel == nil || !cancel.cancels() || !cancel.isKnown() {
		return
	}
	for _, t := range a.attempts {
		switch {
		case t.start > cancel.to && !l.isStale(t):
			l.problem("%s@%d: attempt %d started after Cancel had returned true", id, t.rev, t.number)
		case t.start <= cancel.to && !failed && !l.isStale(t):
			l.problem("%s@%d: Cancel returned true, and attempt %d had started", id, t.rev, t.number)
		}
	}
}
