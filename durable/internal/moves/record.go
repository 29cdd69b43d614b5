package moves

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/foliot-go/foliot/durable"
)

// A Record is what a store keeps of a timer, except for its payload.
type Record struct {
	State   State
	Kind    string
	Every   int64  // ns; 0: once; byNext: periodic by the function of its kind
	Payload uint32 // the length of the payload

	// The deadline that comes next. Where nothing is armed, that of the occurrence.
	At     int64 // ns since 1970
	Rev    uint64
	Missed uint64 // occurrences that were passed over since the last one that fired
	Series uint64 // the revision under which the timer was scheduled: that of the first occurrence

	// The occurrence that has fired and has no outcome; only in states that have one.
	Occurrence Occurrence
}

// An Occurrence has fired and has no outcome yet.
type Occurrence struct {
	At      int64
	Rev     uint64
	Attempt uint32 // of the attempts that were started, without those that were postponed
	Missed  uint64
	RetryAt int64 // retrying, armedRetrying: the time of the next attempt
}

// byNext is Every of a timer with ByNext. The period of a timer is at least a millisecond.
const byNext = 1

// HasOccurrence reports whether an occurrence has no outcome in this state.
func (s State) HasOccurrence() bool { return s != None && s != Armed }

// HasBoth reports whether something is armed besides an occurrence.
func (s State) HasBoth() bool { return s == ArmedHandling || s == ArmedRetrying }

// IsRetrying reports whether an occurrence waits for another attempt.
func (s State) IsRetrying() bool { return s == Retrying || s == ArmedRetrying }

// IsHandling reports whether an attempt has started and not ended.
func (s State) IsHandling() bool { return s == Handling || s == ArmedHandling }

// IsArmed reports whether Cancel finds something.
func (s State) IsArmed() bool { return Table[s][Cancel] != Illegal }

// Move changes the state by an event. It returns false and changes nothing if that is illegal.
func (r *Record) Move(e Event) bool {
	to := Table[r.State][e]
	if to == Illegal {
		return false
	}
	r.State = to
	if !to.HasOccurrence() {
		r.Occurrence = Occurrence{}
	}
	return true
}

// IsByNext reports whether the timer has ByNext.
func (r *Record) IsByNext() bool { return r.Every == byNext }

// Timer returns the timer without its payload.
func (r *Record) Timer(id string) durable.Timer {
	t := durable.Timer{ID: id, At: time.Unix(0, r.At), Kind: r.Kind, Every: time.Duration(r.Every), Rev: r.Rev}
	if r.IsByNext() {
		t.Every, t.ByNext = 0, true
	}
	return t
}

// Fire returns the occurrence without its payload.
func (r *Record) Fire(id string) durable.Fire {
	t := r.Timer(id)
	t.At, t.Rev = time.Unix(0, r.Occurrence.At), r.Occurrence.Rev
	return durable.Fire{Timer: t, Attempt: int(r.Occurrence.Attempt), Missed: int(min(r.Occurrence.Missed, math.MaxInt32))}
}

// SetRev gives a record the revision of its message, if it has none.
func (r *Record) SetRev(rev uint64) {
	if r.Rev == 0 {
		r.Rev = rev
	}
	if r.Series == 0 {
		r.Series = r.Rev
	}
}

// Age returns how much greater Rev is than Series, at most 1<<32-1. A store may keep it in place of Series: then an
// occurrence that is older cannot end its series.
func (r *Record) Age() uint32 { return uint32(min(r.Rev-r.Series, math.MaxUint32)) }

// WakeAt returns the time at which the Scheduler must look at the timer, if it must.
func (r *Record) WakeAt() (at int64, ok bool) {
	switch r.State {
	case Armed, ArmedHandling:
		return r.At, true
	case Retrying:
		return r.Occurrence.RetryAt, true
	case ArmedRetrying:
		return min(r.At, r.Occurrence.RetryAt), true
	}
	return 0, false
}

// The first byte of each record is its version. Another one is refused: a newer version of this package has
// written it. A record has the later one only if it needs it.
const (
	recordVersion = 1
	seriesVersion = 2 // with Series, which is Rev in others
)

// ErrRecord is returned for a record that cannot be decoded.
var ErrRecord = errors.New("the record is damaged")

// RecordMax is the largest number of bytes of an encoded record without its kind and payload.
const RecordMax = 3 + 2*binary.MaxVarintLen32 + 9*binary.MaxVarintLen64

// Append appends the record to b.
//
//	version, state, len(kind), kind…, as varints: every, payload, at, rev, missed
//	in seriesVersion, as varint: series
//	in states that have an occurrence, as varints: at, rev, attempt, missed, retryAt
func (r *Record) Append(b []byte) []byte {
	version := byte(recordVersion)
	if r.Series != r.Rev {
		version = seriesVersion
	}
	b = append(b, version, byte(r.State), byte(len(r.Kind)))
	b = append(b, r.Kind...)
	b = binary.AppendUvarint(b, uint64(r.Every))
	b = binary.AppendUvarint(b, uint64(r.Payload))
	b = binary.AppendVarint(b, r.At)
	b = binary.AppendUvarint(b, r.Rev)
	b = binary.AppendUvarint(b, r.Missed)
	if version == seriesVersion {
		b = binary.AppendUvarint(b, r.Series)
	}
	if r.State.HasOccurrence() {
		o := &r.Occurrence
		b = binary.AppendVarint(b, o.At)
		b = binary.AppendUvarint(b, o.Rev)
		b = binary.AppendUvarint(b, uint64(o.Attempt))
		b = binary.AppendUvarint(b, o.Missed)
		b = binary.AppendVarint(b, o.RetryAt)
	}
	return b
}

// DecodeRecord decodes the record that b begins with, and returns the rest of b.
func DecodeRecord(b []byte) (r Record, rest []byte, err error) {
	d := decoder{b: b}
	version := d.byte()
	if version != recordVersion && version != seriesVersion && d.err == nil {
		return r, nil, fmt.Errorf("the record has version %d; this program knows versions up to %d: use a newer one", version, seriesVersion)
	}
	r.State = State(d.byte())
	r.Kind = string(d.bytes(uint64(d.byte())))
	r.Every = int64(d.uvarint(math.MaxInt64))
	r.Payload = uint32(d.uvarint(math.MaxUint32 >> 3))
	r.At = d.varint()
	r.Rev = d.uvarint(math.MaxUint64)
	r.Missed = d.uvarint(math.MaxUint64)
	if r.Series = r.Rev; version == seriesVersion {
		r.Series = d.uvarint(math.MaxUint64)
	}
	if r.State <= None || r.State >= States {
		d.err = ErrRecord
	} else if r.State.HasOccurrence() {
		o := &r.Occurrence
		o.At = d.varint()
		o.Rev = d.uvarint(math.MaxUint64)
		o.Attempt = uint32(d.uvarint(math.MaxUint32))
		o.Missed = d.uvarint(math.MaxUint64)
		o.RetryAt = d.varint()
	}
	if d.err == nil && (r.Kind == "" || (r.State.HasBoth() || r.Series != r.Rev) && r.Every == 0) {
		d.err = ErrRecord
	}
	return r, d.b, d.err
}

// A DeadRecord is an occurrence whose attempts are used up.
type DeadRecord struct {
	Fire durable.Fire // with its payload and its error
}

// Append appends the record to b: version, and as uvarints or with their lengths before them: kind,
// every, at, rev, attempt, missed, error, payload.
func (r *DeadRecord) Append(b []byte) []byte {
	f := &r.Fire
	b = append(b, recordVersion)
	b = appendString(b, f.Kind)
	b = binary.AppendUvarint(b, uint64(f.Every))
	b = binary.AppendVarint(b, f.At.UnixNano())
	b = binary.AppendUvarint(b, f.Rev)
	b = binary.AppendUvarint(b, uint64(f.Attempt))
	b = binary.AppendUvarint(b, uint64(f.Missed))
	b = appendString(b, f.Error)
	return append(b, f.Payload...)
}

// DecodeDead decodes the dead record of an ID.
func DecodeDead(id string, b []byte) (r DeadRecord, err error) {
	d := decoder{b: b}
	if v := d.byte(); v != recordVersion && d.err == nil {
		return r, fmt.Errorf("the record has version %d; this program knows version %d: use a newer one", v, recordVersion)
	}
	f := &r.Fire
	f.ID = id
	f.Kind = string(d.bytes(d.uvarint(math.MaxInt32)))
	f.Every = time.Duration(d.uvarint(math.MaxInt64))
	f.At = time.Unix(0, d.varint())
	f.Rev = d.uvarint(math.MaxUint64)
	f.Attempt = int(d.uvarint(math.MaxInt32))
	f.Missed = int(d.uvarint(math.MaxInt32))
	f.Error = string(d.bytes(d.uvarint(math.MaxInt32)))
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
		d.err = ErrRecord
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
		d.err = ErrRecord
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.err = ErrRecord
		return 0
	}
	d.b = d.b[n:]
	return v
}
