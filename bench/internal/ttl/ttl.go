// Package ttl is a map whose entries expire, for programs to copy and change. Each entry has its
// own time to live, and with Options.Sliding a Get may give it more.
//
// The entries are in the wheel of a foliot.Expirer, not in objects of their own, and the index has
// four bytes for each. So a map of keys and values without pointers costs the garbage collector
// next to nothing, takes little memory, and gives it back when entries have expired.
package ttl

import (
	"errors"
	"hash/maphash"
	"runtime"
	"sync"
	"time"

	"github.com/foliot-go/foliot"
	"github.com/foliot-go/foliot/wheel"
)

// ErrFull is returned by Set if a shard has 16,777,215 entries already.
var ErrFull = errors.New("ttl: the map is full; use more shards")

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

	// index is a hash table with linear probing. Its length is 0 or a power of two. An element has
	// the number of an entry and above it, from numberBits on, 8 bits of the hash. 0 is free.
	index []uint32
	live  int      // elements of index that have an entry
	dead  int      // elements of index whose entry has left
	_     [64]byte // the lock of another shard is on another cache line
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

const (
	numberBits = 24
	numberMask = 1<<numberBits - 1

	deadRef = 255 << numberBits // an element whose entry has left; no entry has the number 0
)

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
		s.entries.Reschedule(h, m.sliding)
	}
	return e.value, true
}

// Set sets the value of a key, which expires after ttl. It replaces the value that the key had. It
// returns an error if the shard is full, and if the map or the runtime is closed.
func (m *Map[K, V]) Set(key K, value V, ttl time.Duration) error {
	s, hash := m.lock(key)
	defer s.mu.Unlock()
	if h, at := s.find(hash, key); at >= 0 {
		if !s.entries.Reschedule(h, ttl) {
			return foliot.ErrClosed
		}
		s.entries.Value(h).value = value
		return nil
	}
	h, err := s.entries.Schedule(ttl, entry[K, V]{key, value})
	if err != nil {
		return err
	}
	if h.Number() > numberMask {
		s.entries.Cancel(h)
		return ErrFull
	}
	if 4*(s.live+s.dead+1) > 3*len(s.index) {
		s.rebuild()
	}
	s.link(hash, h.Number())
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
	e, ok := s.entries.Cancel(h)
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
		left += s.entries.Close()
		s.mu.Unlock()
	}
	return left
}

// find returns the handle of a key and its place in the index, or -1 if there is none. In Evict
// the entry has left the Expirer already, and is found because its number names no entry.
func (s *shard[K, V]) find(hash uint64, key K) (h wheel.Handle, at int) {
	mask := len(s.index) - 1
	for i := int(hash >> 33); mask >= 0; i++ {
		x := s.index[i&mask]
		if x == 0 {
			break
		}
		if (x^tag(hash))>>numberBits == 0 && x&numberMask != 0 {
			if h, e := s.entries.Numbered(x & numberMask); e == nil || e.key == key {
				return h, i & mask
			}
		}
	}
	return 0, -1
}

// tag returns 8 bits of a hash, where an element of the index has them.
func tag(hash uint64) uint32 { return uint32(hash) &^ numberMask }

// link adds an entry to the index, which has room.
func (s *shard[K, V]) link(hash uint64, number uint32) {
	mask := len(s.index) - 1
	i := int(hash>>33) & mask
	for s.index[i] != 0 {
		i = (i + 1) & mask
	}
	s.index[i] = tag(hash) | number
	s.live++
}

// unlink removes the entry at a place in the index. If few are left of many, the index shrinks.
func (s *shard[K, V]) unlink(at int) {
	s.index[at] = deadRef
	s.live--
	s.dead++
	if len(s.index) > 64 && 8*s.live < len(s.index) {
		s.rebuild()
	}
}

// rebuild makes a new index without dead elements, of which up to three eighths are in use.
func (s *shard[K, V]) rebuild() {
	size := 8
	for 3*size < 8*(s.live+1) {
		size *= 2
	}
	old := s.index
	s.index, s.live, s.dead = make([]uint32, size), 0, 0
	for _, x := range old {
		if number := x & numberMask; number != 0 {
			_, e := s.entries.Numbered(number)
			s.link(maphash.Comparable(s.seed, e.key), number)
		}
	}
}
