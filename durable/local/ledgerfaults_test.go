package local

import (
	"strings"
	"testing"
)

// TestLedgerFindsFaults checks the ledger with events that have one fault each.
func TestLedgerFindsFaults(t *testing.T) {
	for _, tt := range []struct{ name, want, events string }{
		{"no fault", "", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 done,boot,ready,left 0"},
		{"no fault: the call was cut off, and has happened", "", "boot,ready,call 1 schedule a,boot,has a 5,ready,start a 5 1,end a 5 1 done,left 0"},
		{"no fault: the call was cut off, and has not happened", "", "boot,ready,call 1 schedule a,boot,ready,left 0"},
		{"no fault: the attempt was cut off", "", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,boot,has a 5,ready,start a 5 2,end a 5 2 done,left 0"},
		{"no fault: the outcome was cut off", "", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 done,boot,has a 5,ready,start a 5 2,end a 5 2 done,left 0"},
		{"no fault: cancelled between attempts", "", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 failed,call 2 cancel a,ack 2 true 0,boot,ready,left 0"},
		{"no fault: replaced while it was handled", "", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,call 2 schedule a,ack 2 true 6,end a 5 1 failed,start a 6 1,end a 6 1 done,left 0"},
		{"no fault: replaced between the decision and the handler", "", "boot,ready,call 1 schedule a,ack 1 true 5,call 2 schedule a,ack 2 true 6,start a 5 1,end a 5 1 done,start a 6 1,end a 6 1 done,left 0"},
		{"no fault: a series is cancelled", "", "boot,ready,call 1 series s1 0,ack 1 true 5,start s1 5 1,end s1 5 1 done,call 2 cancelrev s1 6,ack 2 true 0,boot,ready,left 0"},
		{"no fault: dead", "", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 failed,start a 5 2,end a 5 2 failed,start a 5 3,end a 5 3 failed,boot,ready,dead a 5,left 0"},
		{"no fault: postponed", "", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 postponed,start a 5 1,end a 5 1 postponed,boot,has a 5,ready,start a 5 1,end a 5 1 done,left 0"},
		{"no fault: postponed, and that was cut off", "", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 postponed,boot,has a 5,ready,start a 5 2,end a 5 2 done,left 0"},
		{"no fault: cancelled after it was postponed", "", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 postponed,call 2 cancel a,ack 2 true 0,boot,ready,left 0"},

		{"an acknowledged timer is lost", "a: revision 5 is lost", "boot,ready,call 1 schedule a,ack 1 true 5,boot,ready"},
		{"an acknowledged replacement is lost", "revision 5 is there, and 6 was acknowledged", "boot,ready,call 1 schedule a,ack 1 true 5,call 2 schedule a,ack 2 true 6,boot,has a 5,ready"},
		{"a series is lost", "series of revision 5 is lost", "boot,ready,call 1 series s1 0,ack 1 true 5,start s1 5 1,end s1 5 1 done,boot,ready"},
		{"an attempt is lost", "a: revision 5 is lost", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,boot,ready"},
		{"a retry is lost", "a: revision 5 is lost", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 failed,boot,ready"},
		{"a postponed timer is lost", "a: revision 5 is lost", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 postponed,boot,ready"},
		{"a postponed attempt has a lower number", "attempt 1 started after attempt 2", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 failed,start a 5 2,end a 5 2 postponed,start a 5 1"},
		{"a timer never fires", "revision 5 has no outcome", "boot,ready,call 1 schedule a,ack 1 true 5,left 0"},
		{"a timer is left", "1 timers are left", "boot,ready,left 1"},
		{"Get loses a timer", "Get does not find revision 5", "boot,ready,call 1 schedule a,ack 1 true 5,call 2 get a,ack 2 false 0"},
		{"a cancelled timer is back", "was cancelled or done before", "boot,ready,call 1 schedule a,ack 1 true 5,call 2 cancel a,ack 2 true 0,boot,has a 5,ready"},
		{"a cancelled timer fires", "it was cancelled", "boot,ready,call 1 schedule a,ack 1 true 5,call 2 cancel a,ack 2 true 0,start a 5 1"},
		{"a cancelled timer had fired", "Cancel returned true while", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,call 2 cancel a,ack 2 true 0"},
		{"a cancelled timer was done", "after it was done", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 done,call 2 cancel a,ack 2 true 0"},
		{"a cancelled series fires", "it was cancelled", "boot,ready,call 1 series s1 0,ack 1 true 5,call 2 cancelrev s1 6,ack 2 true 0,start s1 7 1"},
		{"a cancelled timer fires after it was scheduled anew", "it was cancelled", "boot,ready,call 1 schedule a,ack 1 true 5,call 2 cancel a,ack 2 true 0,call 3 schedule a,ack 3 true 6,start a 5 1"},
		{"cancelled twice", "nothing was armed", "boot,ready,call 1 schedule a,ack 1 true 5,call 2 cancel a,ack 2 true 0,call 3 cancel a,ack 3 true 0"},
		{"a repeat with the same attempt", "attempt 1 started after attempt 1", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,boot,has a 5,ready,start a 5 1"},
		{"a repeat with a lower attempt", "attempt 1 started after attempt 2", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 2,boot,has a 5,ready,start a 5 1"},
		{"two attempts at once", "while attempt 1 was handled", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,start a 5 2"},
		{"a repeat of what is done", "after attempt 1 was done", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 done,start a 5 2"},
		{"a repeat after the outcome was seen", "after it had an outcome", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 done,boot,ready,boot,ready,start a 5 2"},
		{"a repeat after Get has not found it", "after it had an outcome", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 done,call 2 get a,ack 2 false 0,boot,ready,start a 5 2"},
		{"a replaced timer fires in the next process", "after it had an outcome", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,call 2 schedule a,ack 2 true 6,boot,has a 6,ready,start a 5 2"},
		{"a replaced series fires in the next process", "after it was replaced", "boot,ready,call 1 series s 0,ack 1 true 5,start s 5 1,call 2 series s 0,ack 2 true 6,boot,has s 6,ready,start s 5 2"},
		{"a replaced timer is tried again", "after it was replaced", "boot,ready,call 1 schedule a,ack 1 true 5,call 2 schedule a,ack 2 true 6,start a 5 1,end a 5 1 failed,start a 5 2"},
		{"no fault: replaced and cancelled between the decision and the handler", "", "boot,ready,call 1 schedule a,ack 1 true 5,call 2 schedule a,ack 2 true 6,call 3 cancel a,ack 3 true 0,call 4 get a,ack 4 false 0,start a 5 1,end a 5 1 done,left 0"},
		{"a repeat after IfAbsent has found nothing", "after it had an outcome", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 failed,call 2 absent a,ack 2 true 6,start a 5 2"},
		{"a revision goes back", "revision 5 follows 5", "boot,ready,call 1 schedule a,ack 1 true 5,boot,has a 5,ready,call 1 schedule a,ack 1 true 5"},
		{"dead and done", "dead and done", "boot,ready,call 1 schedule a,ack 1 true 5,start a 5 1,end a 5 1 done,dead a 5,left 0"},
		{"an end without a start", "was not running", "boot,ready,end a 5 1 done"},
		{"the process reports an error", "error x", "boot,ready,error x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger(3)
			for line := range strings.SplitSeq(tt.events, ",") {
				l.line(line)
			}
			got := strings.Join(l.problems, "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("the ledger has found %q, want %q", got, tt.want)
			}
		})
	}
}
