package kvstore

import "github.com/foliot-go/foliot/durable/internal/moves"

// inlineMax is the length of a payload up to which it is part of the record. A longer one has its own
// key, so that it is not written again when the state of the timer changes.
const inlineMax = 512

// isInline reports whether the payload is part of the record.
func isInline(r *moves.Record) bool { return r.Payload <= inlineMax }

// appendRecord appends a record to b, and its payload if it is inline.
func appendRecord(b []byte, r *moves.Record, payload []byte) []byte {
	b = r.Append(b)
	if isInline(r) {
		b = append(b, payload...)
	}
	return b
}

// decodeRecord decodes a record, and its payload if it is inline. The payload is a part of b.
func decodeRecord(b []byte) (r moves.Record, payload []byte, err error) {
	r, rest, err := moves.DecodeRecord(b)
	switch {
	case err != nil:
		return r, nil, err
	case !isInline(&r) && len(rest) == 0:
		return r, nil, nil
	case isInline(&r) && len(rest) == int(r.Payload):
		return r, rest, nil
	}
	return r, nil, moves.ErrRecord
}
