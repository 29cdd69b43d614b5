package kvstore

import "encoding/binary"

// The keys of a store. The first byte says what it is:
//
//	r ID         the record of a timer
//	p ID         its payload, if it is long
//	d at ID      an index by At: no value
//	t at ID      an index of the timers that wait for another attempt, by its time: no value
//	o ID         an index of the timers that are armed while an occurrence is handled: no value
//	x ID         a dead timer
//	m name       a value of the store itself
const (
	recordPrefix  = 'r'
	payloadPrefix = 'p'
	duePrefix     = 'd'
	retryPrefix   = 't'
	bothPrefix    = 'o'
	deadPrefix    = 'x'
	metaPrefix    = 'm'
)

// Names of values of the store itself.
var (
	formatKey = []byte{metaPrefix, 'f', 'o', 'r', 'm', 'a', 't'}
	revKey    = []byte{metaPrefix, 'r', 'e', 'v'}
)

func key(prefix byte, id string) []byte {
	return appendKey(make([]byte, 0, 1+len(id)), prefix, id)
}

func appendKey(b []byte, prefix byte, id string) []byte {
	return append(append(b, prefix), id...)
}

// dueKey returns a key of the index by At. It sorts by time, then by ID.
func dueKey(at int64, id string) []byte {
	return appendTimeKey(make([]byte, 0, 9+len(id)), duePrefix, at, id)
}

// retryKey returns a key of the index by the time of the next attempt.
func retryKey(at int64, id string) []byte {
	return appendTimeKey(make([]byte, 0, 9+len(id)), retryPrefix, at, id)
}

func appendTimeKey(b []byte, prefix byte, at int64, id string) []byte {
	b = append(b, prefix)
	b = binary.BigEndian.AppendUint64(b, uint64(at)^1<<63)
	return append(b, id...)
}

// splitTimeKey undoes dueKey and retryKey.
func splitTimeKey(key []byte) (at int64, id string, ok bool) {
	if len(key) < 10 || key[0] != duePrefix && key[0] != retryPrefix {
		return 0, "", false
	}
	return int64(binary.BigEndian.Uint64(key[1:9]) ^ 1<<63), string(key[9:]), true
}

// after returns the first key that is after all keys with a prefix.
func after(prefix byte) []byte { return []byte{prefix + 1} }
