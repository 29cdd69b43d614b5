package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/foliot-go/foliot/durable"
)

type logger = *slog.Logger

// A Store is a durable.Store on NATS JetStream. Any number of processes can open the same streams, and each
// may run a Scheduler.
//
// The stream has one message for each ID: all that is known of its timer. Each change of a timer is one
// message that the stream refuses if it has another one than the change is based on. So the stream decides,
// and no process asks another one. What a process knows of the stream is in an index, which a consumer keeps
// up to date. It is a hint, until a barrier makes it true.
type Store struct {
	nc       *nats.Conn
	opts     Options
	log      logger
	api      string // the first tokens of the subjects of the API
	name     instance
	outcomes string // Options.Outcomes for a header
	pub      *publisher
	parts    []*part
	members  *members

	failing sync.Mutex
	failed  error         // why the store has ended; set before ended is closed
	ended   chan struct{} // closed when the store was closed or has failed
	loops   sync.WaitGroup

	watch   sync.RWMutex // held for reading while watcher is called. It is locked after part.mu
	watcher durable.Watcher
	before  []uint64 // by part: the newest revision when the watcher came

	attempts sync.Mutex
	running  map[attempt]*handling

	resent, conflicts, rewinds, won, lost, resumed atomic.Uint64
	noted                                          atomic.Int64 // when a firing that met an error was logged
}

// An attempt names an occurrence that is being handled.
type attempt struct {
	id  string
	rev uint64
}

// handling is what a store needs at the end of an attempt.
type handling struct {
	number  uint32
	payload []byte
}

// Stats describe what a Store has done since Open.
type Stats struct {
	Won       uint64 // firings that this process has decided
	Lost      uint64 // firings that another process, or a change of the timer, has decided first: wasted work
	Resumed   uint64 // attempts of other processes, which have ended, that this process has taken over
	Conflicts uint64 // changes that were refused and decided anew
	Resent    uint64 // messages that were sent again, because there was no acknowledgement
	Rewinds   uint64 // how often a stream had lost messages
	Processes int    // processes that run a Scheduler on the streams and were heard lately, this one included

	// Skew is how far the clock of the servers is ahead of that of this machine. It is 0 until it is known.
	Skew time.Duration
}

// Open opens the streams, makes them if they are missing, and reads what they have. It returns an error if a
// stream does not fit, and says what differs. ctx bounds Open only; without a deadline it takes at most 30
// seconds, and longer if there is much to read.
//
// The Store uses nc and does not close it. Let nc reconnect without a bound: nats.MaxReconnects(-1).
func Open(ctx context.Context, nc *nats.Conn, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if nc == nil {
		return nil, fmt.Errorf("%w: the connection is nil", durable.ErrInvalid)
	}
	ctx, cancel := bound(ctx, 30*time.Second)
	defer cancel()
	s := newStore(nc, o)
	if err := s.guarded(ctx, s.open); err != nil {
		return nil, err
	}
	return s, nil
}

// newStore returns a Store that is not open yet.
func newStore(nc *nats.Conn, o Options) *Store {
	s := &Store{
		nc: nc, opts: o, log: o.Logger, api: "$JS.API.",
		outcomes: strconv.Itoa(int(math.Ceil(o.Outcomes.Seconds()))) + "s",
		ended:    make(chan struct{}),
		running:  make(map[attempt]*handling),
	}
	_, _ = rand.Read(s.name[:]) // it never fails
	return s
}

// guarded calls f, and ends it if the server refuses a permission. If f returns an error, the store ends.
func (s *Store) guarded(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	go s.pollPermissions(ctx, refuse)
	err := f(ctx)
	if err != nil {
		s.fail(err)
		s.release()
	}
	return err
}

// pollPermissions ends a context if the server refuses a permission: a message that is refused has no other
// effect than silence.
func (s *Store) pollPermissions(ctx context.Context, refuse context.CancelCauseFunc) {
	old := s.nc.LastError()
	for ctx.Err() == nil {
		s.sleepUntil(ctx, 20*time.Millisecond)
		if err := s.nc.LastError(); err != old {
			if err := s.permission(s.opts.Stream); err != nil {
				refuse(err)
			}
		}
	}
}

// open does the work of Open.
func (s *Store) open(ctx context.Context) error {
	if err := s.connected(ctx); err != nil {
		return err
	}
	if err := s.checkServer(); err != nil {
		return err
	}
	infos, err := s.openStreams(ctx)
	if err != nil {
		return err
	}
	if err := s.attach(ctx, infos); err != nil {
		return err
	}
	if err := s.members.begin(ctx); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	if !s.opts.Synced {
		s.log.Warn("jetstream: if the servers do not sync each message, a power cut may lose timers that were acknowledged; a client cannot find it out: set sync_interval: always in the configuration of the servers, and Options.Synced",
			"stream", s.opts.Stream, "replicas", infos[0].Config.Replicas)
	}
	return nil
}

// attach begins to read streams, and returns when all that they have is read.
func (s *Store) attach(ctx context.Context, infos []streamInfo) (err error) {
	if s.pub, err = newPublisher(s.nc); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	for _, info := range infos {
		p := newPart(s, info.Config.Name, info.State.Messages)
		p.base, _ = strconv.ParseUint(info.Config.Metadata[metaBase], 10, 64)
		p.padded = info.Config.MaxBytes > 0
		p.room = room{p: p, max: info.Config.MaxBytes, bytes: int64(info.State.Bytes), read: time.Now()}
		p.consumer = newConsumer(p, info.Created)
		s.parts = append(s.parts, p)
	}
	s.before = make([]uint64, len(s.parts))
	if s.members, err = newMembers(s); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	for _, p := range s.parts {
		s.loops.Go(p.consumer.run)
	}
	for i, p := range s.parts {
		if err := p.load(ctx, infos[i].State.LastSeq); err != nil {
			return fmt.Errorf("jetstream: reading the stream %s: %w", p.stream, err)
		}
		if err := p.probe(ctx); err != nil {
			return fmt.Errorf("jetstream: %w", err)
		}
	}
	return nil
}

// connected waits for the connection.
func (s *Store) connected(ctx context.Context) error {
	for !s.nc.IsConnected() {
		if s.nc.IsClosed() {
			return fmt.Errorf("jetstream: %w", nats.ErrConnectionClosed)
		}
		if s.sleepUntil(ctx, 10*time.Millisecond); ctx.Err() != nil {
			return fmt.Errorf("jetstream: there is no connection to a server: %w", errors.Join(ctx.Err(), s.nc.LastError()))
		}
	}
	return nil
}

// load waits until the consumer has delivered what the stream has. It takes as long as there is progress.
func (p *part) load(ctx context.Context, last uint64) error {
	for had := uint64(0); ; {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		stop := context.AfterFunc(ctx, func() {
			if ctx.Err() == context.Canceled { // a deadline of ctx is no bound while there is progress
				cancel()
			}
		})
		err := p.reach(short, last)
		stop()
		cancel()
		p.mu.Lock()
		has := p.index.consumed
		p.mu.Unlock()
		switch {
		case err == nil:
			return p.barriers.wait(ctx)
		case p.s.failure() != nil:
			return p.s.failure()
		case ctx.Err() == context.Canceled:
			return context.Cause(ctx)
		case has == had:
			return errors.Join(fmt.Errorf("the consumer delivers nothing: %w", err), p.s.permission(p.stream))
		}
		had = has
		p.s.log.Info("jetstream: reading timers", "stream", p.stream, "read", has, "of", last)
	}
}

// probe sends a message that the stream must refuse, to find out whether this process may change timers.
func (p *part) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	m := p.msg(0, &next{id: "foliot probe", old: view{seq: math.MaxInt64}})
	c := p.s.pub.begin()
	defer p.s.pub.end(c)
	if err := p.s.pub.send(c, m); err != nil {
		return err
	}
	select {
	case r := <-c.reply:
		if hasCode(r.err, codeConflict, codeInFlight) {
			return nil
		}
		return fmt.Errorf("a message on %s that must be refused is not: %w", m.Subject, r.err)
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("there is no reply to a message on %s: %w", m.Subject, ctx.Err()), p.s.permission(m.Subject))
	}
}

// Close ends the use of the streams. Other processes then take over at once. Call it after Run has
// returned: a handler that is still running then is called again by another process.
func (s *Store) Close() error {
	if err := s.failure(); errors.Is(err, durable.ErrClosed) {
		return err
	}
	s.members.goodbye()
	s.end(durable.ErrClosed)
	s.tell(func(w durable.Watcher) { w.Failed(durable.ErrClosed) })
	s.release()
	return nil
}

// end ends the store with an error. It returns false if it has ended before.
func (s *Store) end(err error) bool {
	s.failing.Lock()
	defer s.failing.Unlock()
	if s.failed != nil {
		if errors.Is(err, durable.ErrClosed) {
			s.failed = err
		}
		return false
	}
	s.failed = err
	close(s.ended)
	return true
}

// fail ends the store because of an error.
func (s *Store) fail(err error) {
	err = fmt.Errorf("jetstream: the store has stopped; close it, mend the cause and open it again: %w", err)
	if s.end(err) {
		go s.tell(func(w durable.Watcher) { w.Failed(err) }) // the caller may hold any lock
	}
}

// failure returns why the store has ended, or nil.
func (s *Store) failure() error {
	s.failing.Lock()
	defer s.failing.Unlock()
	return s.failed
}

// release waits for the goroutines of the store, and ends its subscriptions.
func (s *Store) release() {
	s.loops.Wait()
	if s.members != nil {
		s.members.close()
	}
	if s.pub != nil {
		s.pub.close()
	}
}

// sleep waits for a time, or until the store ends.
func (s *Store) sleep(d time.Duration) { s.sleepUntil(context.Background(), d) }

// sleepUntil waits for a time, or until the store or ctx ends.
func (s *Store) sleepUntil(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-s.ended:
	}
}

// part returns the part of an ID.
func (s *Store) part(id string) *part {
	return s.parts[partOf(id, len(s.parts))]
}

// partOf returns the partition of an ID among n. All versions of this package must agree on it.
func partOf(id string, n int) int {
	if n == 1 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return int(mix(h.Sum64()) % uint64(n))
}

// mix spreads the bits of a hash.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Watch implements [durable.Store].
func (s *Store) Watch(w durable.Watcher) (stop func(), err error) {
	if err := s.failure(); err != nil {
		return nil, err
	}
	s.watch.Lock()
	taken := s.watcher != nil
	if !taken {
		s.watcher = w
	}
	s.watch.Unlock() // before part.mu is locked: tell locks it after that
	if taken {
		return nil, errors.New("durable: Run is already running on this store; a store has one Run at a time")
	}
	for i, p := range s.parts {
		p.mu.Lock()
		s.before[i] = p.base + max(p.index.newest, p.index.consumed)
		p.mu.Unlock()
	}
	s.members.runs(w)
	return func() {
		s.members.runs(nil)
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

// tellView tells the watcher when to look at a timer. The caller holds part.mu, so that it is told in order.
func (s *Store) tellView(id string, v *view) {
	s.watch.RLock()
	defer s.watch.RUnlock()
	if s.watcher == nil {
		return
	}
	if at, ok := s.lookAt(id, v); ok {
		s.watcher.Wake(durable.Wake{ID: id, At: at})
	} else {
		s.watcher.Gone(id)
	}
}

// lookAt returns when this process looks at a timer: later than the processes that come before it.
func (s *Store) lookAt(id string, v *view) (at int64, ok bool) {
	if at, ok = v.record.WakeAt(); !ok {
		return 0, false
	}
	delay := int64(s.members.delay(id, &v.record))
	if at > math.MaxInt64-delay {
		return math.MaxInt64, true
	}
	return at + delay, true
}

// Stats returns what the Store has done since Open.
func (s *Store) Stats() Stats {
	st := Stats{
		Won: s.won.Load(), Lost: s.lost.Load(), Resumed: s.resumed.Load(), Conflicts: s.conflicts.Load(),
		Resent: s.resent.Load(), Rewinds: s.rewinds.Load(), Processes: s.members.count(),
	}
	for _, p := range s.parts {
		if d := time.Duration(p.skew.offset.Load()); d.Abs() > st.Skew.Abs() {
			st.Skew = d
		}
	}
	return st
}

// Counts implements [durable.Store].
func (s *Store) Counts() (n durable.Counts) {
	for _, p := range s.parts {
		p.mu.Lock()
		n.Pending += p.index.pending
		n.Dead += len(p.index.deads)
		p.mu.Unlock()
	}
	n.Exact = true
	return n
}
