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

// A Runtime holds timers and fires them. All of its methods may be called from any
// goroutine. Make one with [New], or share the one of [Default].
type Runtime struct {
	// Set by New and not changed afterwards.
	start         time.Time // time is counted in nanoseconds from here
	res           uint64    // a tick, in nanoseconds
	shift         uint8     // res is 1<<shift; 0: it is no power of two, or 1
	end           uint64    // the tick of never
	last          int64     // the latest deadline that can be told from never
	manual        *ManualClock
	bubble        string // names the synctest bubble that it was made in; "": none
	fake          bool   // time is not the system's: manual or a bubble's
	ordered       bool   // timers of one tick fire in the order of arming, pushed back or not
	precise       bool
	isDefault     bool // it is the default runtime
	slack         int64
	slowAfter     int64
	goFunc        func(func())
	onPanic       func(any, []byte)
	logger        *slog.Logger
	labels        context.Context
	perWorker     int // shards of a worker
	staleLimit    int
	scrubBudget   int
	scrubInterval time.Duration

	workers    atomic.Pointer[[]*worker] // the workers; replaced as a whole under mu
	openShards atomic.Pointer[[]*shard]  // where timers are made; replaced as a whole under mu
	shards     atomic.Pointer[[]*shard]  // every shard there is; replaced as a whole under mu
	closed     atomic.Bool               // set by Shutdown, before the shards are closed
	done       chan struct{}             // closed by Shutdown

	quota      quota
	claims     atomic.Uint64 // numbers the claims of workers
	blocked    atomic.Uint64
	panics     atomic.Uint64
	migrated   atomic.Uint64
	spawned    *stripe.Counter // callbacks that run away from their worker
	goroutines goroutineGroup
	timekeeper timekeeper
	scrubber   scrubber
	reaper     reaper
	sleepers   sync.Pool
	queues     queues
	handoffs   handoffs

	withdrawn int // callbacks that Shutdown has withdrawn from Options.Go. Under mu

	// batch is held by AfterFuncBatch for reading, and by Shutdown for writing while it
	// closes the shards, so that a batch is armed as a whole or not at all.
	batch sync.RWMutex

	mu      sync.Mutex // Resize and Shutdown
	retired []*worker  // workers whose shards others have adopted, for when there are to be more again
	armed   int        // how many timers were armed at Shutdown
}

// New makes a runtime. It starts no goroutine: there is one while a deadline is near or
// a callback runs.
func New(o Options) (*Runtime, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return build(o, true)
}

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
	rt.sleepers.New = newSleeper
	rt.goroutines.open()
	rt.shards.Store(new([]*shard))
	team := []*worker{}
	homes := []*shard{}
	for id := range o.Workers {
		w := rt.newWorker(id, o.Capacity/(o.Workers*o.shards))
		team = append(team, w)
		homes = append(homes, w.own...)
	}
	if rt.manual != nil {
		homes = homes[:1] // one wheel, so that order is order
	}
	rt.workers.Store(&team)
	rt.openShards.Store(&homes)
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

// newWorker makes a worker and its shards. The caller holds mu, unless nobody else knows the
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

// AfterFunc makes a timer that runs f once, after d. Its slot is freed when it fires or
// is stopped. With a d of 0 or less f runs as soon as possible.
func (rt *Runtime) AfterFunc(d time.Duration, f func()) (Timer, error) {
	if f == nil {
		return Timer{}, errNilFunc
	}
	return rt.afterFunc(d, f, kindFunc)
}

// afterFunc does what AfterFunc does, for a timer of a kind.
func (rt *Runtime) afterFunc(d time.Duration, f func(), k kind) (Timer, error) {
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

// NewTimer makes a timer that runs f whenever it fires. It is not armed: that is for
// [Timer.Reset]. It can be armed again and again, until [Timer.Free], which must not be
// forgotten: until then the runtime keeps f, and all that f refers to, armed or not.
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

// newOwn makes a timer like NewTimer that is not counted among the user's.
func (rt *Runtime) newOwn(f func()) (Timer, error) {
	s := rt.lockShard()
	defer s.mu.Unlock()
	if s.closed {
		return Timer{}, ErrClosed
	}
	s.internal++
	return Timer{s, s.w.Reserve(entry{ptr: pointer(f), state: stateIdle, kind: kindInternal})}, nil
}

// refusal returns why a shard, which is locked, does not take a timer.
func (s *shard) refusal() error {
	if s.closed {
		return ErrClosed
	}
	return ErrFull
}

// A Call is a callback and when to run it.
type Call struct {
	After time.Duration
	Func  func()
}

// batchMax is how many timers are armed with a shard's lock held.
const batchMax = 1024

// AfterFuncBatch does for each of the calls what AfterFunc does, at a fraction of the
// cost. It appends their timers to dst. If it cannot make all of them, it makes none and
// returns dst as it was, with an error.
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

// home returns the shard of the calling goroutine, locked, or another if that one is
// taken. It is a matter of speed alone which one it is.
func (rt *Runtime) lockShard() *shard {
	homes := *rt.openShards.Load()
	s := homes[stripe.Pick(len(homes))]
	if s.mu.TryLock() {
		return s
	}
	return rt.lockAnyShard(homes, s)
}

// homeOf returns the n-th shard from that of the calling goroutine, locked.
func (rt *Runtime) lockNthShard(n int) *shard {
	homes := *rt.openShards.Load()
	s := homes[(stripe.Pick(len(homes))+n)%len(homes)]
	s.mu.Lock()
	return s
}

//go:noinline
func (rt *Runtime) lockAnyShard(homes []*shard, s *shard) *shard {
	for _, t := range homes {
		if t.mu.TryLock() {
			return t
		}
	}
	s.mu.Lock()
	return s
}

// now returns the time in nanoseconds since the start. The caller is a goroutine of the
// runtime, or has been through enter.
func (rt *Runtime) now() int64 {
	if rt.manual != nil {
		return rt.manual.now.Load()
	}
	return int64(time.Since(rt.start))
}

// after returns the deadline that is d from now. It returns errBubble if the call is foreign.
func (rt *Runtime) after(d time.Duration) (int64, error) {
	now, err := rt.enter()
	if err != nil {
		return 0, err
	}
	return rt.add(now, d), nil
}

func (rt *Runtime) add(now int64, d time.Duration) int64 {
	if d <= 0 {
		return now
	}
	if int64(d) > rt.last-now {
		return rt.last
	}
	return now + int64(d)
}

// addSigned is add for a deadline that may have passed: it may be before the start.
func (rt *Runtime) addSigned(now int64, d time.Duration) int64 {
	switch {
	case d >= 0:
		return rt.add(now, d)
	case now+int64(d) > now:
		return -never
	}
	return now + int64(d)
}

// at returns the deadline that is a point in time. It reads the clock, and then returns
// errBubble if the call is foreign, only if when has no monotonic reading.
func (rt *Runtime) at(when time.Time) (int64, error) {
	if rt.manual == nil && when == when.Round(0) {
		// No monotonic reading: what counts is how far it is by the wall clock now.
		return rt.after(time.Until(when))
	}
	return min(max(int64(when.Sub(rt.start)), 0), rt.last), nil
}

// ceil returns the first tick that is not before a time.
func (rt *Runtime) ceil(ns int64) wheel.Tick {
	return rt.ticks(uint64(ns) + rt.res - 1)
}

// floor returns the last tick that is not after a time.
func (rt *Runtime) floor(ns int64) wheel.Tick {
	return rt.ticks(uint64(ns))
}

// ticks returns how many ticks there are in a time. The resolutions that are chosen by
// default are powers of two, so that this need not be a division.
func (rt *Runtime) ticks(ns uint64) wheel.Tick {
	if rt.shift != 0 {
		return wheel.Tick(ns >> (rt.shift & 63))
	}
	return wheel.Tick(ns / rt.res)
}

// nanos returns the time of a tick.
func (rt *Runtime) nanos(at wheel.Tick) int64 {
	return int64(min(uint64(at), rt.end) * rt.res)
}
