//go:build unix

package jetstream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestTheLedgerFindsFaults checks the ledger with events that have one fault each. Each line begins with the
// number of the process and the time in milliseconds. "kill" kills a process, and "trouble TO" notes that
// the process was stopped until then.
func TestTheLedgerFindsFaults(t *testing.T) {
	const (
		scheduled = "0 1 call 1 schedule u1 0,0 2 ack 1 true 5,"
		fired     = "1 10 start u1 5 1 9,1 11 end u1 5 1 done,1 12 kept u1 5 1 true,"
		cancelled = "0 5 call 2 cancel u1 0,0 6 ack 2 true 0,"
		shared    = "0 1 call 1 schedule h1 0,0 2 ack 1 true 5,"
		postponed = "1 10 start u1 5 1 9,1 11 end u1 5 1 postponed,1 12 kept u1 5 1 true,"
		left      = "0 90000 left 0"
	)
	for _, tt := range []struct{ name, want, events string }{
		{"no fault", "", scheduled + fired + left},
		{"no fault: cancelled", "", scheduled + cancelled + left},
		{"no fault: the cancel came too late", "", scheduled + fired + "0 13 call 2 cancel u1 0,0 14 ack 2 false 0," + left},
		{"no fault: the call was cut off, and has happened", "", "0 1 call 1 schedule u1 0,0 2 fail 1," + fired + left},
		{"no fault: the call was cut off, and has not happened", "", "0 1 call 1 schedule u1 0,0 2 fail 1," + left},
		{"no fault: the process was killed during the attempt", "", scheduled + "1 10 start u1 5 1 9,1 11 kill,2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true," + left},
		{"no fault: the process was killed before the attempt was reported", "", scheduled + "1 11 kill,2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true," + left},
		{"no fault: the process was stopped during the attempt", "", scheduled + "1 10 start u1 5 1 9,1 10 trouble 6000,2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true,1 6001 end u1 5 1 done,1 6002 kept u1 5 1 false," + left},
		{"no fault: the process was stopped before the attempt, and it was cancelled meanwhile", "", scheduled + "1 3 trouble 6000,2 4 start u1 5 2 3,2 5 end u1 5 2 again,2 6 kept u1 5 2 true,0 7 call 2 cancel u1 0,0 8 ack 2 true 0,1 6001 start u1 5 1 3,1 6002 end u1 5 1 done,1 6003 kept u1 5 1 false," + left},
		{"no fault: tried again", "", scheduled + "1 10 start u1 5 1 9,1 11 end u1 5 1 again,1 12 kept u1 5 1 true,2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true," + left},
		{"no fault: tried again before it was reported that this is kept", "", scheduled + "1 10 start u1 5 1 9,1 11 end u1 5 1 again,2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true,1 30 kept u1 5 1 true," + left},
		{"no fault: tried again, and whether that is kept was not known", "", scheduled + "1 10 start u1 5 1 9,1 11 end u1 5 1 again,1 11 trouble 1000,2 200 start u1 5 2 199,2 201 end u1 5 2 done,2 202 kept u1 5 2 true,1 1500 kept u1 5 1 false," + left},
		{"no fault: postponed", "", scheduled + postponed + "1 20 start u1 5 1 19,1 21 end u1 5 1 postponed,1 22 kept u1 5 1 true,2 30 start u1 5 1 23,2 32 end u1 5 1 done,2 33 kept u1 5 1 true," + left},
		{"no fault: postponed, and the process was killed before that was kept", "", scheduled + "1 10 start u1 5 1 9,1 11 end u1 5 1 postponed,1 12 kill,2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true," + left},
		{"no fault: postponed, and cancelled", "", scheduled + postponed + "0 13 call 2 cancel u1 0,0 14 ack 2 true 0," + left},
		{"no fault: dead", "", scheduled + "1 10 start u1 5 1 9,1 11 end u1 5 1 dead,1 12 kept u1 5 1 true,0 80 dead u1 5 8," + left},
		{"no fault: dead, and the last attempt was not reported", "", scheduled + "1 10 start u1 5 7 9,1 11 end u1 5 7 again,1 12 kept u1 5 7 true,1 13 kill,0 80 dead u1 5 9," + left},
		{"no fault: replaced", "", shared + "1 3 call 1 schedule h1 0,1 4 ack 1 true 6,1 10 start h1 6 1 9,1 11 end h1 6 1 done,1 12 kept h1 6 1 true," + left},

		{"no fault: a series", "", "0 1 call 1 series s1 0,0 2 ack 1 true 5,1 10 start s1 5 1 9,1 11 end s1 5 1 done,1 12 kept s1 5 1 true,1 20 start s1 7 1 19,1 21 end s1 7 1 done,1 22 kept s1 7 1 true,0 30 call 2 cancel s1 0,0 31 ack 2 true 0," + left},

		{"no fault: a series, and the servers have not said that an occurrence has fired", "", "0 1 call 1 series s1 0,0 2 ack 1 true 5,1 10 trouble 15,1 11 maybe s1 9,1 20 start s1 7 1 19,1 21 end s1 7 1 done,1 22 kept s1 7 1 true,0 30 call 2 cancel s1 0,0 31 ack 2 true 0," + left},

		{"a timer is lost", "is lost", scheduled + left},
		{"a retry is lost", "is lost", scheduled + "1 10 start u1 5 1 9,1 11 end u1 5 1 again,1 12 kept u1 5 1 true," + left},
		{"a postponed timer is lost", "is lost", scheduled + postponed + left},
		{"a postponed attempt goes on", "started while attempt 1 was handled", scheduled + "1 10 start u1 5 1 9,2 10 start u1 5 1 9,1 11 end u1 5 1 postponed,1 12 kept u1 5 1 true,2 21 end u1 5 1 done,2 22 kept u1 5 1 true," + left},
		{"a timer is left", "1 timers are left", scheduled + fired + "0 80 has u2 9,0 90 left 1"},
		{"what is left is not reported", "-1 timers are left", scheduled + fired},
		{"a cancelled timer fires", "started after Cancel had returned true", scheduled + cancelled + fired + left},
		{"a cancelled timer had fired", "attempt 1 had started", scheduled + fired + "0 13 call 2 cancel u1 0,0 14 ack 2 true 0," + left},
		{"cancelled and done", "is done and cancelled", scheduled + fired + "0 13 call 2 cancel u1 0,0 14 ack 2 true 0," + left},
		{"done twice", "is done and done", scheduled + fired + "2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true," + left},
		{"a repeat of what is done", "attempt 2 started after attempt 1 was done", scheduled + fired + "2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 false," + left},
		{"dead too early", "is dead after 7 attempts", scheduled + "1 10 start u1 5 7 9,1 11 end u1 5 7 again,1 12 kept u1 5 7 true,1 13 kill,0 80 dead u1 5 7," + left},
		{"done and dead", "is done and dead", scheduled + fired + "0 80 dead u1 5 8," + left},
		{"another key", "no call has made this revision", scheduled + "1 10 start u1 7 1 9,1 11 end u1 7 1 done,1 12 kept u1 7 1 true," + left},
		{"one attempt twice", "attempt 1 started twice", scheduled + "1 10 start u1 5 1 9,1 11 kill,2 20 start u1 5 1 19,2 21 end u1 5 1 done,2 22 kept u1 5 1 true," + left},
		{"two attempts at once", "while attempt 1 was handled", scheduled + "1 10 start u1 5 1 9,2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true," + left},
		{"tried again too early", "while attempt 1 was handled", scheduled + "1 10 start u1 5 1 9,2 20 start u1 5 2 19,1 30 end u1 5 1 again,1 31 kept u1 5 1 true,2 40 end u1 5 2 done,2 41 kept u1 5 2 true," + left},
		{"tried again though that was refused", "while attempt 1 was handled", scheduled + "1 10 start u1 5 1 9,1 11 end u1 5 1 again,1 12 kept u1 5 1 false,2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true," + left},
		{"two attempts at once after a short stop", "while attempt 1 was handled", scheduled + "1 10 start u1 5 1 9,1 10 trouble 1000,2 20 start u1 5 2 19,2 21 end u1 5 2 done,2 22 kept u1 5 2 true,1 6001 end u1 5 1 done,1 6002 kept u1 5 1 false," + left},
		{"attempts in the wrong order", "attempt 1 started after attempt 2", scheduled + "2 10 start u1 5 2 9,2 11 end u1 5 2 done,2 12 kept u1 5 2 true,1 20 start u1 5 1 19,1 21 end u1 5 1 done,1 22 kept u1 5 1 false," + left},
		{"two calls with one revision", "two calls have made revision 5", shared + "1 3 call 1 schedule h1 0,1 4 ack 1 true 5,1 10 start h1 5 1 9,1 11 end h1 5 1 done,1 12 kept h1 5 1 true," + left},
		{"a process reports an error", "error x", "0 1 error x," + left},

		{"a false no of Cancel", "not linearizable", shared + "1 3 call 1 cancel h1 0,1 4 ack 1 false 0,1 10 start h1 5 1 9,1 11 end h1 5 1 done,1 12 kept h1 5 1 true," + left},
		{"a false no of Get", "not linearizable", shared + "1 3 call 1 get h1 0,1 4 ack 1 false 0,1 10 start h1 5 1 9,1 11 end h1 5 1 done,1 12 kept h1 5 1 true," + left},
		{"a false ErrExists", "not linearizable", "0 1 call 1 absent h1 0,0 2 ack 1 exists 0," + left},
		{"IfAbsent twice", "not linearizable", "0 1 call 1 absent h1 0,0 2 ack 1 true 5,1 3 call 1 absent h1 0,1 4 ack 1 true 6,1 10 start h1 6 1 9,1 11 end h1 6 1 done,1 12 kept h1 6 1 true," + left},
		{"IfRev of an old revision", "not linearizable", shared + "0 3 call 2 schedule h1 0,0 4 ack 2 true 6,1 5 call 1 rev h1 5,1 6 ack 1 true 7,1 10 start h1 7 1 9,1 11 end h1 7 1 done,1 12 kept h1 7 1 true," + left},
		{"a replaced timer fires", "not linearizable", shared + "0 3 call 2 schedule h1 0,0 4 ack 2 true 6,1 10 start h1 5 1 9,1 11 end h1 5 1 done,1 12 kept h1 5 1 true,1 20 start h1 6 1 19,1 21 end h1 6 1 done,1 22 kept h1 6 1 true," + left},
		{"a shared timer is lost", "not linearizable", shared + left},
		{"a revision goes back", "not linearizable", shared + "0 3 call 2 schedule h1 0,0 4 ack 2 true 4,1 10 start h1 4 1 9,1 11 end h1 4 1 done,1 12 kept h1 4 1 true," + left},
		{"a cancelled series fires", "not linearizable", "0 1 call 1 series s1 0,0 2 ack 1 true 5,0 3 call 2 cancel s1 0,0 4 ack 2 true 0,1 10 start s1 5 1 9,1 11 end s1 5 1 done,1 12 kept s1 5 1 true," + left},
		{"a series has an occurrence without a handler", "not linearizable", "0 1 call 1 series s1 0,0 2 ack 1 true 5,1 11 maybe s1 9,1 20 start s1 7 1 19,1 21 end s1 7 1 done,1 22 kept s1 7 1 true,0 30 call 2 cancel s1 0,0 31 ack 2 true 0," + left},
		{"a series has several occurrences without a handler", "not linearizable", "0 1 call 1 series s1 0,0 2 ack 1 true 5,1 10 trouble 15,1 12 trouble 17,1 14 trouble 19,1 11 maybe s1 9,0 21 call 2 get s1 0,0 22 ack 2 true 7,0 23 call 3 get s1 0,0 24 ack 3 true 9,0 30 call 4 cancel s1 0,0 31 ack 4 true 0," + left},
		{"a series is lost", "not linearizable", "0 1 call 1 series s1 0,0 2 ack 1 true 5,1 10 start s1 5 1 9,1 11 end s1 5 1 done,1 12 kept s1 5 1 true," + left},
		{"a series goes back", "not linearizable", "0 1 call 1 series s1 0,0 2 ack 1 true 5,1 10 start s1 5 1 9,1 11 end s1 5 1 done,1 12 kept s1 5 1 true,1 20 start s1 4 1 19,1 21 end s1 4 1 done,1 22 kept s1 4 1 true,0 30 call 2 cancel s1 0,0 31 ack 2 true 0," + left},
		{"cancelled twice", "not linearizable", shared + "0 3 call 2 cancel h1 0,0 4 ack 2 true 0,1 5 call 1 cancel h1 0,1 6 ack 1 true 0," + left},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger()
			for child := range 3 {
				l.born(child)
			}
			for event := range strings.SplitSeq(tt.events, ",") {
				enter(l, event)
			}
			l.check()
			l.checkLinear(time.Minute)
			got := strings.Join(l.problems, "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("the ledger has found %q, want %q", got, tt.want)
			}
		})
	}
}

// enter enters an event of TestTheLedgerFindsFaults.
func enter(l *ledger, event string) {
	if event == "" {
		return
	}
	var life int
	var at, to int64
	_, _ = fmt.Sscan(event, &life, &at)
	at *= 1e6
	f := strings.Fields(event)
	switch f[2] {
	case "kill":
		l.lives[life].killed = at
		return
	case "trouble":
		_, _ = fmt.Sscan(f[3], &to)
		l.troubles = append(l.troubles, trouble{what: "stop", child: l.lives[life].child, from: at, to: to * 1e6, silences: to*1e6-at >= int64(shortSilence)})
		return
	case "start", "maybe": // the last word is a time, too
		last := &f[len(f)-1]
		_, _ = fmt.Sscan(*last, &to)
		*last = fmt.Sprint(to * 1e6)
	}
	l.line(life, fmt.Sprintf("%d %s", at, strings.Join(f[2:], " ")))
}

// plantFaults changes what the processes have reported, and checks that the ledger finds each change.
func (n *nemesis) plantFaults() {
	n.Helper()
	if n.Failed() {
		return
	}
	var fired, cancelled string // an ID that was done by its first attempt, and one that was cancelled
	for id, a := range n.ledger.ids {
		if !strings.HasPrefix(id, "u") || !a.calls[0].isKnown() {
			continue
		}
		if len(a.calls) == 1 && len(a.attempts) == 1 && a.attempts[0].number == 1 && a.attempts[0].ok && a.attempts[0].how == "done" {
			fired = id
		}
		if len(a.calls) == 2 && a.calls[1].isKnown() && a.calls[1].result == "true" && len(a.attempts) == 0 {
			cancelled = id
		}
	}
	if fired == "" || cancelled == "" {
		n.Error("no timer was done, or none was cancelled")
		return
	}
	of := func(id string) *account { return n.ledger.ids[id] }
	key := fmt.Sprintf("%s %d", fired, of(fired).calls[0].got)
	last := n.ledger.finish
	for _, f := range []struct {
		name, want string
		edit       func(text string) []string // of a line: what it becomes
		more       []string
	}{
		{"lose one", fired + "@", func(s string) []string {
			if strings.Contains(s, " "+key+" ") {
				return nil
			}
			return []string{s}
		}, nil},
		{"fire a cancelled one", "after Cancel had returned true", nil, []string{
			fmt.Sprintf("%d start %s %d 1 %d", last, cancelled, of(cancelled).calls[0].got, last),
		}},
		{"an outcome twice", "is done and done", nil, []string{
			fmt.Sprintf("%d start %s 2 %d", last, key, last), fmt.Sprintf("%d end %s 2 done", last, key), fmt.Sprintf("%d kept %s 2 true", last, key),
		}},
		{"another key", "no call has made this revision", func(s string) []string {
			return []string{strings.Replace(s, " "+key+" ", fmt.Sprintf(" %s %d ", fired, 1), 1)}
		}, nil},
		{"the same attempt twice", "started twice", nil, []string{fmt.Sprintf("%d start %s 1 %d", last, key, last)}},
	} {
		l := newLedger()
		l.lives = n.ledger.lives
		for _, line := range n.lines {
			texts := []string{line.text}
			if f.edit != nil {
				texts = f.edit(line.text)
			}
			for _, text := range texts {
				l.line(line.life, text)
			}
		}
		for _, text := range f.more {
			l.line(len(l.lives)-1, text)
		}
		l.troubles = n.ledger.troubles
		if f.name == "fire a cancelled one" {
			l.troubles = nil
		}
		l.check()
		if got := strings.Join(l.problems, "\n"); !strings.Contains(got, f.want) {
			n.Errorf("%s: the ledger does not find it: %q", f.name, got)
		}
	}
}
