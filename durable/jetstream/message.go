package jetstream

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/foliot-go/foliot/durable"
	"github.com/foliot-go/foliot/durable/internal/moves"
)

// recordHeader is the header with the state of a timer. The body of a message is the payload, followed by
// that of the dead occurrence, if there is one. So a consumer of headers only has all states.
const recordHeader = "Foliot-Record"

// messageVersion is the first byte of the header. Another one is refused: a newer version of this package
// has written it.
const messageVersion = 1

// An instance is the random name of an open Store.
type instance [8]byte

func (i instance) String() string { return fmt.Sprintf("%x", i[:]) }

// A change names one change of one timer. The same change may be sent more than once, and happens once. n is
// the number of the call that waits for it, or 0.
type change struct {
	by instance
	n  uint64
}

// A message is what the stream has for an ID: everything that is known of its timer.
type message struct {
	change change

	// The timer. Its state is None if there is none: the message is an outcome then, and expires.
	record moves.Record
	owner  instance // that handles the occurrence; only in states that are handling

	// The dead occurrence of the ID, without its payload.
	hasDead bool
	dead    moves.DeadRecord
}

const (
	flagTimer = 1 << iota
	flagDead
	flagOwner
)

// encode returns the value of the header. It is padded to a length that depends on the kind only, if padded
// is set: a stream that is full takes a message in place of one that is not shorter, and a timer must be able
// to fire then.
//
//	version, flags, change (8 bytes, uvarint)
//	the timer, if it is there, then its owner (8 bytes), if it has one
//	the dead occurrence, if it is there: its length as uvarint, and its record without payload
func (m *message) encode(padded bool) string {
	var buf [256]byte
	flags := byte(0)
	if m.record.State != moves.None {
		flags |= flagTimer
	}
	if m.hasDead {
		flags |= flagDead
	}
	if m.record.State.IsHandling() {
		flags |= flagOwner
	}
	b := append(buf[:0], messageVersion, flags)
	b = append(b, m.change.by[:]...)
	b = binary.AppendUvarint(b, m.change.n)
	if flags&flagTimer != 0 {
		b = m.record.Append(b)
	}
	if flags&flagOwner != 0 {
		b = append(b, m.owner[:]...)
	}
	if m.hasDead {
		d := m.dead
		d.Fire.Payload = nil
		dead := d.Append(nil)
		b = binary.AppendUvarint(b, uint64(len(dead)))
		b = append(b, dead...)
	}
	if pad := paddedLen + len(m.record.Kind) - len(b); padded && pad > 0 {
		b = append(b, make([]byte, pad)...)
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

// paddedLen is the length of a message with all that a record can have, without its kind.
const paddedLen = 2 + 8 + 5 + moves.RecordMax + 8

var errMessage = errors.New("the message is damaged")

// decodeMessage decodes the header of a message with a sequence. A revision 0 stands for the sequence.
func decodeMessage(id, header string, rev uint64) (m message, err error) {
	var buf [512]byte
	in := buf[:0]
	if n := base64.RawStdEncoding.DecodedLen(len(header)); n > len(buf) {
		in = make([]byte, 0, n)
	}
	b, err := base64.RawStdEncoding.AppendDecode(in, []byte(header))
	if err != nil || len(b) < 2 {
		return m, errMessage
	}
	if b[0] != messageVersion {
		return m, fmt.Errorf("the message has version %d; this program knows version %d: use a newer one", b[0], messageVersion)
	}
	flags := b[1]
	b = b[2:]
	if len(b) < 8 {
		return m, errMessage
	}
	b = b[copy(m.change.by[:], b):]
	n := 0
	if m.change.n, n = binary.Uvarint(b); n <= 0 {
		return m, errMessage
	}
	b = b[n:]
	if flags&flagTimer != 0 {
		if m.record, b, err = moves.DecodeRecord(b); err != nil {
			return m, err
		}
		m.record.SetRev(rev)
	}
	if m.record.State.IsHandling() != (flags&flagOwner != 0) {
		return m, errMessage
	}
	if flags&flagOwner != 0 {
		if len(b) < 8 {
			return m, errMessage
		}
		b = b[copy(m.owner[:], b):]
	}
	if flags&flagDead != 0 {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return m, errMessage
		}
		m.hasDead = true
		if m.dead, err = moves.DecodeDead(id, b[n:n+int(size)]); err != nil {
			return m, err
		}
		b = b[n+int(size):]
	}
	for _, c := range b {
		if c != 0 {
			return m, errMessage
		}
	}
	return m, nil
}

// view returns what is known of an ID that has the message under a sequence.
func (m *message) view(seq uint64) view {
	return view{seq: seq, record: m.record, owner: m.owner, hasDead: m.hasDead}
}

// split returns the payloads of the timer and of its dead occurrence, from the body of a message.
func (m *message) split(body []byte) (payload, dead []byte, err error) {
	n := int(m.record.Payload)
	if m.record.State == moves.None {
		n = 0
	}
	if len(body) < n || len(body) > n && !m.hasDead {
		return nil, nil, errMessage
	}
	return body[:n:n], body[n:], nil
}

// fireOf returns a dead occurrence with its payload.
func fireOf(d moves.DeadRecord, payload []byte) durable.Fire {
	f := d.Fire
	if len(payload) > 0 {
		f.Payload = append([]byte(nil), payload...)
	}
	return f
}
