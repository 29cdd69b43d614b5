package kvstore

import (
	"fmt"
	"sync"

	"github.com/foliot-go/foliot/durable/internal/moves"
)

// The records of a store with up to cacheMax timers are in memory, without their payloads: 120 to
// 170 bytes each with an ID of 16 bytes, so that an operation need not read from the engine. A larger store has in memory only
// the records whose changes are not kept yet, which the engine does not have.
//
// Both are in stripe.cache. What an ID does not have there is: nothing, if the cache is complete, and
// otherwise what the engine has.

// cacheMax is the number of timers up to which the cache is complete.
var cacheMax = 2 << 20

// A cached record takes 48 bytes.
type cached struct {
	at     int64
	rev    uint64
	every  int64
	rare   *rare  // nil for most timers
	bits   uint32 // the length of the payload times 8, plus the state
	kindID uint32
	age    uint32 // see moves.Record.Age
}

// rare is what few records have.
type rare struct {
	missed     uint64
	occurrence moves.Occurrence
}

// pack returns a record for the cache.
func (s *Store) pack(r *moves.Record) cached {
	c := cached{at: r.At, rev: r.Rev, every: r.Every, bits: r.Payload<<3 | uint32(r.State), kindID: s.kinds.number(r.Kind), age: r.Age()}
	if r.Missed != 0 || r.State.HasOccurrence() {
		c.rare = &rare{r.Missed, r.Occurrence}
	}
	return c
}

// unpack undoes pack.
func (s *Store) unpack(c cached) moves.Record {
	r := moves.Record{
		State: moves.State(c.bits & 7), Kind: s.kinds.name(c.kindID), Every: c.every, Payload: c.bits >> 3,
		At: c.at, Rev: c.rev, Series: c.rev - uint64(c.age),
	}
	if c.rare != nil {
		r.Missed, r.Occurrence = c.rare.missed, c.rare.occurrence
	}
	return r
}

// remember stores a record in the cache. g is the group that keeps it. The caller holds the lock of the
// stripe.
func (s *Store) remember(st *stripe, id string, r *moves.Record, g *group) {
	s.forgetKept(st)
	complete := s.complete.Load()
	if !complete || r.Payload != 0 {
		st.unkept[id] = g
		st.oldest = append(st.oldest, unkept{id, g})
	}
	if complete && r.State == moves.None {
		delete(st.cache, id)
	} else {
		st.cache[id] = s.pack(r)
	}
}

// unkept is a record that the engine may not have yet.
type unkept struct {
	id    string
	group *group
}

// forgetKept forgets which records the engine did not have, and has now. If the cache is incomplete, it
// removes them.
func (s *Store) forgetKept(st *stripe) {
	n := 0
	for ; n < len(st.oldest) && st.oldest[n].group.isDone(); n++ {
		u := st.oldest[n]
		if st.unkept[u.id] != u.group {
			continue // it has changed since
		}
		delete(st.unkept, u.id)
		if !s.complete.Load() {
			delete(st.cache, u.id)
		}
	}
	if n > 0 {
		st.oldest = append(st.oldest[:0], st.oldest[n:]...)
	}
}

// fill reads all records into the cache. If there are too many, it leaves the cache incomplete.
func (s *Store) fill() error {
	s.clear()
	n := 0
	var damaged error
	err := s.engine.Scan([]byte{recordPrefix}, after(recordPrefix), func(k, v []byte) bool {
		if n++; n > cacheMax {
			return false
		}
		r, _, err := decodeRecord(v)
		if err != nil {
			damaged = fmt.Errorf("timer %q: %w", k[1:], err)
			return false
		}
		id := string(k[1:])
		s.stripes[s.stripeOf(id)].cache[id] = s.pack(&r)
		return true
	})
	if err == nil {
		err = damaged
	}
	if err != nil {
		return err
	}
	if n > cacheMax {
		s.clear()
		return nil
	}
	s.pending.Store(int64(n))
	s.filled = true
	s.complete.Store(true)
	return nil
}

// clear makes the cache empty.
func (s *Store) clear() {
	for i := range s.stripes {
		s.stripes[i].cache = make(map[string]cached)
		s.stripes[i].unkept = make(map[string]*group)
		s.stripes[i].oldest = nil
	}
}

// outgrow makes the cache incomplete when there are too many timers. The caller holds no lock.
func (s *Store) outgrow() {
	if !s.complete.Load() || s.pending.Load() <= int64(cacheMax) {
		return
	}
	for i := range s.stripes {
		s.stripes[i].Lock()
	}
	if s.complete.Load() && s.flush() == nil { // now the engine has everything
		s.complete.Store(false)
		s.clear()
	}
	for i := range s.stripes {
		s.stripes[i].Unlock()
	}
}

// kinds numbers the kinds of timers. A number is never used again.
type kinds struct {
	mu      sync.RWMutex
	numbers map[string]uint32
	names   []string
}

func (k *kinds) number(name string) uint32 {
	k.mu.RLock()
	n, ok := k.numbers[name]
	k.mu.RUnlock()
	if ok {
		return n
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if n, ok := k.numbers[name]; ok {
		return n
	}
	if k.numbers == nil {
		k.numbers = make(map[string]uint32)
	}
	n = uint32(len(k.names))
	k.numbers[name] = n
	k.names = append(k.names, name)
	return n
}

func (k *kinds) name(n uint32) string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.names[n]
}
