package serve

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// An envelope is what serve keeps as the payload of a durable timer: what to do when it is due.
//
// It is encoded as a version byte, the length of a JSON object, the object, and the payload as it was sent.
// So the payload is not parsed when the timer fires. Version 2 is the same, compressed after the first byte:
// a durable timer has room for 64 KiB, which the payload alone may need. JSON is text, and becomes smaller.
type envelope struct {
	URL     string            `json:"url,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`
	Kind    string            `json:"kind,omitzero"`
	Cron    string            `json:"cron,omitzero"`
	TZ      string            `json:"tz,omitzero"`

	Payload []byte `json:"-"` // JSON; nil if there is none
}

const (
	envelopePlain   = 1
	envelopeFlate   = 2
	envelopeMax     = 64 << 10 // of a durable timer
	envelopeInflate = 256 << 10
)

// errEnvelope says that a durable timer was not made by serve, or is damaged.
var errEnvelope = errors.New("the payload is not an envelope of foliot serve")

func (e *envelope) encode() ([]byte, error) {
	meta, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, 1+binary.MaxVarintLen32+len(meta)+len(e.Payload))
	b = append(b, envelopePlain)
	b = binary.AppendUvarint(b, uint64(len(meta)))
	b = append(b, meta...)
	b = append(b, e.Payload...)
	if len(b) <= envelopeMax {
		return b, nil
	}
	var packed bytes.Buffer
	packed.WriteByte(envelopeFlate)
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(b[1:])
	}
	if err == nil {
		err = w.Close()
	}
	return packed.Bytes(), err
}

func decodeEnvelope(b []byte) (*envelope, error) {
	if len(b) == 0 {
		return nil, errEnvelope
	}
	version, rest := b[0], b[1:]
	switch version {
	case envelopePlain:
	case envelopeFlate:
		r := flate.NewReader(bytes.NewReader(rest))
		inflated, err := io.ReadAll(io.LimitReader(r, envelopeInflate))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errEnvelope, err)
		}
		rest = inflated
	default:
		return nil, fmt.Errorf("%w: its version is %d", errEnvelope, version)
	}
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) {
		return nil, errEnvelope
	}
	var e envelope
	if err := json.Unmarshal(rest[n:n+int(size)], &e); err != nil {
		return nil, fmt.Errorf("%w: %w", errEnvelope, err)
	}
	if e.Payload = rest[n+int(size):]; len(e.Payload) == 0 {
		e.Payload = nil
	}
	return &e, nil
}
