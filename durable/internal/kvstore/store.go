package kvstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/foliot-go/foliot/durable"
)

// A Store is a durable.Store on an Engine.
//
// A stripe has a lock, and each ID belongs to a stripe. An operation locks the stripe of its ID, reads
// the record, decides, changes the record in the cache, adds its changes to the group that is committed
// next, and unlocks: so decisions on one ID come one after the other, in the order in which the engine
// keeps them. Only then it waits until the group is kept, together with the operations of other
// callers. An operation that changes nothing waits, too, until what it has read is kept.
type Store struct {
	engine  Engine
	seed    maphash.Seed
	stripes [stripeCount]stripe

	closing sync.RWMutex // held for reading by each call, and for writing by Close
	closed  bool

	readOnly bool // nothing may change

	filled   bool        // Open has read all records into the cache
	complete atomic.Bool // the cache has all records. It changes with all stripes locked, and only to false
	kinds    kinds

	committing    sync.Mutex // protects what follows. It is locked after stripes
	next          *group     // the group that is committed next; nil: there are no changes
	spare         Batch      // empty, with memory for the group after that
	noMoreGroups  bool
	wakeCommitter *sync.Cond
	background    sync.WaitGroup // the goroutines of commit and count

	rev     atomic.Uint64 // the last one that was given to a timer
	ceiling atomic.Uint64 // what revKey has, or will have when the group is kept that raises it

	watch   sync.RWMutex // held for reading while watcher is called. It is locked after stripes
	watcher durable.Watcher
	before  atomic.Uint64 // rev when the watcher came

	failed atomic.Pointer[error] // the first error of the engine
	broken chan struct{}         // closed when failed is set

	pending, dead atomic.Int64 // the number of timers
	counted       atomic.Bool  // pending and dead are exact
	stopCounting  atomic.Bool
}

const stripeCount = 256

// A stripe is a lock for the IDs with the same hash, and what it protects.
type stripe struct {
	sync.Mutex
	cache   map[string]cached
	unkept  map[string]*group // by ID: the group that keeps a record that the engine may not have yet
	oldest  []unkept          // the same, the oldest first. It may have more
	running map[attempt]bool  // the occurrences that this process is handling
	last    *group            // the last group that a change of an ID has joined
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
	s := &Store{engine: e, seed: maphash.MakeSeed(), broken: make(chan struct{})}
	s.wakeCommitter = sync.NewCond(&s.committing)
	if err := s.open(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	s.background.Add(2)
	go s.commit()
	go s.count(e.Snapshot())
	return s, nil
}

// OpenReadOnly returns a store on an engine that nothing changes. Methods that change something return an
// error. The store owns the engine from then on, also if OpenReadOnly fails.
func OpenReadOnly(e Engine) (*Store, error) {
	s := &Store{engine: e, seed: maphash.MakeSeed(), broken: make(chan struct{}), readOnly: true}
	s.wakeCommitter = sync.NewCond(&s.committing)
	_, err := lastRev(e)
	if err == nil {
		err = s.fill()
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	s.background.Add(1)
	go s.count(e.Snapshot())
	return s, nil
}

// errReadOnly is returned by methods that change something.
var errReadOnly = errors.New("durable: the store is open for reading only")

// lastRev checks the format of a store and returns the last revision that was reserved.
func lastRev(e Engine) (uint64, error) {
	v, err := e.Get(formatKey)
	if err != nil {
		return 0, err
	}
	if v != nil && (len(v) != 1 || v[0] != format) {
		return 0, fmt.Errorf("durable: the store has format %x; this program knows format %x: use a newer one", v, format)
	}
	b, err := e.Get(revKey)
	if err != nil || b == nil {
		return 0, err
	}
	if len(b) != 8 {
		return 0, errors.New("durable: the last revision of the store is damaged; restore the store from a backup")
	}
	return binary.BigEndian.Uint64(b), nil
}

// open checks the format, reserves revisions and fills the cache.
func (s *Store) open() error {
	last, err := lastRev(s.engine)
	if err != nil {
		return err
	}
	s.rev.Store(last)
	s.ceiling.Store(last + revBlock)
	b := &Batch{}
	b.set(formatKey, []byte{format})
	b.set(revKey, binary.BigEndian.AppendUint64(nil, last+revBlock))
	wait, err := s.engine.Apply(b)
	if err == nil {
		err = wait()
	}
	if err != nil {
		return err
	}
	return s.fill()
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

// Close waits for the calls that are running and closes the engine. Call it after Run has returned: a
// handler that is still running then is called again after the next Open.
func (s *Store) Close() error {
	s.stopCounting.Store(true)
	s.closing.Lock()
	defer s.closing.Unlock()
	if s.closed {
		return durable.ErrClosed
	}
	s.closed = true
	s.committing.Lock()
	s.noMoreGroups = true
	s.wakeCommitter.Signal()
	s.committing.Unlock()
	if s.failure() == nil { // otherwise the engine may never return
		s.background.Wait()
	}
	s.tell(func(w durable.Watcher) { w.Failed(durable.ErrClosed) })
	return s.engine.Close()
}

// enter begins a call. If it returns nil, leave must follow.
func (s *Store) enter() error {
	s.closing.RLock()
	err := s.failure()
	if s.closed {
		err = durable.ErrClosed
	}
	if err != nil {
		s.closing.RUnlock()
	}
	return err
}

// enterChange begins a call that changes something, or whose result may.
func (s *Store) enterChange() error {
	if s.readOnly {
		return errReadOnly
	}
	return s.enter()
}

func (s *Store) leave() { s.closing.RUnlock() }

// failure returns the error that has stopped the store.
func (s *Store) failure() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// fail makes an error of the engine the error of the store, and returns the first one.
func (s *Store) fail(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("durable: the store has stopped; close it, mend the cause and open it again: %w", err)
	if s.failed.CompareAndSwap(nil, &err) {
		close(s.broken)
		go s.tell(func(w durable.Watcher) { w.Failed(err) }) // the caller may hold any lock
	}
	return s.failure()
}

// Fail stops the store because of an error that the engine has noticed in the background.
func (s *Store) Fail(err error) { _ = s.fail(err) }

// Watch implements [durable.Store].
func (s *Store) Watch(w durable.Watcher) (stop func(), err error) {
	if err := s.enterChange(); err != nil {
		return nil, err
	}
	defer s.leave()
	s.watch.Lock()
	defer s.watch.Unlock()
	if s.watcher != nil {
		return nil, errors.New("durable: Run is already running on this store; a store has one Run at a time")
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

func (s *Store) stripeOf(id string) int {
	return int(maphash.String(s.seed, id) % stripeCount)
}

func (s *Store) stripe(id string) *stripe { return &s.stripes[s.stripeOf(id)] }
