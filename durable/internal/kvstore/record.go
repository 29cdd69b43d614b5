package kvstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// A record is what a store keeps of a timer, except for its payload.
type record struct {
	state   state
	kind    string
	every   int64  // ns; 0: once
	payload uint32 // the length of the payload

	// The deadline that comes next. Where nothing is armed, that of the occurrence.
	at     int64 // ns since 1970
	rev    uint64
	missed uint64 // occurrences that were passed over since the last one that fired

	// The occurrence that has fired and has no outcome; only in states that have one.
	occurrence occurrence
}

// An occurrence has fired and has no outcome yet.
type occurrence struct {
	at      int64
	rev     uint64
	attempt uint32 // of the attempts that were started
	missed  uint64
	retryAt int64 // retrying, armedRetrying: the time of the next attempt
}

// hasOccurrence reports whether an occurrence has no outcome in this state.
func (s state) hasOccurrence() bool { return s != none && s != armed }

// hasBoth reports whether something is armed besides an occurrence.
func (s state) hasBoth() bool { return s == armedHandling || s == armedRetrying }

// isRetrying reports whether an occurrence waits for another attempt.
func (s state) isRetrying() bool { return s == retrying || s == armedRetrying }

// isHandling reports whether an attempt has started and not ended.
func (s state) isHandling() bool { return s == handling || s == armedHandling }

// isArmed reports whether Cancel finds something.
func (s state) isArmed() bool { return moves[s][cancel] != illegal }

// move changes the state by an event. It returns false and changes nothing if that is illegal.
func (r *record) move(e event) bool {
	to := moves[r.state][e]
	if to == illegal {
		return false
	}
	r.state = to
	if !to.hasOccurrence() {
		r.occurrence = occurrence{}
	}
	return true
}

// timer returns the timer without its payload.
func (r *record) timer(id string) durable.Timer {
	return durable.Timer{ID: id, At: time.Unix(0, r.at), Kind: r.kind, Every: time.Duration(r.every), Rev: r.rev}
}

// fire returns the occurrence without its payload.
func (r *record) fire(id string) durable.Fire {
	t := r.timer(id)
	t.At, t.Rev = time.Unix(0, r.occurrence.at), r.occurrence.rev
	return durable.Fire{Timer: t, Attempt: int(r.occurrence.attempt), Missed: int(min(r.occurrence.missed, math.MaxInt32))}
}

// wakeAt returns the time at which the Scheduler must look at the timer, if it must.
func (r *record) wakeAt() (at int64, ok bool) {
	switch r.state {
	case armed, armedHandling:
		return r.at, true
	case retrying:
		return r.occurrence.retryAt, true
	case armedRetrying:
		return min(r.at, r.occurrence.retryAt), true
	}
	return 0, false
}

// recordVersion is the first byte of each record. Another one is refused: a newer version of this
// package has written it.
const recordVersion = 1

var errRecord = errors.New("the record is damaged")

// inlineMax is the length of a payload up to which it is part of the record. A longer one has its own
// key, so that it is not written again when the state of the timer changes.
const inlineMax = 512

// recordMax is the largest number of bytes of an encoded record without its kind and payload.
const recordMax = 3 + 10*binary.MaxVarintLen64

// isInline reports whether the payload is part of the record.
func (r *record) isInline() bool { return r.payload <= inlineMax }

// encode appends the record to b. The payload is used if it is inline.
//
//	version, state, len(kind), kind…, as varints: every, payload, at, rev, missed
//	in states that have an occurrence, as varints: at, rev, attempt, missed, retryAt
//	the payload, if it is inline
func (r *record) encode(b, payload []byte) []byte {
	b = append(b, recordVersion, byte(r.state), byte(len(r.kind)))
	b = append(b, r.kind...)
	b = binary.AppendUvarint(b, uint64(r.every))
	b = binary.AppendUvarint(b, uint64(r.payload))
	b = binary.AppendVarint(b, r.at)
	b = binary.AppendUvarint(b, r.rev)
	b = binary.AppendUvarint(b, r.missed)
	if r.state.hasOccurrence() {
		o := &r.occurrence
		b = binary.AppendVarint(b, o.at)
		b = binary.AppendUvarint(b, o.rev)
		b = binary.AppendUvarint(b, uint64(o.attempt))
		b = binary.AppendUvarint(b, o.missed)
		b = binary.AppendVarint(b, o.retryAt)
	}
	if r.isInline() {
		b = append(b, payload...)
	}
	return b
}

// decodeRecord decodes a record, and its payload if it is inline. The payload is a part of b.
func decodeRecord(b []byte) (r record, payload []byte, err error) {
	d := decoder{b: b}
	if v := d.byte(); v != recordVersion && d.err == nil {
		return r, nil, fmt.Errorf("the record has version %d; this program knows version %d: use a newer one", v, recordVersion)
	}
	r.state = state(d.byte())
	r.kind = string(d.bytes(uint64(d.byte())))
	r.every = int64(d.uvarint(math.MaxInt64))
	r.payload = uint32(d.uvarint(math.MaxUint32 >> 3))
	r.at = d.varint()
	r.rev = d.uvarint(math.MaxUint64)
	r.missed = d.uvarint(math.MaxUint64)
	if r.state <= none || r.state >= states {
		d.err = errRecord
	} else if r.state.hasOccurrence() {
		o := &r.occurrence
		o.at = d.varint()
		o.rev = d.uvarint(math.MaxUint64)
		o.attempt = uint32(d.uvarint(math.MaxUint32))
		o.missed = d.uvarint(math.MaxUint64)
		o.retryAt = d.varint()
	}
	if r.isInline() {
		payload = d.bytes(uint64(r.payload))
	}
	if d.err == nil && (len(d.b) != 0 || r.kind == "" || r.state.hasBoth() && r.every == 0) {
		d.err = errRecord
	}
	return r, payload, d.err
}

// A dead record is an occurrence whose attempts are used up.
type deadRecord struct {
	fire durable.Fire // with its payload
	err  string       // the error of the last attempt
}

// encode appends the record to b: version, and as uvarints or with their lengths before them: kind,
// every, at, rev, attempt, missed, error, payload.
func (r *deadRecord) encode(b []byte) []byte {
	f := &r.fire
	b = append(b, recordVersion)
	b = appendString(b, f.Kind)
	b = binary.AppendUvarint(b, uint64(f.Every))
	b = binary.AppendVarint(b, f.At.UnixNano())
	b = binary.AppendUvarint(b, f.Rev)
	b = binary.AppendUvarint(b, uint64(f.Attempt))
	b = binary.AppendUvarint(b, uint64(f.Missed))
	b = appendString(b, r.err)
	return append(b, f.Payload...)
}

func decodeDead(id string, b []byte) (r deadRecord, err error) {
	d := decoder{b: b}
	if v := d.byte(); v != recordVersion && d.err == nil {
		return r, fmt.Errorf("the record has version %d; this program knows version %d: use a newer one", v, recordVersion)
	}
	f := &r.fire
	f.ID = id
	f.Kind = string(d.bytes(d.uvarint(math.MaxInt32)))
	f.Every = time.Duration(d.uvarint(math.MaxInt64))
	f.At = time.Unix(0, d.varint())
	f.Rev = d.uvarint(math.MaxUint64)
	f.Attempt = int(d.uvarint(math.MaxInt32))
	f.Missed = int(d.uvarint(math.MaxInt32))
	r.err = string(d.bytes(d.uvarint(math.MaxInt32)))
	if d.err == nil && len(d.b) > 0 {
		f.Payload = append([]byte(nil), d.b...)
	}
	return r, d.err
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// A decoder reads from a slice. After an error it reads zeros.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.err = errRecord
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (d *decoder) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > limit {
		d.err = errRecord
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.err = errRecord
		return 0
	}
	d.b = d.b[n:]
	return v
}
