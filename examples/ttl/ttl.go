// Package ttl is a map whose entries expire, for programs to copy and change. Each entry has its
// own time to live, and with Options.Sliding a Get may give it more.
//
// The entries are in the wheel of a foliot.Expirer, not in objects of their own, and the index holds
// handles of them. A map of keys and values without pointers therefore costs the garbage collector
// next to nothing, takes little memory, and gives it back when entries have expired.
package ttl

import (
	"hash/maphash"
	"runtime"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/wheel"
)

// Options configure a Map. The zero value is a good default.
type Options[K comparable, V any] struct {
	Runtime *foliot.Runtime // whose clock and timers to use; nil means foliot.Default()
	Sliding time.Duration   // after a Get an entry lives for at least this long; 0 means that Get changes nothing
	Shards  int             // parts with a lock each, rounded up to a power of two; 0 means 16 per processor

	// Evicted is called for each entry that has expired, with the lock of its shard held: it
	// must not use the map.
	Evicted func(key K, value V)
}

// A Map maps keys to values that expire. Its methods may be called from any goroutine.
type Map[K comparable, V any] struct {
	seed    maphash.Seed
	shards  []shard[K, V]
	sliding time.Duration
}

// A shard has the keys whose hashes have the same low bits. Its lock protects the index and the
// entries, so an entry that expires leaves both at once.
type shard[K comparable, V any] struct {
	mu      sync.Mutex
	entries *foliot.Expirer[entry[K, V]]
	seed    maphash.Seed

	// index is a hash table with linear probing. Its length is 0 or a power of two. A handle of 0
	// marks a dead element, whose entry has left. tags has a byte for each element: 7 bits of the
	// key's hash, so that the search rarely looks at the wrong entry, or 0 if the element is free.
	index []wheel.Handle
	tags  []uint8
	live  int      // elements of index that have an entry
	dead  int      // elements of index whose entry has left
	_     [64]byte // the lock of another shard is on another cache line
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty map.
func New[K comparable, V any](o Options[K, V]) *Map[K, V] {
	if o.Shards <= 0 {
		o.Shards = 16 * runtime.GOMAXPROCS(0)
	}
	n := 1
	for n < o.Shards {
		n *= 2
	}
	m := &Map[K, V]{seed: maphash.MakeSeed(), shards: make([]shard[K, V], n), sliding: o.Sliding}
	for i := range m.shards {
		s := &m.shards[i]
		s.seed = m.seed
		s.entries = foliot.NewExpirer(foliot.ExpirerOptions[entry[K, V]]{
			Runtime: o.Runtime,
			Locker:  &s.mu,
			Evict: func(e entry[K, V]) {
				_, at := s.find(maphash.Comparable(s.seed, e.key), e.key)
				s.unlink(at)
				if o.Evicted != nil {
					o.Evicted(e.key, e.value)
				}
			},
		})
	}
	return m
}

// lock locks the shard of a key. It returns the hash of the key, too.
func (m *Map[K, V]) lock(key K) (*shard[K, V], uint64) {
	hash := maphash.Comparable(m.seed, key)
	s := &m.shards[hash&uint64(len(m.shards)-1)]
	s.mu.Lock()
	return s, hash
}

// Get returns the value of a key. It returns false if there is none, or if it has expired.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	s, hash := m.lock(key)
	defer s.mu.Unlock()
	h, at := s.find(hash, key)
	if at < 0 {
		return value, false
	}
	e, left, ok := s.entries.Lookup(h)
	if !ok || left <= 0 { // it is due, and leaves in a moment
		return value, false
	}
	if left < m.sliding {
		s.entries.Reset(h, m.sliding)
	}
	return e.value, true
}

// Set sets the value of a key, which expires after ttl. It replaces the value that the key had. It
// returns an error if the map or the runtime is closed, or if the runtime is full.
func (m *Map[K, V]) Set(key K, value V, ttl time.Duration) error {
	s, hash := m.lock(key)
	defer s.mu.Unlock()
	if h, at := s.find(hash, key); at >= 0 {
		if !s.entries.Reset(h, ttl) {
			return foliot.ErrClosed
		}
		s.entries.ValueLocked(h).value = value
		return nil
	}
	h, err := s.entries.Push(ttl, entry[K, V]{key, value})
	if err != nil {
		return err
	}
	if 4*(s.live+s.dead+1) > 3*len(s.index) {
		s.rebuild()
	}
	s.link(hash, h)
	return nil
}

// Delete removes a key. It returns the value that the key had, if any.
func (m *Map[K, V]) Delete(key K) (value V, ok bool) {
	s, hash := m.lock(key)
	defer s.mu.Unlock()
	h, at := s.find(hash, key)
	if at < 0 {
		return value, false
	}
	s.unlink(at)
	e, ok := s.entries.Remove(h)
	return e.value, ok
}

// Len returns the number of entries, those that are due in a moment included.
func (m *Map[K, V]) Len() (n int) {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		n += s.live
		s.mu.Unlock()
	}
	return n
}

// Close ends expiry and returns the number of entries that are left. Get finds them until they are
// due, and Set returns foliot.ErrClosed. A map that is empty need not be closed.
func (m *Map[K, V]) Close() (left int) {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		s.entries.Close()
		left += s.entries.Len()
		s.mu.Unlock()
	}
	return left
}

// find returns the handle of a key and its place in the index, or -1 if there is none. In Evict
// the entry has left the Expirer already, and is found because its handle names no entry.
func (s *shard[K, V]) find(hash uint64, key K) (h wheel.Handle, at int) {
	mask := len(s.index) - 1
	for i := int(hash >> 33); mask >= 0 && s.tags[i&mask] != 0; i++ {
		if h := s.index[i&mask]; h != 0 && s.tags[i&mask] == tag(hash) {
			if e := s.entries.ValueLocked(h); e == nil || e.key == key {
				return h, i & mask
			}
		}
	}
	return 0, -1
}

// tag returns 7 bits of a hash, with the eighth bit set.
func tag(hash uint64) uint8 { return uint8(hash>>24) | 0x80 }

// link adds an entry to the index, which has room.
func (s *shard[K, V]) link(hash uint64, h wheel.Handle) {
	mask := len(s.index) - 1
	i := int(hash>>33) & mask
	for s.tags[i] != 0 {
		i = (i + 1) & mask
	}
	s.index[i], s.tags[i] = h, tag(hash)
	s.live++
}

// unlink removes the entry at a place in the index. If few are left of many, the index shrinks.
func (s *shard[K, V]) unlink(at int) {
	s.index[at] = 0
	s.live--
	s.dead++
	if len(s.index) > 64 && 8*s.live < len(s.index) {
		s.rebuild()
	}
}

// rebuild makes a new index without dead elements, of which up to a half are in use.
func (s *shard[K, V]) rebuild() {
	size := 8
	for size < 2*(s.live+1) {
		size *= 2
	}
	old := s.index
	s.index, s.tags, s.live, s.dead = make([]wheel.Handle, size), make([]uint8, size), 0, 0
	for _, h := range old {
		if h != 0 {
			s.link(maphash.Comparable(s.seed, s.entries.ValueLocked(h).key), h)
		}
	}
}
