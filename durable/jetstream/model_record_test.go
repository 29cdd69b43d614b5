package jetstream_test

import (
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// This is a model of the protocol: two processes, one stream, one timer. A walk visits every state that
// the model can reach. What an operation does to a record is decided by the package moves, as in the store.
//
// The stream has one record. Each message that changes it has the next sequence, and all of them are
// delivered to each process in order, at any later time. A request and its reply are in the network
// until the stream or the process takes them, in any order, or until they are lost. The consumer passes over
// messages that a newer one has replaced, or not; a barrier may be before the newer one. A barrier takes no sequence
// here: its sequence is the one of the last message before it, which allows the same decisions. Every deadline has
// come: no clock decides anything.
//
// A request may be sent more than once. It has a number, which is in the record that it makes: when the
// consumer delivers the record, the request has happened. If a copy is refused, and it is not known what
// became of the others, the call waits until the consumer has delivered what the copy was in conflict with.
// Then it returns that it may have happened. An attempt of which that is not known is looked at again: if it
// has happened, the process finds that it is its own, and is not running.

const (
	processes = 2
	seqMax    = 12 // of messages in a walk
	netMax    = 5  // messages and replies in the network
	idMax     = 12 // numbers of requests in use at a time

	anySeq = 255 // no condition
)

// An instance is a process from its start to its crash. 0 is none.
type instance uint8

// A record is the state of the timer in the stream.
type record struct {
	state   moves.State
	every   bool
	rev     uint8    // what is armed; the occurrence if nothing is armed; in a message, 0 is its own sequence
	series  uint8    // the revision of the first occurrence, if it is periodic; in a message, 0 is its own sequence
	fired   uint8    // the revision of the occurrence
	attempt uint8    // of the occurrence
	owner   instance // of the attempt
}

// hasArmed reports whether a deadline comes next.
func (r record) hasArmed() bool { return r.state == moves.Armed || r.state.HasBoth() }

// revs returns the revisions that are in the record and have no outcome.
func (r record) revs() (b bits) {
	if r.hasArmed() {
		b |= bit(r.rev)
	}
	if r.state.HasOccurrence() {
		b |= bit(r.fired)
	}
	return b
}

// stops returns the revisions that start no attempt any more after Cancel.
func (r record) stops() bits {
	if r.state.IsHandling() {
		return r.revs() &^ bit(r.fired)
	}
	return r.revs()
}

// The deadline of each record, and the time of each next attempt. Both have come, unless the walk has had
// enough occurrences of a periodic timer.
const (
	modelAt    = 0
	modelRetry = -10
)

// real returns the record as the package moves has it.
func (r record) real() moves.Record {
	to := moves.Record{State: r.state, Kind: "k", At: modelAt, Rev: uint64(r.rev)}
	if r.every {
		to.Every, to.Series = 1000, uint64(r.series)
	}
	if r.state.HasOccurrence() {
		to.Occurrence = moves.Occurrence{Rev: uint64(r.fired), Attempt: uint32(r.attempt), RetryAt: modelRetry}
	}
	return to
}

// modelled returns the record of a real one. owner is the process of its attempt.
func modelled(r moves.Record, owner instance) record {
	if r.State == moves.None {
		return record{}
	}
	to := record{state: r.State, every: r.Every != 0, rev: uint8(r.Rev)}
	if to.every {
		to.series = uint8(r.Series)
	}
	to.fired, to.attempt = uint8(r.Occurrence.Rev), uint8(r.Occurrence.Attempt)
	if r.State.IsHandling() {
		to.owner = owner
	}
	return to
}

// bits is a set of revisions, or of other small numbers.
type bits uint16

func bit(n uint8) bits          { return 1 << n }
func (b bits) has(n uint8) bool { return b&bit(n) != 0 }
func (b bits) each(f func(uint8)) {
	for n := range uint8(16) {
		if b.has(n) {
			f(n)
		}
	}
}
