package jetstream

import "strings"

// The subjects of a stream named S:
//
//	S.t.ID   the record of a timer. The ID is escaped
//	S.b      barriers
//
// And a subject that is not in the stream:
//
//	S.h      heartbeats of the processes
//
// Partitions after the first are streams S-1, S-2 and so on, with subjects that begin likewise. Heartbeats
// have one subject for all partitions.
const (
	timerToken     = ".t."
	barrierToken   = ".b"
	heartbeatToken = ".h"
)

const hexDigits = "0123456789abcdef"

// isPlainByte reports whether a byte stands for itself in a subject.
func isPlainByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// isPlain reports whether a name is not empty and has only bytes that stand for themselves.
func isPlain(name string) bool {
	for i := range len(name) {
		if !isPlainByte(name[i]) {
			return false
		}
	}
	return name != ""
}

// escape returns an ID as one token of a subject. Letters, digits, _ and - stay. Another byte becomes = and
// two hexadecimal digits.
func escape(id string) string {
	if isPlain(id) {
		return id
	}
	var b strings.Builder
	b.Grow(len(id) + 16)
	for i := range len(id) {
		if c := id[i]; isPlainByte(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('=')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// unescape undoes escape. It returns false for what escape does not return.
func unescape(token string) (id string, ok bool) {
	if isPlain(token) {
		return token, true
	}
	b := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		switch c := token[i]; {
		case isPlainByte(c):
			b = append(b, c)
		case c == '=' && i+2 < len(token):
			high, low := strings.IndexByte(hexDigits, token[i+1]), strings.IndexByte(hexDigits, token[i+2])
			if high < 0 || low < 0 {
				return "", false
			}
			if c := byte(high<<4 | low); isPlainByte(c) {
				return "", false
			}
			b = append(b, byte(high<<4|low))
			i += 2
		default:
			return "", false
		}
	}
	return string(b), len(b) > 0
}
