package kvstore

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"sync"
)

// ErrCrashed is the error of a Memory that has crashed.
var ErrCrashed = errors.New("the memory engine has crashed")

// A Memory is an Engine in memory. It knows which batches are kept, and loses the others in Crash.
// Everything that it keeps is lost when the process ends.
type Memory struct {
	// Sync, if not nil, is called by each wait before its batch is kept. If it returns an error, the
	// engine fails. It is set before the first use.
	Sync func(b *Batch) error

	mu      sync.RWMutex
	applied content
	kept    map[string][]byte
	open    []*Batch // applied and not kept
	last    int      // the number of the last batch that was applied
	ended   error    // why nothing is possible any more
}

// content is a set of keys with their values, and the keys in order.
type content struct {
	values map[string][]byte
	keys   []string
}

// NewMemory returns an empty engine.
func NewMemory() *Memory { return newMemory(map[string][]byte{}) }

func newMemory(kept map[string][]byte) *Memory {
	return &Memory{
		applied: content{maps.Clone(kept), slices.Sorted(maps.Keys(kept))},
		kept:    kept,
	}
}

// Reopen returns an engine that begins with what this one has kept. This one is of no use any more.
func (m *Memory) Reopen() *Memory {
	m.Crash(0)
	m.mu.Lock()
	defer m.mu.Unlock()
	return newMemory(maps.Clone(m.kept))
}

// Crash ends the engine. The changes that are not kept are lost, except for those of the oldest keep
// batches: a crash may come after a batch is on the disk, and before wait has returned.
func (m *Memory) Crash(keep int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended != nil {
		return
	}
	m.keep(m.last - len(m.open) + min(keep, len(m.open)))
	m.ended = ErrCrashed
}

// Fail makes the engine fail with an error: nothing is kept from now on.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended == nil {
		m.ended = err
	}
}

// Open returns the number of batches that are applied and not kept.
func (m *Memory) Open() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.open)
}

// Get implements [Engine].
func (m *Memory) Get(key []byte) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.ended != nil {
		return nil, m.ended
	}
	return bytes.Clone(m.applied.values[string(key)]), nil
}

// Apply implements [Engine].
func (m *Memory) Apply(b *Batch) (wait func() error, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended != nil {
		return nil, m.ended
	}
	own := &Batch{} // the caller may use the memory of b again
	for _, op := range b.Ops {
		own.Ops = append(own.Ops, Op{bytes.Clone(op.Key), bytes.Clone(op.Value)})
	}
	for _, op := range own.Ops {
		m.applied.set(op)
	}
	m.open = append(m.open, own)
	m.last++
	number := m.last
	return func() error { return m.wait(number, own) }, nil
}

// wait makes sure that a batch is kept.
func (m *Memory) wait(number int, b *Batch) error {
	if m.Sync != nil {
		if err := m.Sync(b); err != nil {
			m.Fail(err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended != nil {
		return m.ended
	}
	m.keep(number)
	return nil
}

// keep keeps the batches up to a number. The caller holds mu.
func (m *Memory) keep(number int) {
	for m.last-len(m.open) < number {
		for _, op := range m.open[0].Ops {
			if op.Value == nil {
				delete(m.kept, string(op.Key))
			} else {
				m.kept[string(op.Key)] = op.Value
			}
		}
		m.open = m.open[1:]
	}
}

// Scan implements [Engine].
func (m *Memory) Scan(from, to []byte, yield func(key, value []byte) bool) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.ended != nil {
		return m.ended
	}
	m.applied.scan(from, to, yield)
	return nil
}

// Snapshot implements [Engine].
func (m *Memory) Snapshot() Snapshot {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return &memorySnapshot{content{maps.Clone(m.applied.values), slices.Clone(m.applied.keys)}}
}

// Close implements [Engine]. It keeps everything that was applied.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended == nil {
		m.keep(m.last)
		m.ended = errors.New("the memory engine is closed")
	}
	return nil
}

type memorySnapshot struct{ content }

func (s *memorySnapshot) Scan(from, to []byte, yield func(key, value []byte) bool) error {
	s.scan(from, to, yield)
	return nil
}

func (s *memorySnapshot) Close() {}

// set applies an operation.
func (c *content) set(op Op) {
	k := string(op.Key)
	i, found := slices.BinarySearch(c.keys, k)
	switch {
	case op.Value == nil && found:
		delete(c.values, k)
		c.keys = slices.Delete(c.keys, i, i+1)
	case op.Value == nil:
	case found:
		c.values[k] = op.Value
	default:
		c.values[k] = op.Value
		c.keys = slices.Insert(c.keys, i, k)
	}
}

// scan calls yield with the keys in [from, to), until it returns false.
func (c *content) scan(from, to []byte, yield func(key, value []byte) bool) {
	i, _ := slices.BinarySearch(c.keys, string(from))
	for ; i < len(c.keys) && c.keys[i] < string(to); i++ {
		if !yield([]byte(c.keys[i]), c.values[c.keys[i]]) {
			return
		}
	}
}
