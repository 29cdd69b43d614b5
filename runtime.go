package foliot

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot-go/foliot/internal/bubble"
	"github.com/foliot-go/foliot/internal/stripe"
	"github.com/foliot-go/foliot/wheel"
)

// A Runtime holds timers and runs their callbacks. All of its methods may be called from any
// goroutine. Make one with [New], or share the one that [Default] returns.
type Runtime struct {
	// Set by New, isDefault by init or SetDefault, and not changed afterwards.
	start         time.Time    // the origin of all times, which are in nanoseconds
	res           uint64       // the length of a tick in nanoseconds
	shift         uint8        // res is 1<<shift; 0: res is 1 or not a power of two
	end           uint64       // the tick of never
	last          int64        // the latest deadline: the tick before end
	manual        *ManualClock // nil: the clock is not a manual one
	bubble        string       // the name of the synctest bubble in which it was made; "": none
	fake          bool         // the clock is a manual one or that of a bubble
	ordered       bool         // timers with the same tick fire in the order of arming, see postpone
	precise       bool
	isDefault     bool // Default returns it, and it cannot be shut down
	slack         int64
	slowAfter     int64
	goFunc        func(func())
	onPanic       func(any, []byte)
	logger        *slog.Logger
	labels        context.Context
	observesPolls bool // there is a logger or a slowAfter
	perWorker     int  // shards of a worker
	staleLimit    int
	scrubBudget   int
	scrubInterval time.Duration

	workers    atomic.Pointer[[]*worker] // the workers that have not retired. Replaced as a whole under mu
	openShards atomic.Pointer[[]*shard]  // the shards that new timers go to. Replaced as a whole under mu
	shards     atomic.Pointer[[]*shard]  // all shards, by shard.number - 1. Replaced as a whole under mu
	closed     atomic.Bool               // set by Shutdown before it closes the shards
	done       chan struct{}             // closed by Shutdown

	quota      quota
	claims     atomic.Uint64 // the last number that was used for the claim of a worker
	blocked    atomic.Uint64
	panics     atomic.Uint64
	migrated   atomic.Uint64
	spawned    *stripe.Counter // callbacks and polls that run outside of the goroutine that runs their worker
	goroutines goroutineGroup
	timekeeper timekeeper
	scrubber   scrubber
	reaper     reaper
	sleepers   sync.Pool
	queues     queues
	handoffs   handoffs

	withdrawn int // callbacks that Shutdown has withdrawn from Options.Go. Protected by mu

	// batch is locked for reading by AfterFuncBatch, and for writing by Shutdown while it
	// closes the shards. So a batch is armed as a whole or not at all.
	batch sync.RWMutex

	mu      sync.Mutex // held by Resize, Shutdown and Stats
	retired []*worker  // retired workers, which Resize reuses. Protected by mu
	armed   int        // the result of Shutdown. Protected by mu
}

// New makes a runtime. It starts no goroutine: a runtime has goroutines only while a deadline
// is near or a callback runs.
func New(o Options) (*Runtime, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return build(o, true)
}

// build makes a runtime. Without timerfd, it waits for near deadlines with a timer of the
// standard library, too.
func build(o Options, timerfd bool) (*Runtime, error) {
	rt := &Runtime{
		precise:   o.Precise,
		slack:     int64(o.Slack),
		slowAfter: int64(o.SlowCallback),
		goFunc:    o.Go,
		onPanic:   o.OnPanic,
		logger:    o.Logger,
		done:      make(chan struct{}),
		bubble:    bubble.Current(),
		spawned:   stripe.New(0),
	}
	switch c := o.Clock.(type) {
	case nil, systemClock:
		rt.start = time.Now()
		rt.fake = rt.bubble != ""
	case *ManualClock:
		if c == nil {
			return nil, fmt.Errorf("foliot: Options.Clock is a nil *ManualClock; make one with NewManualClock")
		}
		rt.manual = c
		rt.start = c.start
		rt.fake = true
	default:
		return nil, fmt.Errorf("foliot: Options.Clock is a %T; use nil, SystemClock or a clock from NewManualClock", c)
	}
	rt.ordered = rt.fake || o.Workers == 1
	o.fill(rt.fake, rt.ordered)
	rt.perWorker = o.shards
	rt.res = uint64(o.Resolution)
	if rt.res&(rt.res-1) == 0 {
		rt.shift = uint8(bits.TrailingZeros64(rt.res))
	}
	rt.end = uint64(never) / rt.res
	rt.last = int64((rt.end - 1) * rt.res)
	rt.quota.max = int64(o.MaxTimers)
	rt.staleLimit = o.StaleLimit
	rt.scrubBudget = o.ScrubBudget
	rt.scrubInterval = o.ScrubInterval
	rt.labels = pprof.WithLabels(context.Background(), pprof.Labels("foliot", "timers"))
	rt.observesPolls = rt.logger != nil || rt.slowAfter > 0
	rt.sleepers.New = newSleeper
	rt.goroutines.open()
	rt.shards.Store(new([]*shard))
	workers := []*worker{}
	open := []*shard{}
	for id := range o.Workers {
		w := rt.newWorker(id, o.Capacity/(o.Workers*o.shards))
		workers = append(workers, w)
		open = append(open, w.own...)
	}
	if rt.manual != nil {
		open = open[:1] // one wheel, so that all timers fire in the order of arming
	}
	rt.workers.Store(&workers)
	rt.openShards.Store(&open)
	rt.timekeeper.open(rt, timerfd)
	rt.scrubber.open(rt)
	rt.handoffs.open(rt)
	if rt.manual != nil {
		if err := rt.manual.attach(rt); err != nil {
			return nil, err
		}
	}
	return rt, nil
}

// newWorker makes a worker and its shards. The caller holds mu, unless it has just made the
// runtime.
func (rt *Runtime) newWorker(id, capacity int) *worker {
	w := &worker{rt: rt, id: id}
	w.adopted.first.Store(never)
	all := slices.Clone(*rt.shards.Load())
	for range rt.perWorker {
		s := &shard{rt: rt, number: uint32(len(all) + 1), maker: w}
		all = append(all, s)
		s.next.Store(never)
		s.owner.Store(w)
		if capacity > 0 {
			s.w = *wheel.New[entry](0, capacity)
		}
		w.own = append(w.own, s)
	}
	w.shards = w.own
	rt.shards.Store(&all)
	return w
}

// AfterFunc makes a timer that runs f once, after d. The timer is freed when it fires or is
// stopped. If d is 0 or less, f runs as soon as possible.
//
// AfterFunc returns [ErrFull] if there are Options.MaxTimers timers already, and [ErrClosed]
// after Shutdown.
func (rt *Runtime) AfterFunc(d time.Duration, f func()) (Timer, error) {
	return rt.afterFunc(d, f, kindFunc)
}

// afterFunc does what AfterFunc does, for a timer of a kind.
func (rt *Runtime) afterFunc(d time.Duration, f func(), k kind) (Timer, error) {
	if f == nil {
		return Timer{}, errNilFunc
	}
	due, err := rt.after(d)
	if err != nil {
		return Timer{}, err
	}
	at := rt.ceil(due)
	s := rt.lockShard()
	if s.closed || !rt.quota.acquire(1) {
		err := s.refusal()
		s.mu.Unlock()
		return Timer{}, err
	}
	h := s.w.Schedule(at, entry{ptr: pointer(f), aux: rt.nextSeq(), state: stateOneShot, kind: k})
	s.armed++
	early := s.lowerNext(at)
	s.mu.Unlock()
	if early {
		rt.timekeeper.notify(rt.nanos(at))
	}
	return Timer{s, h}, nil
}

// NewTimer makes a timer that runs f each time it fires. The timer is not armed; [Timer.Reset]
// arms it, any number of times. Call [Timer.Free] when the timer is no longer needed: until
// then the runtime keeps f and everything that f refers to alive, whether the timer is armed
// or not.
//
// NewTimer returns [ErrFull] if there are Options.MaxTimers timers already, and [ErrClosed]
// after Shutdown.
func (rt *Runtime) NewTimer(f func()) (Timer, error) {
	if f == nil {
		return Timer{}, errNilFunc
	}
	s := rt.lockShard()
	defer s.mu.Unlock()
	if s.closed || !rt.quota.acquire(1) {
		return Timer{}, s.refusal()
	}
	return Timer{s, s.w.Reserve(entry{ptr: pointer(f), state: stateIdle})}, nil
}

// newOwn makes a timer like NewTimer, for the runtime itself. Stats and Options.MaxTimers do
// not count it.
func (rt *Runtime) newOwn(f func()) (Timer, error) {
	s := rt.lockShard()
	defer s.mu.Unlock()
	if s.closed {
		return Timer{}, ErrClosed
	}
	s.internal++
	return Timer{s, s.w.Reserve(entry{ptr: pointer(f), state: stateIdle, kind: kindInternal})}, nil
}

// refusal returns the error for a timer that the shard does not accept. The caller holds the
// lock, and has found the shard closed or the quota used up.
func (s *shard) refusal() error {
	if s.closed {
		return ErrClosed
	}
	return ErrFull
}

// A Call is a callback and the delay after which it runs, for [Runtime.AfterFuncBatch].
type Call struct {
	After time.Duration
	Func  func()
}

// batchMax is the number of timers that AfterFuncBatch arms before it unlocks the shard.
const batchMax = 1024

// AfterFuncBatch makes a timer for each of the calls, as AfterFunc does, at a fraction of the
// cost. It appends the timers to dst and returns the extended slice. If it cannot make all of
// them, it makes none and returns dst unchanged and an error.
func (rt *Runtime) AfterFuncBatch(dst []Timer, calls []Call) ([]Timer, error) {
	for i := range calls {
		if calls[i].Func == nil {
			return dst, fmt.Errorf("%w (call %d of %d)", errNilFunc, i, len(calls))
		}
	}
	now, err := rt.enter()
	if err != nil {
		return dst, err
	}
	rt.batch.RLock()
	defer rt.batch.RUnlock()
	if rt.closed.Load() {
		return dst, ErrClosed
	}
	if !rt.quota.acquire(int64(len(calls))) {
		return dst, ErrFull
	}
	dst = slices.Grow(dst, len(calls))
	for turn := 0; len(calls) > 0; turn++ {
		n := min(len(calls), batchMax)
		s := rt.lockNthShard(turn)
		soonest := wheel.Never
		for i := range calls[:n] {
			at := rt.ceil(rt.add(now, calls[i].After))
			soonest = min(soonest, at)
			dst = append(dst, Timer{s, s.w.Schedule(at, entry{ptr: pointer(calls[i].Func), aux: rt.nextSeq(), state: stateOneShot})})
		}
		s.armed += n
		early := s.lowerNext(soonest)
		s.mu.Unlock()
		if early {
			rt.timekeeper.notify(rt.nanos(soonest))
		}
		calls = calls[n:]
	}
	return dst, nil
}

// lockShard locks a shard for a new timer and returns it. It chooses the shard by a hash of
// the address of the goroutine's stack, and another one if that one is locked. The choice
// only matters for speed.
func (rt *Runtime) lockShard() *shard {
	open := *rt.openShards.Load()
	s := open[stripe.Pick(len(open))]
	if s.mu.TryLock() {
		return s
	}
	return rt.lockAnyShard(open, s)
}

// lockNthShard locks and returns the n-th shard after the one that lockShard tries first.
func (rt *Runtime) lockNthShard(n int) *shard {
	open := *rt.openShards.Load()
	s := open[(stripe.Pick(len(open))+n)%len(open)]
	s.mu.Lock()
	return s
}

// lockAnyShard locks and returns the first shard that is not locked, or s if all are locked.
//
//go:noinline
func (rt *Runtime) lockAnyShard(open []*shard, s *shard) *shard {
	for _, t := range open {
		if t.mu.TryLock() {
			return t
		}
	}
	s.mu.Lock()
	return s
}

// now returns the time in nanoseconds since the start of the runtime. The caller is a
// goroutine of the runtime, or has called enter, see bubble.go.
func (rt *Runtime) now() int64 {
	if rt.manual != nil {
		return rt.manual.now.Load()
	}
	return int64(time.Since(rt.start))
}

// after returns the deadline after d, counted from now. It returns errBubble if the call is
// foreign.
func (rt *Runtime) after(d time.Duration) (int64, error) {
	now, err := rt.enter()
	if err != nil {
		return 0, err
	}
	return rt.add(now, d), nil
}

// add returns the deadline after d, counted from the time now: at least now, at most rt.last.
func (rt *Runtime) add(now int64, d time.Duration) int64 {
	if d <= 0 {
		return now
	}
	if int64(d) > rt.last-now {
		return rt.last
	}
	return now + int64(d)
}

// addSigned is add for a deadline that may have passed. The result may be negative: before
// the start of the runtime.
func (rt *Runtime) addSigned(now int64, d time.Duration) int64 {
	switch {
	case d >= 0:
		return rt.add(now, d)
	case now+int64(d) > now:
		return -never
	}
	return now + int64(d)
}

// at returns the deadline for a point in time. It reads the clock only if when has no
// monotonic reading; only then it returns errBubble if the call is foreign.
func (rt *Runtime) at(when time.Time) (int64, error) {
	if rt.manual == nil && when == when.Round(0) {
		// There is no monotonic reading: the deadline is as far away as the wall clock says.
		return rt.after(time.Until(when))
	}
	return min(max(int64(when.Sub(rt.start)), 0), rt.last), nil
}

// ceil returns the first tick at or after a time.
func (rt *Runtime) ceil(ns int64) wheel.Tick {
	return rt.ticks(uint64(ns) + rt.res - 1)
}

// floor returns the last tick at or before a time.
func (rt *Runtime) floor(ns int64) wheel.Tick {
	return rt.ticks(uint64(ns))
}

// ticks returns the number of whole ticks in a time. The default resolutions are powers of
// two, for which it needs no division.
func (rt *Runtime) ticks(ns uint64) wheel.Tick {
	if rt.shift != 0 {
		return wheel.Tick(ns >> (rt.shift & 63))
	}
	return wheel.Tick(ns / rt.res)
}

// nanos returns the time of a tick. For ticks beyond the end that is the time of the end.
func (rt *Runtime) nanos(at wheel.Tick) int64 {
	return int64(min(uint64(at), rt.end) * rt.res)
}
