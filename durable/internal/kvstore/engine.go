// Package kvstore is a [durable.Store] on an ordered key-value engine: the timers, their states and
// the order in which decisions are made and kept. Package local gives it Pebble, package storetest a
// map in memory.
package kvstore

import "github.com/foliot-go/foliot/durable/internal/moves"

// An Engine keeps keys and values. Its methods may be called from any goroutine. Keys are ordered
// bytewise.
type Engine interface {
	// Get returns the value of a key, or nil if there is none. The caller may keep it.
	Get(key []byte) ([]byte, error)

	// Apply applies a batch at once: Get and Scan see all of it when Apply returns. Batches are
	// kept in the order in which they were applied: when Wait of one returns nil, it is kept, as are
	// all before it. After an error of Apply or Wait, all calls of Apply return an error.
	Apply(b *Batch) (wait func() error, err error)

	// Scan calls yield with the keys in [from, to) and their values, as of one instant, until it
	// returns false. The slices are valid during the call.
	Scan(from, to []byte, yield func(key, value []byte) bool) error

	// Snapshot returns the keys and values as of now.
	Snapshot() Snapshot

	// Close releases the engine. Nothing is called afterwards.
	Close() error
}

// A Snapshot is the content of an Engine at one instant.
type Snapshot interface {
	Scan(from, to []byte, yield func(key, value []byte) bool) error
	Close()
}

// A Batch is a list of changes that are applied together.
type Batch struct {
	Ops []Op

	buf []byte // the end of a buffer that keys and values share
}

// An Op sets a key, or deletes it if Value is nil.
type Op struct {
	Key, Value []byte
}

var empty = []byte{}

func (b *Batch) set(key, value []byte) {
	if value == nil {
		value = empty
	}
	b.Ops = append(b.Ops, Op{key, value})
}

func (b *Batch) delete(key []byte) { b.Ops = append(b.Ops, Op{key, nil}) }

// bufSize is the size of a buffer.
const bufSize = 16 << 10

// grow makes room for keys and values of n bytes in the buffer. What is in the old one stays there.
func (b *Batch) grow(n int) {
	if cap(b.buf)-len(b.buf) < n {
		b.buf = make([]byte, 0, max(n, bufSize))
	}
}

// space returns the rest of the buffer, to append to.
func (b *Batch) space() []byte { return b.buf[len(b.buf):] }

// bytes keeps what was appended to the rest of the buffer.
func (b *Batch) bytes(v []byte) []byte {
	b.buf = b.buf[:len(b.buf)+len(v)]
	return v[:len(v):len(v)]
}

// key returns a key of a timer.
func (b *Batch) key(prefix byte, id string) []byte {
	b.grow(1 + len(id))
	return b.bytes(appendKey(b.space(), prefix, id))
}

// timeKey returns a key of the index by At, or by the time of the next attempt.
func (b *Batch) timeKey(prefix byte, at int64, id string) []byte {
	b.grow(9 + len(id))
	return b.bytes(appendTimeKey(b.space(), prefix, at, id))
}

// record returns an encoded record.
func (b *Batch) record(r *moves.Record, payload []byte) []byte {
	b.grow(moves.RecordMax + len(r.Kind) + len(payload))
	return b.bytes(appendRecord(b.space(), r, payload))
}

// add adds copies of changes.
func (b *Batch) add(ops []Op) {
	for _, op := range ops {
		b.grow(len(op.Key) + len(op.Value))
		key := b.bytes(append(b.space(), op.Key...))
		value := op.Value
		if len(value) > 0 {
			value = b.bytes(append(b.space(), value...))
		}
		b.Ops = append(b.Ops, Op{key, value})
	}
}

// reset makes the batch empty. It keeps the memory, unless that is large.
func (b *Batch) reset() {
	if cap(b.Ops) > 1024 || cap(b.buf) > 4*bufSize {
		*b = Batch{}
		return
	}
	clear(b.Ops)
	b.Ops, b.buf = b.Ops[:0], b.buf[:0]
}
