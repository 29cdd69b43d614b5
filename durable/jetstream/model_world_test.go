package jetstream_test

import (
	"errors"
	"fmt"

	"github.com/foliot-go/foliot/durable/internal/moves"
	"github.com/foliot-go/foliot/internal/interleave"
)

// A message is a request to the stream, or the reply.
type message struct {
	from    instance // 0: there is no message here
	attempt bool     // it belongs to the attempt of the process, not to the call
	reply   bool
	barrier bool
	id      uint8 // the number of the request, also of the reply

	// Of requests.
	condition uint8 // the sequence that the record must have
	to        record
	event     moves.Event
	ends      bits  // the revisions to which it gives an outcome, as the sender has decided
	rev       uint8 // of an attempt that ends the series: its revision

	// Of replies.
	ok     bool
	behind bool // a server that does not have the record that the request is to replace has refused it
	seq    uint8
}

// A view is what a process knows of the record.
type view struct {
	record record
	seq    uint8
}

// A phase is how far an operation is.
type phase uint8

const (
	idle      phase = iota
	sent            // it has sent a publish
	refused         // that was refused, and it waits until the index has changed
	checking        // a copy was refused, and it waits until the index shows whether another one was not
	barred          // it has sent a barrier
	following       // it waits until the index has followed
	running         // an attempt: the handler runs
	ended           // an attempt: the handler has ended, and the end was refused
	finishing       // an attempt: the end is sent
)

// A call is a call of Schedule, Cancel or Get.
type call struct {
	phase   phase
	next    uint8 // the place in the script
	request message
	copies  copies
	stops   bits  // the revisions that start no attempt any more if the request is a Cancel that succeeds
	barrier uint8 // the sequence up to which the consumer must deliver
	fresh   bool  // a barrier was taken, and the index has followed
	refused uint8 // the sequence that a publish was refused for

	// What is true of the call, unknown to the process.
	seen    bits // results without a change that were right at some time since the begin: bit 0: no, otherwise the revision of Get
	applied uint8
	ids     bits // of what it has sent
}

// copies are of a request.
type copies struct{ sent, refused uint8 }

// An attempt is an attempt of a process: from the decision to fire to the outcome.
type attempt struct {
	phase   phase
	request message
	copies  copies
	barrier uint8 // the sequence up to which the consumer must deliver
	rev     uint8
	number  uint8
	every   bool
	refused uint8 // the sequence that a publish was refused for; 0: none
	result  moves.Event
	stops   bits // the revisions that start no attempt any more if the request ends the series

	silent bool // the process was silent since it has sent the request
}

// A process is one of the processes.
type process struct {
	name      instance
	alive     bool
	silent    bool // no heartbeats come from it
	index     view
	delivered uint8 // the sequence up to which the consumer has delivered
	gap       bool  // the consumer has passed over a message since the last barrier was sent
	known     uint8 // the last revision that a call has returned
	call      call
	attempt   attempt
	well      bits // revisions of which a handler has ended well, since the process was silent last
}

// stored is a message in the stream.
type stored struct {
	record record
	by     instance // that waits for it; 0: none
	id     uint8    // of the request
}

// A world is a state of the model.
type world struct {
	record record
	last   uint8              // the last sequence, which is that of the record
	log    [seqMax + 1]stored // by sequence: messages that a process has not got yet
	net    [netMax]message
	ps     [processes]process
	names  instance
	left   budget

	// What is true of the timer.
	since   uint8             // the revision that the last Schedule has made
	made    bits              // revisions that were armed
	over    bits              // revisions that have an outcome
	ended   bits              // revisions of which a handler has ended well
	decided bits              // revisions that are done or dead
	stopped bits              // revisions for which Cancel has returned true
	begun   [seqMax + 1]uint8 // by revision: the greatest attempt that has begun, and was not postponed
	wrong   wrong
}

// budget is how often something may happen.
type budget struct {
	crashes, restarts uint8
	silences          uint8 // how often a process is silent
	losses            uint8 // messages or replies that are lost
	repeats           uint8 // requests that are repeated too early
	gaps              uint8 // messages that the consumer passes over before it comes to a newer one
	behinds           uint8 // requests that a server refuses, too, that was the leader before and is behind
	timeouts          uint8 // calls and attempts that end before the result is known
	failures          uint8 // handlers that fail
	postpones         uint8 // handlers that postpone
	deaths            uint8 // handlers that fail for the last time
	ends              uint8 // handlers that end a series
	ticks             uint8 // occurrences of a periodic timer
}

// wrong is what is wrong in a state.
type wrong uint8

const (
	nothing wrong = iota
	twoOutcomes
	outcomeLost
	outcomeBack
	unhandled
	firedCancelled
	cancelledFired
	overlap
	attemptTwice
	attemptAfterEnd
	repeated
	falseNo
	hiddenYes
	appliedTwice
	stuck
	forgotten
	endedOther
	goesOn
)

var errWrong = map[wrong]error{
	twoOutcomes:     errors.New("a revision has two outcomes"),
	outcomeLost:     errors.New("a revision is lost"),
	outcomeBack:     errors.New("a revision that has an outcome is in the stream"),
	unhandled:       errors.New("a revision is done, and no handler has ended"),
	firedCancelled:  errors.New("an attempt began after Cancel had returned true"),
	cancelledFired:  errors.New("a Cancel has removed a revision whose attempt had begun"),
	overlap:         errors.New("two attempts run at once"),
	attemptTwice:    errors.New("an attempt has the number of an earlier one"),
	attemptAfterEnd: errors.New("an attempt began after the outcome"),
	repeated:        errors.New("an attempt began after one that ended well, and whose process was heard all the time"),
	falseNo:         errors.New("a call returned a result that was never true meanwhile"),
	hiddenYes:       errors.New("a call that has changed the timer returned that it has not"),
	appliedTwice:    errors.New("one call has changed the timer twice"),
	stuck:           errors.New("a call or an attempt does not end"),
	forgotten:       errors.New("the timer is forgotten"),
	endedOther:      errors.New("a handler has ended another series than its own"),
	goesOn:          errors.New("a handler has not ended its series"),
}

func (w *world) fail(x wrong) {
	if w.wrong == nothing {
		w.wrong = x
	}
}

// A model is a scenario, maybe with a fault.
type model struct {
	before  byte // the call that has happened before: s, p or none
	scripts [processes]interleave.Script
	budget  budget
	fault   fault
}

func (m model) String() string {
	return fmt.Sprintf("before %q, scripts %q, %+v", m.before, m.scripts, m.budget)
}

// A step is what happens next, and to which process.
type step struct {
	what string
	p    int
}

func (s step) String() string { return fmt.Sprintf("%s %d", s.what, s.p) }

// begin returns the first state.
func (m model) begin() world {
	w := world{left: m.budget}
	if m.before == 's' || m.before == 'p' {
		w.last = 1
		w.record = record{state: moves.Armed, every: m.before == 'p', rev: 1}
		w.record = w.record.at(1)
		w.made, w.since = bit(1), 1
	}
	for p := range w.ps {
		m.start(&w, p)
		w.ps[p].known = w.last
	}
	return w
}

// start starts a process. Open returns when the index has followed.
func (m model) start(w *world, p int) {
	w.names++
	next := w.ps[p].call.next
	w.ps[p] = process{name: w.names, alive: true, index: view{w.record, w.last}, delivered: w.last, known: w.ps[p].known}
	w.ps[p].call.next = next
}

// send puts a message into the network. It returns false if there is no room: the walk does not follow
// such a path.
func (w *world) send(r message) bool {
	for i := range w.net {
		if w.net[i].from == 0 {
			w.net[i] = r
			return true
		}
	}
	return false
}

// newID returns a number of a request that is not in use.
func (w *world) newID() uint8 {
	var used bits
	w.eachID(func(id uint8) { used |= bit(id) })
	for id := uint8(1); id <= idMax; id++ {
		if !used.has(id) {
			return id
		}
	}
	panic("the model has too few numbers of requests")
}

// eachID calls f with the numbers of requests that are in use.
func (w *world) eachID(f func(id uint8)) {
	for i := range w.log {
		f(w.log[i].id)
	}
	for i := range w.net {
		f(w.net[i].id)
	}
	for p := range w.ps {
		f(w.ps[p].call.request.id)
		f(w.ps[p].attempt.request.id)
	}
}
