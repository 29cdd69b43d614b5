package engine

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/foliot-go/foliot/internal/bubble"
	"github.com/foliot-go/foliot/wheel"
)

// An Engine holds timers and runs their callbacks. All of its methods may be called from any
// goroutine.
//
// The order of the fields keeps words that are often written off the cache lines that other
// operations read. Otherwise each write would make all processors fetch the line again.
type Engine struct {
	// These are read by every operation, or by most, and rarely written.
	Clock
	settings
	roster
	closed   atomic.Bool   // set by Shutdown before it closes the shards
	done     chan struct{} // closed by Shutdown
	scrubber scrubber
	reaper   reaper
	sleepers sync.Pool
	quota    quota

	// This is read when a deadline is armed that is the earliest of its shard, and written a few
	// times for each wake-up.
	timekeeper timekeeper

	_ [128]byte

	// These are written for each turn of a worker, each callback that goes to Config.Go and each
	// batch.
	counters
	goroutines goroutineGroup
	handoffs   handoffs

	// batch is locked for reading during a Batch, and for writing by Shutdown while it closes
	// the shards. So a batch is armed as a whole or not at all.
	batch sync.RWMutex

	leftArmed int // the result of Shutdown. Protected by roster.mu
}

// settings are set when an engine is made, isDefault by init or SetDefault, and do not change
// afterwards. Most are those of Config.
type settings struct {
	ordered       bool // timers with the same tick fire in the order of arming, see postpone
	precise       bool
	stdOnly       bool // see Config
	isDefault     bool // Default returns it, and it cannot be shut down
	observes      bool // there is a logger or a slowAfter
	counted       bool // see Config
	slack         int64
	slowAfter     int64
	goFunc        func(func())
	onPanic       func(any, []byte)
	logger        *slog.Logger
	labels        context.Context
	names         *callbackNames
	staleLimit    int
	scrubBudget   int
	scrubInterval time.Duration
}

// counters are numbers of a whole engine, see Stats.
type counters struct {
	claims   atomic.Uint64 // the last number that was used for the claim of a worker
	blocked  atomic.Uint64
	panics   atomic.Uint64
	migrated atomic.Uint64
	spawned  atomic.Int64 // callbacks and items that run outside of the goroutine that runs their worker
}

// New makes an engine. It starts no goroutine: an engine has goroutines only while a deadline is
// near or a callback runs.
func New(c Config) (*Engine, error) {
	eng := &Engine{
		settings: settings{
			precise:   c.Precise,
			stdOnly:   c.stdOnly,
			slack:     int64(c.Slack),
			slowAfter: int64(c.SlowCallback),
			goFunc:    c.Go,
			onPanic:   c.OnPanic,
			logger:    c.Logger,
			labels:    pprof.WithLabels(context.Background(), pprof.Labels("foliot", "timers")),
			observes:  c.Logger != nil || c.SlowCallback > 0,
			counted:   c.Counted,
			names:     new(callbackNames),
		},
		done: make(chan struct{}),
	}
	eng.bubble = bubble.Current()
	if eng.manual = c.Clock; eng.manual != nil {
		eng.start = c.Clock.start
	} else {
		eng.start = time.Now()
	}
	eng.fake = eng.manual != nil || eng.bubble != ""
	eng.ordered = eng.fake || c.Workers == 1
	c.fill(eng.fake, eng.ordered)
	eng.setResolution(c.Resolution)
	eng.quota.max = int64(c.MaxTimers)
	eng.staleLimit = c.StaleLimit
	eng.scrubBudget = c.ScrubBudget
	eng.scrubInterval = c.ScrubInterval
	eng.sleepers.New = newSleeper
	eng.goroutines.open()
	eng.roster.open(eng, c)
	eng.timekeeper.open(eng, !c.stdOnly)
	eng.scrubber.open(eng)
	eng.handoffs.open(eng)
	if eng.manual != nil {
		if err := eng.manual.attach(eng); err != nil {
			return nil, err
		}
	}
	return eng, nil
}

// Closed reports whether the engine is shut down.
func (eng *Engine) Closed() bool { return eng.closed.Load() }

// Done returns a channel that is closed when the engine is shut down.
func (eng *Engine) Done() <-chan struct{} { return eng.done }

// AfterFunc makes a timer that runs f, a callback of the user, once after d. The timer is freed
// when it fires or is stopped.
func (eng *Engine) AfterFunc(d time.Duration, f func()) (Timer, error) {
	if f == nil {
		return Timer{}, ErrNilFunc
	}
	due, err := eng.after(d)
	if err != nil {
		return Timer{}, err
	}
	return eng.arm(due, pointer(f), stateOneShot, kindFunc)
}

// arm makes a timer that is armed. p is the pointer in its entry.
func (eng *Engine) arm(due int64, p unsafe.Pointer, st state, k kind) (Timer, error) {
	at := eng.Ceil(due)
	s := eng.lockShard()
	if s.closed || !eng.quota.acquire(1) {
		err := s.refusal()
		s.mu.Unlock()
		return Timer{}, err
	}
	h := s.w.Schedule(at, entry{ptr: p, aux: eng.nextSeq(), role: role{st, k}})
	s.armed++
	if k == kindContext {
		s.hasContexts = true
	}
	early := s.lowerNext(at)
	s.mu.Unlock()
	if early {
		eng.timekeeper.notify(eng.Nanos(at))
	}
	return Timer{s, h}, nil
}

// NewTimer makes a timer that runs f each time it fires. The timer is not armed.
func (eng *Engine) NewTimer(f func()) (Timer, error) {
	if f == nil {
		return Timer{}, ErrNilFunc
	}
	s := eng.lockShard()
	defer s.mu.Unlock()
	if s.closed || !eng.quota.acquire(1) {
		return Timer{}, s.refusal()
	}
	return Timer{s, s.w.Reserve(entry{ptr: pointer(f), role: role{stateIdle, kindFunc}})}, nil
}

// NewInternalTimer makes a timer like NewTimer, for a function that does not block and does not
// call code of the user. Stats and Config.MaxTimers do not count it.
func (eng *Engine) NewInternalTimer(f func()) (Timer, error) {
	s := eng.lockShard()
	defer s.mu.Unlock()
	if s.closed {
		return Timer{}, ErrClosed
	}
	h := s.w.Reserve(entry{ptr: pointer(f), role: role{stateIdle, kindInternal}})
	if s.internals == nil {
		s.internals = map[wheel.Handle]struct{}{}
	}
	s.internals[h] = struct{}{}
	return Timer{s, h}, nil
}

// refusal returns the error for a timer that the shard does not accept. The caller holds the
// lock, and has found the shard closed or the quota used up.
func (s *Shard) refusal() error {
	if s.closed {
		return ErrClosed
	}
	return ErrFull
}

// batchMax is the number of timers that a Batch arms before it unlocks the shard.
const batchMax = 1024

// A Batch arms many timers. It locks a shard once for batchMax of them.
type Batch struct {
	eng     *Engine
	now     int64
	s       *Shard // locked while left > 0
	left    int    // how many more timers go to s
	total   int    // how many timers are not armed yet
	shards  int    // how many shards were used
	soonest wheel.Tick
}

// NewBatch begins a batch of n timers. The caller arms exactly n timers, and then calls End. If
// NewBatch returns an error, no timer can be armed.
func (eng *Engine) NewBatch(n int) (Batch, error) {
	now, err := eng.Enter()
	if err != nil {
		return Batch{}, err
	}
	eng.batch.RLock()
	if eng.closed.Load() {
		eng.batch.RUnlock()
		return Batch{}, ErrClosed
	}
	if !eng.quota.acquire(int64(n)) {
		eng.batch.RUnlock()
		return Batch{}, ErrFull
	}
	return Batch{eng: eng, now: now, total: n}, nil
}

// AfterFunc makes a timer like [Engine.AfterFunc].
func (b *Batch) AfterFunc(d time.Duration, f func()) Timer {
	if b.left == 0 {
		b.lock()
	}
	at := b.eng.Ceil(b.eng.Add(b.now, d))
	b.soonest = min(b.soonest, at)
	t := Timer{b.s, b.s.w.Schedule(at, entry{ptr: pointer(f), aux: b.eng.nextSeq(), role: role{stateOneShot, kindFunc}})}
	if b.left--; b.left == 0 {
		b.unlock()
	}
	return t
}

func (b *Batch) lock() {
	b.s = b.eng.lockNthShard(b.shards)
	b.shards++
	b.left = min(b.total, batchMax)
	b.total -= b.left
	b.soonest = wheel.Never
	b.s.armed += b.left
}

func (b *Batch) unlock() {
	early := b.s.lowerNext(b.soonest)
	b.s.mu.Unlock()
	if early {
		b.eng.timekeeper.notify(b.eng.Nanos(b.soonest))
	}
}

// End ends the batch.
func (b *Batch) End() {
	b.eng.batch.RUnlock()
}

// newWorker makes a worker and its shards. The caller holds roster.mu, unless it has just made
// the engine.
func (eng *Engine) newWorker(id, capacity int) *worker {
	w := &worker{eng: eng, id: id}
	w.adopted.first.Store(never)
	all := slices.Clone(*eng.shards.Load())
	for range eng.perWorker {
		s := &Shard{eng: eng, number: uint32(len(all) + 1), maker: w}
		all = append(all, s)
		s.next.Store(never)
		s.owner.Store(w)
		if capacity > 0 {
			s.w = *wheel.New[entry](0, capacity)
		}
		w.own = append(w.own, s)
	}
	w.shards = w.own
	eng.shards.Store(&all)
	return w
}
