package kvstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/foliot-go/foliot/durable"
)

// A Store is a durable.Store on an Engine.
//
// A stripe has a lock, and each ID belongs to a stripe. An operation locks the stripe of its ID, reads
// the record, decides, applies the batch and unlocks: so decisions on one ID come one after the other,
// in the order in which the engine keeps them. Only then it waits until the batch is kept, together
// with the operations of other callers. An operation that changes nothing waits, too, until what it
// has read is kept.
type Store struct {
	engine  Engine
	seed    maphash.Seed
	stripes [stripeCount]stripe

	closing sync.RWMutex // held for reading by each call, and for writing by Close
	closed  bool

	rev     atomic.Uint64 // the last one that was given to a timer
	ceiling atomic.Uint64 // what revKey has, or will have when the batch is kept that raises it

	watch   sync.RWMutex // held for reading while watcher is called. Locked after stripes
	watcher durable.Watcher
	before  atomic.Uint64 // rev when the watcher came

	failed atomic.Pointer[error] // the first error of the engine

	pending, dead atomic.Int64 // the number of timers
	counted       atomic.Bool  // pending and dead are exact
	counting      sync.WaitGroup
	stopCounting  atomic.Bool
}

const stripeCount = 256

// A stripe is a lock for the IDs with the same hash.
type stripe struct {
	sync.Mutex
	running map[attempt]bool // the occurrences that this process is handling
	applied uint64           // the number of batches that were applied
	kept    uint64           // the number of batches that are kept
	waiting *sync.Cond       // for kept; nil: nobody has waited yet
	_       [24]byte         // the rest of a cache line
}

// An attempt names an occurrence that is being handled.
type attempt struct {
	id  string
	rev uint64
}

const (
	format    = 1       // of the keys and records; the value of formatKey
	revBlock  = 1 << 24 // how many revisions are reserved with one write
	revMargin = 1 << 23 // how many are left when the next ones are reserved
)

// Open returns a store on an engine, which it owns from then on, also if Open fails.
func Open(e Engine) (*Store, error) {
	s := &Store{engine: e, seed: maphash.MakeSeed()}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	s.counting.Add(1)
	go s.count(e.Snapshot())
	return s, nil
}

// open checks the format and reserves revisions.
func (s *Store) open() error {
	v, err := s.engine.Get(formatKey)
	if err != nil {
		return err
	}
	if v != nil && (len(v) != 1 || v[0] != format) {
		return fmt.Errorf("durable: the store has format %x; this program knows format %x: use a newer one", v, format)
	}
	last := uint64(0)
	if b, err := s.engine.Get(revKey); err != nil {
		return err
	} else if b != nil {
		if len(b) != 8 {
			return errors.New("durable: the last revision of the store is damaged; restore the store from a backup")
		}
		last = binary.BigEndian.Uint64(b)
	}
	s.rev.Store(last)
	s.ceiling.Store(last + revBlock)
	b := &Batch{}
	b.set(formatKey, []byte{format})
	b.set(revKey, binary.BigEndian.AppendUint64(nil, last+revBlock))
	wait, err := s.engine.Apply(b)
	if err != nil {
		return err
	}
	return wait()
}

// nextRev returns a revision that is greater than all before. The caller adds it to the batch b, which
// reserves more of them now and then.
//
// A revision is never above what revKey has after a crash: there are revMargin left when a batch
// raises it, and batches are kept in order.
func (s *Store) nextRev(b *Batch) uint64 {
	rev := s.rev.Add(1)
	if c := s.ceiling.Load(); rev+revMargin > c && s.ceiling.CompareAndSwap(c, c+revBlock) {
		b.set(revKey, binary.BigEndian.AppendUint64(nil, c+revBlock))
	}
	return rev
}

// Close waits for the calls that are running and closes the engine. Close it after Run has returned:
// a handler that is still running is called again after the next Open.
func (s *Store) Close() error {
	s.stopCounting.Store(true)
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed {
		return durable.ErrClosed
	}
	s.closed = true
	s.counting.Wait()
	s.tell(func(w durable.Watcher) { w.Failed(durable.ErrClosed) })
	return s.engine.Close()
}

// enter begins a call. If it returns nil, leave must follow.
func (s *Store) enter() error {
	s.closing.RLock()
	err := s.state()
	if err != nil {
		s.closing.RUnlock()
	}
	return err
}

func (s *Store) leave() { s.closing.RUnlock() }

// state returns an error if the store is closed or has failed.
func (s *Store) state() error {
	if s.closed {
		return durable.ErrClosed
	}
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// fail makes an error of the engine the error of the store. It returns the first one.
func (s *Store) fail(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("durable: the store has stopped; close it, mend the cause and open it again: %w", err)
	if s.failed.CompareAndSwap(nil, &err) {
		s.tell(func(w durable.Watcher) { w.Failed(err) })
	}
	return *s.failed.Load()
}

// Watch implements [durable.Store].
func (s *Store) Watch(w durable.Watcher) (stop func(), err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	s.watch.Lock()
	defer s.watch.Unlock()
	if s.watcher != nil {
		return nil, errors.New("durable: another Run is running on this store; a store has one Run at a time")
	}
	s.watcher = w
	s.before.Store(s.rev.Load())
	return func() {
		s.watch.Lock()
		defer s.watch.Unlock()
		s.watcher = nil
	}, nil
}

// tell calls a method of the watcher, if there is one.
func (s *Store) tell(f func(w durable.Watcher)) {
	s.watch.RLock()
	defer s.watch.RUnlock()
	if s.watcher != nil {
		f(s.watcher)
	}
}

func (s *Store) wake(id string, at int64) {
	s.tell(func(w durable.Watcher) { w.Wake(durable.Wake{ID: id, At: at}) })
}

func (s *Store) gone(id string) { s.tell(func(w durable.Watcher) { w.Gone(id) }) }

func (s *Store) stripeOf(id string) int {
	return int(maphash.String(s.seed, id) % stripeCount)
}

// lock locks the stripes of some IDs, in the order of their numbers, and returns them.
func (s *Store) lock(ids ...string) locked {
	var l locked
	if len(ids) == 1 {
		l = append(l, &s.stripes[s.stripeOf(ids[0])])
		l[0].Lock()
		return l
	}
	numbers := make([]int, len(ids))
	for i, id := range ids {
		numbers[i] = s.stripeOf(id)
	}
	sort.Ints(numbers)
	for i, n := range numbers {
		if i == 0 || n != numbers[i-1] {
			s.stripes[n].Lock()
			l = append(l, &s.stripes[n])
		}
	}
	return l
}

// locked are stripes that one operation has locked.
type locked []*stripe

func (l locked) unlock() {
	for _, st := range l {
		st.Unlock()
	}
}

// apply applies a batch, calls then and unlocks the stripes. wait returns when the batch is kept. If the
// batch is empty, then is not called, and wait returns when everything that was applied to the stripes
// before is kept.
func (s *Store) apply(l locked, b *Batch, then func()) (wait func() error, err error) {
	if len(b.Ops) == 0 {
		return s.settled(l), nil
	}
	defer l.unlock()
	kept, err := s.engine.Apply(b)
	if err != nil {
		return nil, s.fail(err)
	}
	targets := make([]uint64, len(l))
	for i, st := range l {
		st.applied++
		targets[i] = st.applied
	}
	if then != nil {
		then()
	}
	return func() error {
		err := s.fail(kept())
		for i, st := range l {
			st.Lock()
			st.kept = max(st.kept, targets[i])
			if st.waiting != nil {
				st.waiting.Broadcast()
			}
			st.Unlock()
		}
		return err
	}, nil
}

// settled unlocks stripes. wait returns when everything is kept that was applied to them.
func (s *Store) settled(l locked) (wait func() error) {
	type target struct {
		*stripe
		applied uint64
	}
	var open []target
	for _, st := range l {
		if st.kept < st.applied {
			if st.waiting == nil {
				st.waiting = sync.NewCond(st)
			}
			open = append(open, target{st, st.applied})
		}
	}
	l.unlock()
	return func() error {
		for _, t := range open {
			t.Lock()
			for t.kept < t.applied {
				t.waiting.Wait()
			}
			t.Unlock()
		}
		if err := s.failed.Load(); err != nil {
			return *err
		}
		return nil
	}
}
